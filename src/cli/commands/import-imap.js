/**
 * `letterlock import imap`: a whole account from another IMAP server, as often as one likes, each message once.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { Option } from 'commander'
import { NODE_FLAGS } from '../../../config/runtime.js'
import { MailError } from '../../errors.js'
import { copyAccount, emptyReport } from '../../import/imap/copy-account.js'
import { SourcePool } from '../../import/imap/source-pool.js'
import { parseSourceServer } from '../../import/imap/source-server.js'
import { CliError } from '../cli-error.js'
import { importList } from '../imap-import-list.js'
import {
  ImapImportProgress,
  LEFT_HERE,
  sourceReason,
  unknownExclude
} from '../imap-import-progress.js'
import { NOTHING_DONE, withMailbox } from '../open-mailbox.js'
import { PasswordInput } from '../password-input.js'
import { plainText } from '../plain-text.js'
import { wholeNumber } from '../whole-number.js'
import { counted } from '../../support/format.js'

/** @typedef {import('../index.js').CliContext} CliContext */

/**
 * @typedef {object} ImapImportOptions
 * @property {string} [from]
 * @property {string} [account]
 * @property {boolean} [passwordStdin]
 * @property {string} [list]
 * @property {number} parallel
 * @property {number} connections
 * @property {string[]} exclude
 * @property {import('../../import/imap/copy-folder.js').ExpungeRule} expunge
 * @property {string} [ca]
 * @property {boolean} [plaintext]
 * @property {string} [data]
 * @property {string} [config]
 * @property {string} [defaultDomain]
 */

const SOME_FAILED = 1
const NOTHING_BEGUN = { exitCode: NOTHING_DONE }
/** As shells say it: ended by signal 2. */
const INTERRUPTED = 130

const HELP = `
Copies all folders with their uses and subscriptions, and all messages with flags, keywords and dates.
The source is only read. Stop it when you like: the same command goes on where it was. Run it again
later and it brings what is new, what flags have changed, and takes away what was deleted there.

A mailbox that is empty here keeps the source's UIDs and UIDVALIDITY, so that mail programs which are
pointed at this server do not download everything again.

Passwords are asked for: that of the account here, then that of the source; with --password-stdin they
are the first two lines of standard input. --list names a file of many accounts, which only its owner
may read (chmod 600), a line each, with tabs between:
  imaps://ann@old.example.net <tab> password there <tab> ann@example.org <tab> password here

Exit code: 0 all is there, 1 some failed, 2 nothing could be done.

Examples:
  letterlock import imap --from imaps://ann%40example.net@imap.example.net --account ann@example.org
  letterlock import imap --list accounts.tsv --parallel 4`

/**
 * @param {import('commander').Command} parent - `import`
 * @param {CliContext} context
 */
export function registerImap(parent, context) {
  const count = (/** @type {string} */ text) =>
    wholeNumber(text, 'number from 1 to 16', { least: 1, most: 16 })
  const more = (/** @type {string} */ name, /** @type {string[]} */ names) => [...names, name]
  parent
    .command('imap')
    .description('copy whole accounts from another IMAP server')
    .option('--from <url>', 'imaps://user@host[:port], or imap:// for STARTTLS')
    .option('--account <address>', 'whose mailbox they go to')
    .option('--password-stdin', 'read both passwords from standard input, a line each')
    .option('--list <file>', 'many accounts: a file with a line for each')
    .option('--parallel <number>', 'accounts of the list at once', count, 2)
    .option('--connections <number>', 'connections to the source for each account', count, 3)
    .option('--exclude <folder>', 'a folder of the source to leave out; may be repeated', more, [])
    .addOption(
      new Option('--expunge <rule>', 'delete here what was deleted there since')
        .choices(['safe', 'always', 'never'])
        .default('safe', 'safe: unless a folder has lost most of its messages')
    )
    .option('--ca <file>', 'certificates (PEM) to trust besides the usual ones')
    .option('--plaintext', 'no TLS, although the password then crosses the network in the clear')
    .addHelpText('after', HELP)
    .action(
      async (
        /** @type {ImapImportOptions} */ options,
        /** @type {import('commander').Command} */ command
      ) => {
        const hasList = options.list !== undefined
        if (!hasList && command.getOptionValueSource('parallel') === 'cli')
          throw new CliError('--parallel is for the accounts of a --list', NOTHING_BEGUN)
        process.exitCode = await run(context, options)
      }
    )
}

/**
 * @param {CliContext} context
 * @param {ImapImportOptions} options
 * @returns {Promise<number>} the exit code
 */
async function run(context, options) {
  const interrupt = new AbortController()
  const onInterrupt = () => interrupt.abort()
  process.once('SIGINT', onInterrupt)
  try {
    return options.list === undefined
      ? await runOne(context, options, interrupt.signal)
      : await runList(context, options, options.list, interrupt.signal)
  } finally {
    process.removeListener('SIGINT', onInterrupt)
  }
}

/**
 * @param {CliContext} context
 * @param {ImapImportOptions} options
 * @param {AbortSignal} signal
 * @returns {Promise<number>}
 */
async function runOne(context, options, signal) {
  const { from, account } = options
  if (from === undefined || account === undefined) {
    throw new CliError('Say --from and --account, or --list', { exitCode: NOTHING_DONE })
  }
  const server = readServer(from)
  const certificateAuthority = await readAuthority(options.ca)
  const { stdin, stderr } = context
  const input = new PasswordInput({ stdin, stderr, isStdin: options.passwordStdin === true })
  const [password, sourcePassword] = await readBoth(input, account, server.name)
  const login = {
    server,
    password: sourcePassword,
    certificateAuthority,
    mayBePlaintext: options.plaintext === true
  }
  try {
    const request = { context, options, account, isReadOnly: false, password }
    return await withMailbox(request, ({ store }) =>
      copyInto(store, { context, options, login, signal })
    )
  } finally {
    password.fill(0)
    sourcePassword.fill(0)
  }
}

/**
 * @param {import('../../store/account-store.js').AccountStore} store
 * @param {object} request
 * @param {CliContext} request.context
 * @param {ImapImportOptions} request.options
 * @param {import('../../import/imap/source-connection.js').SourceLogin} request.login
 * @param {AbortSignal} request.signal
 * @returns {Promise<number>}
 */
async function copyInto(store, { context: { stdout, stderr, clock }, options, login, signal }) {
  const { connections, exclude, expunge } = options
  const pool = new SourcePool({ login, connections })
  const progress = new ImapImportProgress({ stdout, stderr, clock })
  const report = emptyReport()
  try {
    const { observer } = progress
    const source = login.server.name
    await copyAccount({ store, pool, source, exclude, expunge, signal, observer, report })
    progress.end(report)
    if (signal.aborted) {
      stderr.write('letterlock: stopped; the same command goes on where it was\n')
      return INTERRUPTED
    }
    return report.failed === 0 ? 0 : failureCode(report)
  } catch (cause) {
    if (!(cause instanceof Error)) throw cause
    const exitCode = failureCode(report)
    if (exitCode === SOME_FAILED) progress.end(report)
    else progress.stop()
    throw new CliError(`The copy ended early: ${sourceReason(cause)}`, { exitCode, cause })
  } finally {
    await pool.close()
  }
}

/**
 * @param {import('../../import/imap/copy-account.js').AccountReport} report
 * @returns {number} the exit code of a copy that is not whole
 */
const failureCode = ({ copied, skipped }) => (copied + skipped > 0 ? SOME_FAILED : NOTHING_DONE)

/**
 * @param {CliContext} context
 * @param {ImapImportOptions} options
 * @param {string} file
 * @param {AbortSignal} signal
 * @returns {Promise<number>}
 */
async function runList(context, options, file, signal) {
  if (options.from !== undefined || options.account !== undefined) {
    throw new CliError(
      '--list names the accounts: --from and --account do not go with it',
      NOTHING_BEGUN
    )
  }
  if (options.passwordStdin === true)
    throw new CliError(
      '--list has the passwords: --password-stdin does not go with it',
      NOTHING_BEGUN
    )
  const { stdout, stderr } = context
  let copies = 0
  /** @type {Map<string, number>} by excluded folder, how many copies found none of that name */
  const unknown = new Map(options.exclude.map((folder) => [folder, 0]))
  const { whole, partly, failed } = await importList({
    file,
    parallel: options.parallel,
    command: commandOf(options),
    signal,
    onAccount: ({ account, code, report, said, failures }) => {
      for (const line of failures) stderr.write(`${account}: ${line}\n`)
      stdout.write(
        `${account}: ${code === 0 ? 'done' : 'NOT DONE'}: ${report ?? missingReport(code)}\n`
      )
      for (const line of said.filter((text) => text.endsWith(LEFT_HERE)))
        stdout.write(`${account}: ${line}\n`)
      if (report !== null) copies++
      for (const [folder, count] of unknown)
        if (said.includes(unknownExclude(folder))) unknown.set(folder, count + 1)
    }
  })
  for (const [folder, count] of unknown) {
    // Not each account need have the folder, but where none has, its name may be misspelt.
    if (copies > 0 && count >= copies)
      stdout.write(`--exclude ${plainText(folder)}: none of the sources has such a folder\n`)
  }
  stdout.write(
    `${counted(whole, 'account is', 'accounts are')} there, ${partly} in part, ${failed} not at all\n`
  )
  if (signal.aborted) return INTERRUPTED
  if (partly + failed === 0) return 0
  return whole + partly > 0 ? SOME_FAILED : NOTHING_DONE
}

/** @param {number} code - exit code of a copy without a report: it was killed, for instance */
const missingReport = (code) =>
  code === NOTHING_DONE ? 'nothing copied' : 'how much was copied is not known'

/**
 * @param {ImapImportOptions} options
 * @returns {string[]} program and arguments up to those of one account
 */
function commandOf({ data, config, defaultDomain, ca, plaintext, connections, expunge, exclude }) {
  const main = fileURLToPath(new URL('../../main.js', import.meta.url))
  const given = Object.entries({ data, config, 'default-domain': defaultDomain, ca, expunge })
  return [
    process.execPath,
    ...NODE_FLAGS,
    main,
    ...['import', 'imap', '--connections', String(connections)],
    ...given.flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value])),
    ...exclude.flatMap((folder) => ['--exclude', folder]),
    ...(plaintext === true ? ['--plaintext'] : [])
  ]
}

/**
 * @param {PasswordInput} input
 * @param {string} account
 * @param {string} source
 * @returns {Promise<[Buffer, Buffer]>} of the account here, of the source
 */
async function readBoth(input, account, source) {
  try {
    const own = await input.read(`Password of ${account} here`)
    return [own, await input.read(`Password of ${source}`)]
  } finally {
    await input.close()
  }
}

/** @param {string} from */
function readServer(from) {
  try {
    return parseSourceServer(from)
  } catch (cause) {
    if (!(cause instanceof MailError)) throw cause
    throw new CliError(`--from: ${cause.detail}`, { exitCode: NOTHING_DONE, cause })
  }
}

/**
 * @param {string | undefined} file
 * @returns {Promise<string | null>}
 */
async function readAuthority(file) {
  if (file === undefined) return null
  try {
    return await readFile(file, 'utf8')
  } catch (cause) {
    throw new CliError(`${file} cannot be read`, { exitCode: NOTHING_DONE, cause })
  }
}
