/**
 * `letterlock check`: opens a mailbox with its password and proves that all of it can be read back.
 */
import { MailError } from '../../errors.js'
import { counted, formatBytes } from '../../support/format.js'
import { CliError } from '../cli-error.js'
import { NOTHING_DONE, withMailbox } from '../open-mailbox.js'
import { plainText } from '../plain-text.js'
import { TerminalBar } from '../terminal-bar.js'

/** @typedef {import('../index.js').CliContext} CliContext */
/** @typedef {import('../../store/account-store.js').AccountStore} AccountStore */
/** @typedef {import('../../store/account-store.js').VerifyReport} VerifyReport */

const DAMAGED = 1

const HELP = `
Reads the whole mailbox: SQLite's integrity_check (every page is authenticated by the cipher as it is read),
the counters beside the rows, and the SHA-256 of every message. Nothing is changed; the server may run.

Exit code: 0 all is well, 1 something is damaged, 2 the mailbox could not be opened.

Example:
  letterlock check ann@example.org --password-stdin < password.txt`

/**
 * @param {import('commander').Command} program
 * @param {CliContext} context
 */
export function register(program, context) {
  program
    .command('check')
    .description('check a mailbox: structure, counters, every message against its hash')
    .argument('<address>', 'whose mailbox')
    .option('--password-stdin', 'read the password from standard input')
    .addHelpText('after', HELP)
    .action(
      async (/** @type {string} */ address, /** @type {{ passwordStdin?: boolean }} */ options) => {
        process.exitCode = await runCheck({ context, options, address })
      }
    )
}

/**
 * @param {object} request
 * @param {CliContext} request.context
 * @param {{ passwordStdin?: boolean }} request.options
 * @param {string} request.address
 * @returns {Promise<number>} the exit code
 */
async function runCheck({ context, options, address }) {
  const request = { context, options, account: address, isReadOnly: true }
  return await withMailbox(request, async ({ store }) => {
    try {
      return tell(await verify(store, context), context)
    } catch (error) {
      if (!(error instanceof MailError)) throw error
      const exitCode = error.temporary ? NOTHING_DONE : DAMAGED
      throw new CliError(`The check ended early: ${error.message}`, { exitCode, cause: error })
    }
  })
}

/**
 * @param {AccountStore} store
 * @param {CliContext} context
 * @returns {Promise<VerifyReport>}
 */
async function verify(store, { stdout }) {
  const format = 'checking {bar} {percentage} % | {eta_formatted} left'
  const bar = new TerminalBar(stdout, format)
  try {
    return await store.verify(({ done, total }) => bar.update(done, total))
  } finally {
    bar.stop()
  }
}

/**
 * @param {VerifyReport} report
 * @param {CliContext} context
 * @returns {number} the exit code
 */
function tell({ problems, unreadable, contents, bytes, messages }, { stdout, stderr }) {
  stdout.write(
    `${counted(messages, 'message')}, ${counted(contents, 'content')}, ${formatBytes(bytes)} read\n`
  )
  for (const problem of problems) stderr.write(`letterlock: ${problem}\n`)
  for (const { mailbox, uid } of unreadable)
    stderr.write(`letterlock: cannot be read: UID ${uid} in ${plainText(mailbox)}\n`)
  stdout.write(problems.length === 0 ? 'ok\n' : `damaged: ${counted(problems.length, 'problem')}\n`)
  return problems.length === 0 ? 0 : DAMAGED
}
