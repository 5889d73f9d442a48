/**
 * How a job of maintenance ends, and what is kept of that.
 */
import { unlessOvertaken } from '../accounts/damage.js'
import { errorCodeOf } from '../database/sqlite-error.js'
import { MailError, isMailError } from '../errors.js'
import { nextState } from './job.js'

/**
 * @typedef {Pick<import('../accounts/services.js').AccountServices, 'directory' | 'clock' | 'logger'>} Services
 * @typedef {import('../accounts/directory-port.js').MaintenanceRun} MaintenanceRun
 * @typedef {import('./job.js').JobOutcome} JobOutcome
 * @typedef {import('./job.js').MaintenanceState} MaintenanceState
 *
 * @typedef {Omit<JobOutcome, 'result'> & { result: JobOutcome['result'] | 'failed', code: string | null }} JobEnd
 */

/** Codes of failures that pass by themselves, and say nothing about the mailbox: the job is gone on with later. */
const PASSING_CODES = new Set(['BUSY', 'SHUTTING_DOWN', 'ACCOUNT_NOT_FOUND'])

/**
 * A job that fails is recorded and tried again later, and the other jobs go on: one that fails for ever must not keep
 * the rest from the mailbox.
 *
 * @param {Pick<Services, 'logger' | 'directory'>} services
 * @param {{ account: Pick<import('../accounts/directory-port.js').Account, 'id' | 'keyEpoch'>, job: { name: string } }} what
 * @param {() => Promise<JobOutcome>} work
 * @returns {Promise<JobEnd>}
 */
export async function attempt({ logger, directory }, { account, job }, work) {
  try {
    return { ...(await work()), code: null }
  } catch (error) {
    const accountId = account.id
    // A job that needs the mailbox alone may begin after a rekey or a deletion.
    const err = await unlessOvertaken(directory, account, error)
    const code = err instanceof MailError ? err.code : errorCodeOf(err) || 'UNEXPECTED'
    if (PASSING_CODES.has(code)) return { result: 'stopped', code, note: code }
    logger.error({ accountId, job: job.name, err }, 'maintenance failed')
    if (isMailError(err, 'ACCOUNT_DAMAGED'))
      directory.audit({ action: 'mailbox-alert', accountId, detail: { code, job: job.name } })
    return { result: 'failed', code }
  }
}

/**
 * @param {Pick<Services, 'clock' | 'directory'>} services
 * @param {object} what
 * @param {string} what.accountId
 * @param {{ name: string }} what.job
 * @param {MaintenanceState} what.state - before
 * @param {string} what.why
 * @param {number} what.atMs - wall clock, when it began
 * @param {number} what.startedMs - the same by the monotonic clock
 * @param {JobEnd} what.end
 * @returns {MaintenanceRun | null} null where there was nothing to do
 */
export function recordEnd(
  { clock, directory },
  { accountId, job, state, why, atMs, startedMs, end }
) {
  const { result, code, note = null, before = {}, after = {} } = end
  const tookMs = performance.now() - startedMs
  const run =
    result === 'idle' ? null : { atMs, why, result, note: note ?? code, before, after, tookMs }
  const next = nextState(state, { result, code, nowMs: clock.nowMs() })
  directory.recordMaintenance({ accountId, job: job.name, state: next, run })
  return run && { accountId, job: job.name, ...run }
}
