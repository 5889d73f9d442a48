/**
 * `letterlock import`: mail from files into a mailbox, as often as one likes, each message once.
 */
import { Option } from 'commander'
import { MailError } from '../../errors.js'
import { Importer } from '../../import/importer.js'
import { openSource } from '../../import/open-source.js'
import { CliError } from '../cli-error.js'
import { ImportProgress } from '../import-progress.js'
import { reasonOf } from '../progress-view.js'
import { requireMailboxName } from '../../store/mailbox-name.js'
import { NOTHING_DONE, withMailbox } from '../open-mailbox.js'
import { registerImap } from './import-imap.js'

/** @typedef {import('../../import/import-item.js').ImportSource} ImportSource */
/** @typedef {import('../../import/mbox-splitter.js').MboxQuoting} MboxQuoting */
/** @typedef {import('../index.js').CliContext} CliContext */

/**
 * @typedef {object} ImportOptions
 * @property {string} [account]
 * @property {string} mailbox
 * @property {boolean} [passwordStdin]
 * @property {boolean} [keepLineEnds]
 * @property {boolean} [asIs]
 * @property {MboxQuoting} mboxQuoting
 */

const SOME_FAILED = 1

/** As shells say it: ended by signal 2. */
const INTERRUPTED = 130

const HELP = `
SOURCE is a folder with .eml and .emlx files, mboxes and folders of MH in it (at any depth), a Maildir,
an mbox or a tar of .eml files (both also packed with gzip or zstd), or one .eml or .emlx file; which of
them is seen from what it contains. Mboxes in a folder, as Thunderbird and Apple Mail have them, and
folders of MH become mailboxes below the chosen one, nested as they lie there.

A message is stored once: a second run skips what is there, and one that was interrupted goes on.
Line ends become CRLF, as IMAP wants them, and an mbox line before a message is dropped.
The internal date is the format's (mbox line, Maildir, tar), else the Date header's, else the file's.
Flags come from Maildir names, .emlx files, .mh_sequences, and from Status, X-Status, X-Keywords,
X-Mozilla-Status and X-Mozilla-Keys in an mbox.

Exit code: 0 all messages are there, 1 some failed, 2 nothing could be done.

Examples:
  letterlock import --account ann@example.org --mailbox Archive/2019 ~/Maildir
  letterlock import --password-stdin old-mail.mbox.gz backup.tar.gz < password.txt`

/**
 * @param {import('commander').Command} program
 * @param {CliContext} context
 */
export function register(program, context) {
  const command = program
    .command('import')
    .description('import mail from files into a mailbox, or from another server')
    .enablePositionalOptions()
    .argument('<source...>', 'files or folders')
    .option('--account <address>', 'whose mailbox; may be left out where there is one account')
    .option('--mailbox <name>', 'where to; made when it is missing', 'INBOX')
    .option('--password-stdin', 'read the password from standard input')
    .option('--keep-line-ends', 'store line ends as they are instead of CRLF')
    .option('--as-is', 'store the exact bytes: line ends and a leading mbox line stay')
    .addOption(
      new Option('--mbox-quoting <kind>', 'how From lines are quoted in an mbox')
        .choices(['mboxrd', 'mboxo', 'none'])
        .default('mboxrd')
    )
    .addHelpText('after', HELP)
    .action(async (/** @type {string[]} */ paths, /** @type {ImportOptions} */ options) => {
      process.exitCode = await runImport({ context, options, paths })
    })
  registerImap(command, context)
}

/**
 * @param {object} request
 * @param {CliContext} request.context
 * @param {ImportOptions} request.options
 * @param {string[]} request.paths
 * @returns {Promise<number>} the exit code
 */
async function runImport({ context, options, paths }) {
  requireTarget(options.mailbox)
  const { account } = options
  const interrupt = new AbortController()
  const onInterrupt = () => interrupt.abort()
  const request = { context, options, account, isReadOnly: false, usesFiles: true }
  return await withMailbox(request, async ({ store }) => {
    process.once('SIGINT', onInterrupt)
    try {
      return await importAll({ context, options, paths, store, interrupt })
    } finally {
      process.removeListener('SIGINT', onInterrupt)
    }
  })
}

/**
 * @param {string} name
 * @throws {CliError} where no mailbox can have it
 */
function requireTarget(name) {
  try {
    requireMailboxName(name)
  } catch (cause) {
    if (!(cause instanceof MailError)) throw cause
    throw new CliError(`No mailbox can have the name “${name}”`, { exitCode: NOTHING_DONE, cause })
  }
}

/**
 * @param {object} request
 * @param {CliContext} request.context
 * @param {ImportOptions} request.options
 * @param {string[]} request.paths
 * @param {import('../../store/account-store.js').AccountStore} request.store
 * @param {AbortController} request.interrupt
 * @returns {Promise<number>} the exit code
 */
async function importAll({ context, options, paths, store, interrupt }) {
  const { stdout, stderr, clock } = context
  const progress = new ImportProgress({ stdout, stderr, clock })
  const importer = new Importer({
    store,
    mailbox: options.mailbox,
    clock,
    keepLineEnds: options.keepLineEnds === true,
    isAsIs: options.asIs === true,
    onFailure: (failure) => progress.fail(failure),
    onProgress: (source) => progress.update(source, importer.summary),
    signal: interrupt.signal
  })
  const { summary } = importer
  /** @type {ImportSource[]} */
  const sources = []
  try {
    for (const path of paths) {
      const source = await openNamed(path, options, (error) => {
        summary.failed++
        progress.fail({ name: path, error })
      })
      if (!source || interrupt.signal.aborted) continue
      sources.push(source)
      progress.start(source, summary)
      await importer.run(source)
      progress.update(source, summary)
    }
  } catch (error) {
    if (!(error instanceof MailError)) throw error
    const exitCode = summary.imported + summary.skipped > 0 ? SOME_FAILED : NOTHING_DONE
    throw new CliError(`The import ended early: ${reasonOf(error)}`, { exitCode, cause: error })
  } finally {
    progress.end(sources, summary)
  }
  if (interrupt.signal.aborted) {
    stderr.write('letterlock: stopped; the same command goes on where it was\n')
    return INTERRUPTED
  }
  if (summary.failed === 0) return 0
  return summary.imported + summary.skipped > 0 ? SOME_FAILED : NOTHING_DONE
}

/**
 * @param {string} path
 * @param {ImportOptions} options
 * @param {(error: unknown) => void} onFailure
 * @returns {Promise<ImportSource | null>} null when it is no source
 */
async function openNamed(path, { mboxQuoting }, onFailure) {
  try {
    return await openSource(path, { mboxQuoting })
  } catch (error) {
    onFailure(error)
    return null
  }
}
