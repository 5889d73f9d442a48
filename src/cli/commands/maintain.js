/**
 * `letterlock maintain`: looks after mailboxes now, asks the server to, or shows what was done.
 */
import { MailError } from '../../errors.js'
import { maintainAccount } from '../../maintenance/maintain-account.js'
import { systemResources } from '../../maintenance/resources.js'
import { counted, formatBytes } from '../../support/format.js'
import { CliError } from '../cli-error.js'
import { explainOpenElsewhere } from '../open-elsewhere.js'
import { formatTime, requireAccount, unlockForWork, withAccounts } from '../with-accounts.js'

/**
 * @typedef {import('../index.js').CliContext} CliContext
 * @typedef {import('../../accounts/services.js').AccountServices} AccountServices
 * @typedef {import('../../accounts/directory-port.js').MaintenanceRun} MaintenanceRun
 * @typedef {import('../../accounts/directory-port.js').MaintenanceSummary} MaintenanceSummary
 * @typedef {import('../index.js').CommonOptions & { compact?: boolean, reindex?: boolean, status?: boolean,
 *   json?: boolean, passwordStdin?: boolean }} MaintainOptions
 */

/** With an account, `--status` shows at most so many runs. */
const SHOWN_RUNS = 20

/** Options that need an account. */
const WORK = /** @type {const} */ (['compact', 'reindex'])

const HELP = `
Without an account: every mailbox is looked after at the server's next occasion, when it is open and quiet. No
password is needed, because nothing is opened here.

With accounts: these are looked after now, one after the other; each needs its password. The server may run, but
what needs a mailbox alone (--compact, VACUUM) is done only while nobody has it open.

--compact writes the whole file anew without its free pages, whatever its size. It takes the room of the file once
more, and about a second for each 100 MB.

--reindex makes the search index anew, should searches miss what is there. Each message is read once more; the mailbox
may be open, and searches read the messages meanwhile.

Exit code: 0 all is well, or gave way to others who use the mailbox, 1 a job or an account failed.

Examples:
  letterlock maintain
  letterlock maintain --status
  letterlock maintain --compact ann@example.org`

/**
 * @param {import('commander').Command} program
 * @param {CliContext} context
 */
export function register(program, context) {
  program
    .command('maintain')
    .description('look after mailboxes: give space back, prune, check')
    .argument('[addresses...]', 'whose mailboxes; none: ask the server to look after all')
    .option('--compact', 'write the whole file anew; the mailbox must be closed')
    .option('--reindex', 'make the search index anew')
    .option(
      '--status',
      'only show what was done, and how much of each file is free; needs no password'
    )
    .option('--json', 'with --status: one JSON object a line')
    .option('--password-stdin', 'read the passwords from standard input, a line for each account')
    .addHelpText('after', HELP)
    .action((/** @type {string[]} */ addresses, /** @type {MaintainOptions} */ options) =>
      withAccounts(context, options, async (parts) => {
        if (options.status) {
          for (const name of WORK)
            if (options[name])
              throw new CliError(`--${name} does not go with --status`, { exitCode: 2 })
          return await showStatus(parts, addresses, options)
        }
        if (options.json) throw new CliError('--json goes with --status', { exitCode: 2 })
        if (addresses.length > 0) return await maintain(parts, addresses, options)
        for (const name of WORK)
          if (options[name])
            throw new CliError(`--${name} needs the accounts: each is opened with its password`, {
              exitCode: 2
            })
        const count = await parts.services.directory.requestMaintenance(null)
        const will = counted(
          count,
          'mailbox is looked after when it is',
          'mailboxes are looked after when they are'
        )
        parts.print(`${will} next open and quiet`)
      })
    )
}

/**
 * @param {{ services: AccountServices, print: (line: string) => void }} parts
 * @param {string[]} addresses
 * @param {MaintainOptions} options
 */
async function showStatus({ services, print }, addresses, { json = false }) {
  const { directory } = services
  const accounts = await Promise.all(addresses.map((address) => requireAccount(services, address)))
  const wanted = new Set(accounts.map(({ id }) => id))
  const summaries = await directory.listMaintenance()
  for (const summary of summaries) {
    if (wanted.size > 0 && !wanted.has(summary.accountId)) continue
    const { accountId } = summary
    const runs =
      wanted.size > 0 ? await directory.listMaintenanceRuns({ accountId, limit: SHOWN_RUNS }) : []
    if (json) {
      print(JSON.stringify(wanted.size > 0 ? { ...summary, runs } : summary))
      continue
    }
    print(summaryLine(summary))
    for (const run of runs) print(`  ${formatTime(run.atMs)}  ${runLine(run)}`)
  }
}

/** @param {MaintenanceSummary} summary */
function summaryLine({ address, fileBytes, freeBytes, doneAtMs, failingJobs, requestedAtMs }) {
  const part = fileBytes ? Math.round((100 * (freeBytes ?? 0)) / fileBytes) : 0
  return [
    address,
    fileBytes === null ? 'not measured yet' : `${formatBytes(fileBytes)}, ${part} % free`,
    `last looked after ${formatTime(doneAtMs)}`,
    ...(requestedAtMs === null ? [] : ['asked for']),
    ...(failingJobs === 0 ? [] : [counted(failingJobs, 'job fails', 'jobs fail')])
  ].join('\t')
}

/** @param {MaintenanceRun} run */
function runLine({ job, why, result, note, before, after, tookMs }) {
  const figures = Object.keys({ ...before, ...after })
    .map((name) => figureText(name, before[name], after[name]))
    .filter((text) => text !== '')
  const ended = note === null ? result : `${result} (${note})`
  return [`${job}: ${ended}`, why, ...figures, `${Math.round(tookMs)} ms`].join(', ')
}

/**
 * @param {string} name - of a figure; one of bytes ends in `Bytes`
 * @param {number | undefined} before
 * @param {number | undefined} after
 * @returns {string}
 */
function figureText(name, before, after) {
  const text = (/** @type {number} */ value) =>
    name.endsWith('Bytes') ? formatBytes(value) : String(value)
  const label = name.replace(/Bytes$/, '').replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  if (before === undefined) return after === undefined ? '' : `${label} ${text(after)}`
  if (after === undefined || after === before) return `${label} ${text(before)}`
  return `${label} ${text(before)} -> ${text(after)}`
}

/**
 * @param {{ failed: number, stopped: number }} ends
 * @returns {string}
 */
function endLine({ failed, stopped }) {
  if (failed > 0) return `${counted(failed, 'job')} failed`
  if (stopped === 0) return 'ok'
  return `${counted(stopped, 'job')} gave way to others who use the mailbox: give the command again, or leave it to the server`
}

/**
 * One bad mailbox never stops the rest; the exit code tells.
 *
 * @param {Parameters<Parameters<typeof withAccounts>[2]>[0]} parts
 * @param {string[]} addresses
 * @param {MaintainOptions} options
 */
async function maintain({ services, input, print, tell }, addresses, options) {
  const { compact = false, reindex = false } = options
  for (const address of addresses) {
    try {
      const { account, masterKey: opened } = await unlockForWork({ services, input }, address)
      using masterKey = opened
      const ends = { failed: 0, stopped: 0 }
      await maintainAccount({
        services,
        account,
        masterKey,
        resources: systemResources,
        isCompacted: compact,
        isReindexed: reindex,
        onRun: (run) => {
          if (run.result === 'failed' || run.result === 'stopped') ends[run.result]++
          print(`${account.address}\t${runLine(run)}`)
        }
      })
      print(`${account.address}\t${endLine(ends)}`)
      if (ends.failed > 0) process.exitCode = 1
    } catch (error) {
      if (!(error instanceof MailError) && !(error instanceof CliError)) throw error
      process.exitCode = 1
      const detail = error instanceof MailError && error.detail ? ` (${error.detail})` : ''
      const words = explainOpenElsewhere(error) ?? `${error.message}${detail}`
      tell(`letterlock: ${address}: ${words}`)
    }
  }
}
