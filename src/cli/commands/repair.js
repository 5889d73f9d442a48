/**
 * `letterlock repair`: saves every readable message of a damaged mailbox.
 */
import { isMailError, MailError } from '../../errors.js'
import { repairAccount } from '../../maintenance/repair-account.js'
import { counted, formatBytes } from '../../support/format.js'
import { CliError } from '../cli-error.js'
import { explainOpenElsewhere } from '../open-elsewhere.js'
import { TerminalBar } from '../terminal-bar.js'
import { formatTime, unlockForWork, withAccounts } from '../with-accounts.js'

/**
 * @typedef {import('../index.js').CliContext} CliContext
 * @typedef {import('../../store/salvage/repair-file.js').RepairOutcome} RepairOutcome
 * @typedef {import('../../store/salvage/repair-file.js').RepairProgress} RepairProgress
 * @typedef {import('../index.js').CommonOptions & { passwordStdin?: boolean }} RepairOptions
 */

/** Exit code: something is lost. */
const INCOMPLETE = 1
/** Exit code: nothing was changed. */
const NOT_DONE = 2

const HELP = `
Reads the damaged file page by page, writes every message that is whole into a new file, checks that file in full
(structure, counters, the SHA-256 of every message), and only then puts it in the place of the old one, which is kept
beside it as mail.db.damaged-<time>. UIDs, flags and dates stay; mail programs are told what is gone. Whatever goes
wrong on the way, the account's file is as it was.

The mailbox must be closed: end its sessions, or wait a minute after the last one. It takes the room of the file once or
twice more. What was lost is listed on standard output; a backup may still have it.

Exit code: 0 nothing is lost, 1 something is lost, 2 nothing was done.

Example:
  letterlock repair ann@example.org --password-stdin < password.txt`

/**
 * @param {import('commander').Command} program
 * @param {CliContext} context
 */
export function register(program, context) {
  program
    .command('repair')
    .description('save every readable message of a damaged mailbox into a new file')
    .argument('<address>', 'whose mailbox')
    .option('--password-stdin', 'read the password from standard input')
    .addHelpText('after', HELP)
    .action((/** @type {string} */ address, /** @type {RepairOptions} */ options) =>
      withAccounts(context, options, async ({ services, input, print }) => {
        const { account, masterKey: opened } = await unlockForWork({ services, input }, address)
        using masterKey = opened
        const bar = progressBar(context)
        try {
          const outcome = await repairAccount({
            services,
            account,
            masterKey,
            onProgress: bar.show
          }).finally(bar.stop)
          tell(outcome, print)
        } catch (error) {
          throw inPlainWords(error)
        }
      }).catch((error) => {
        throw error instanceof CliError ? notDone(error) : error
      })
    )
}

/**
 * @param {CliError} error - with the exit code of other commands: for an unknown address, that is 1
 * @returns {CliError}
 */
const notDone = (error) =>
  error.exitCode === INCOMPLETE
    ? new CliError(error.message, { exitCode: NOT_DONE, cause: error })
    : error

/**
 * @param {unknown} error
 * @returns {unknown}
 */
function inPlainWords(error) {
  const words = explainOpenElsewhere(error)
  if (words !== null) return new CliError(words, { exitCode: NOT_DONE, cause: error })
  if (isMailError(error, 'KEY_REJECTED'))
    return new CliError(
      'Not even the first page of the file can be read: only a backup can bring this mailbox back',
      { exitCode: NOT_DONE, cause: error }
    )
  if (!(error instanceof MailError)) return error
  const detail = error.detail === undefined ? '' : ` (${error.detail})`
  return new CliError(`${error.message}${detail}; nothing was changed`, {
    exitCode: NOT_DONE,
    cause: error
  })
}

/**
 * @param {CliContext} context
 * @returns {{ show: (progress: RepairProgress) => void, stop: () => void }}
 */
function progressBar({ stdout }) {
  const bar = new TerminalBar(stdout, '{step} {bar} {percentage} % | {eta_formatted} left')
  /** @type {string | null} */
  let shownStep = null
  return {
    show: ({ step, done, total }) => {
      if (step !== shownStep) bar.stop()
      shownStep = step
      bar.update(done, total, { step })
    },
    stop: () => bar.stop()
  }
}

/**
 * @param {RepairOutcome} outcome
 * @param {(line: string) => void} print
 */
function tell({ report, keptFile }, print) {
  const { salvaged, bytes, lost, withoutFlags, recoveredMailboxes, gaps } = report
  print(`${counted(salvaged, 'message')}, ${formatBytes(bytes)} saved`)
  for (const { mailbox, uid, sizeBytes, savedAtMs } of lost) {
    const size = sizeBytes === null ? 'size unknown' : formatBytes(sizeBytes)
    print(`lost\t${mailbox}\tUID ${uid}\t${size}\tarrived ${arrival(savedAtMs)}`)
  }
  for (const { mailbox, uid } of withoutFlags) print(`saved without flags\t${mailbox}\tUID ${uid}`)
  for (const mailbox of recoveredMailboxes) print(`saved under another name\t${mailbox}`)
  if (gaps > 0)
    print(`${counted(gaps, 'stretch', 'stretches')} of the message list lost: there may be more`)
  print(`the damaged file is kept as ${keptFile}`)
  if (lost.length > 0 || gaps > 0) process.exitCode = INCOMPLETE
}

/** @param {number | null} timeMs */
const arrival = (timeMs) => (timeMs === null ? 'unknown' : formatTime(timeMs))
