/**
 * `letterlock export`: a user's mail as files that other programs read, or as one encrypted file.
 */
import { Option } from 'commander'
import { MailError } from '../../errors.js'
import { openStore } from '../../accounts/open-store.js'
import { exportMailboxes, requireEmptyFolder } from '../../export/export-mailbox.js'
import { emlTarget } from '../../export/write-eml.js'
import { maildirTarget } from '../../export/write-maildir.js'
import { mboxTarget } from '../../export/write-mbox.js'
import { writePortable } from '../../export/write-portable.js'
import { storedMailboxName } from '../../store/mailbox-name.js'
import { counted, formatBytes } from '../../support/format.js'
import { syncTree } from '../../support/write-file.js'
import { CliError } from '../cli-error.js'
import { goneWhenInterrupted } from '../gone-when-interrupted.js'
import { NOTHING_DONE, enterWithFiles, withMailbox } from '../open-mailbox.js'
import { withAccounts, withSecret } from '../with-accounts.js'

/** @typedef {import('../index.js').CliContext} CliContext */

/**
 * @typedef {import('../index.js').CommonOptions & { account: string, format: 'mbox' | 'maildir' | 'eml', mailbox: string[],
 *   file?: string, passwordStdin?: boolean }} ExportOptions
 */

const TARGETS = { mbox: mboxTarget, maildir: maildirTarget, eml: emlTarget }

/** As shells say it: ended by signal 2. */
const INTERRUPTED = 130

/** Lines about the progress are for logs: one comes after so long at the earliest, ms. */
const LINE_EVERY_MS = 10_000

const HELP = `
FOLDER must be empty or missing: nothing is ever written over. What is in it afterwards is readable by
anybody who can read the files.

  mbox     a file for each mailbox (mboxrd); flags in Status, X-Status and X-Keywords
  maildir  Maildir++; flags in the names, keywords in dovecot-keywords, dates as the files' times
  eml      a folder for each mailbox, a file for each message with its date as time; no flags

--file writes one encrypted file instead: the whole mailbox, which "letterlock open FILE" shows to any
mail program, with the password of today, on any machine.

Examples:
  letterlock export --account ann@example.org --format maildir ~/mail
  letterlock export --account ann@example.org --file ~/ann.letterlock`

/**
 * @param {import('commander').Command} program
 * @param {CliContext} context
 */
export function register(program, context) {
  const more = (/** @type {string} */ name, /** @type {string[]} */ names) => [...names, name]
  program
    .command('export')
    .description('write a mailbox out as mbox, Maildir, .eml files or one encrypted file')
    .argument('[folder]', 'where the files go')
    .requiredOption('--account <address>', 'whose mailbox')
    .addOption(
      new Option('--format <format>', 'of the files')
        .choices(['mbox', 'maildir', 'eml'])
        .default('mbox')
    )
    .option('--mailbox <name>', 'this one only, into a folder; may be repeated', more, [])
    .option('--file <path>', 'one encrypted file instead of a folder')
    .option('--password-stdin', 'read the password from standard input')
    .addHelpText('after', HELP)
    .action(
      async (
        /** @type {string | undefined} */ folder,
        /** @type {ExportOptions} */ options,
        /** @type {import('commander').Command} */ command
      ) => {
        if ((folder === undefined) === (options.file === undefined)) {
          throw new CliError('Say a folder, or --file', { exitCode: NOTHING_DONE })
        }
        const isFormatGiven = command.getOptionValueSource('format') !== 'default'
        if (folder === undefined && (options.mailbox.length > 0 || isFormatGiven)) {
          throw new CliError(
            '--file writes the whole mailbox: --mailbox and --format go with a folder',
            { exitCode: NOTHING_DONE }
          )
        }
        // Before a folder is made: this process may become another user, to whom a folder of root's would be closed.
        enterWithFiles({ context, options })
        process.exitCode =
          folder === undefined
            ? await exportFile(context, options, options.file ?? '')
            : await exportFolder(context, options, folder)
      }
    )
}

/**
 * @param {CliContext} context
 * @param {ExportOptions} options
 * @param {string} folder
 * @returns {Promise<number>} the exit code
 */
async function exportFolder(context, options, folder) {
  const { stdout, clock } = context
  await named(() => requireEmptyFolder(folder), folder)
  const { account } = options
  const interrupt = new AbortController()
  const onInterrupt = () => interrupt.abort()
  let toldMs = clock.nowMs()
  const request = { context, options, account, isReadOnly: true, usesFiles: true }
  return await withMailbox(request, async ({ store }) => {
    const names = options.mailbox.map(storedMailboxName)
    const wanted = new Set(names)
    const present = (await store.listMailboxes()).map(({ name }) => name)
    const missing = names.find((name) => !present.includes(name))
    if (missing !== undefined) {
      throw new CliError(`There is no mailbox ${missing}`, { exitCode: NOTHING_DONE })
    }
    process.once('SIGINT', onInterrupt)
    const work = async () => {
      const summary = await exportMailboxes({
        store,
        target: TARGETS[options.format](folder),
        isWanted: (name) => wanted.size === 0 || wanted.has(name),
        signal: interrupt.signal,
        onProgress: ({ mailbox: name, done, total }) => {
          if (clock.nowMs() - toldMs < LINE_EVERY_MS) return
          toldMs = clock.nowMs()
          stdout.write(`${name}: ${done} of ${counted(total, 'message')}\n`)
        }
      })
      // Synced only at the end: what the system has written out by then costs nothing.
      await syncTree(folder)
      return summary
    }
    try {
      const { mailboxes, messages, bytes } = await named(work, folder)
      stdout.write(
        `${counted(messages, 'message')} of ${counted(mailboxes, 'mailbox', 'mailboxes')}, ${formatBytes(bytes)}\n`
      )
      return interrupt.signal.aborted ? INTERRUPTED : 0
    } finally {
      process.removeListener('SIGINT', onInterrupt)
    }
  })
}

/**
 * @param {CliContext} context
 * @param {ExportOptions} options
 * @param {string} path
 * @returns {Promise<number>} the exit code
 */
function exportFile(context, options, path) {
  const { account: username } = options
  return withAccounts(context, options, async ({ services, input, print }) =>
    withSecret(await input.read(`Password of ${username}`), (password) =>
      named(async () => {
        const unlocked = await services.unlocker.unlock({ username, password, remoteAddress: null })
        const { account, masterKey } = unlocked
        try {
          // The mailbox is kept open meanwhile, so that its file is not replaced by another.
          const store = await openStore({ services, account, masterKey, onAlert: () => {} })
          let release = () => {}
          try {
            const { folder } = account
            const { cipher } = store
            const { bytes } = await writePortable({
              folder,
              masterKey,
              cipher,
              password,
              out: path,
              onScratch: (scratch) => (release = goneWhenInterrupted(scratch))
            })
            print(`${path}: ${formatBytes(bytes)}; it opens with the password that was just given`)
            return 0
          } finally {
            release()
            await store.close()
          }
        } finally {
          masterKey.dispose()
        }
      }, path)
    )
  )
}

/**
 * @template T
 * @param {() => Promise<T>} work
 * @param {string} path - what it is about
 * @returns {Promise<T>}
 * @throws {CliError} naming `path`, for failures that are expected
 */
async function named(work, path) {
  try {
    return await work()
  } catch (cause) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (cause)
    if (cause instanceof MailError) {
      const detail = cause.detail === undefined ? '' : ` (${cause.detail})`
      throw new CliError(`${cause.message}${detail}`, { exitCode: NOTHING_DONE, cause })
    }
    if (typeof code !== 'string' || cause instanceof CliError) throw cause
    throw new CliError(`${path} cannot be written (${code})`, { exitCode: NOTHING_DONE, cause })
  }
}
