/**
 * What a job of maintenance is, and when one is due.
 */
import { createHash } from 'node:crypto'

/**
 * @typedef {import('../accounts/directory-port.js').Account} Account
 * @typedef {import('../accounts/directory-port.js').MaintenanceState} MaintenanceState
 * @typedef {import('../../config/load.js').Config['maintenance']} Settings
 *
 * @typedef {object} JobContext
 * @property {import('../store/account-store.js').AccountStore} store - open and writable
 * @property {Account} account
 * @property {Settings} settings
 * @property {number} nowMs - wall clock, when the run of all jobs began
 * @property {number} lastDoneAtMs - wall clock, when this job last came to a good end; at first, when the account was made
 * @property {boolean} isRequested - an operator asked for it
 * @property {AbortSignal} signal - time is up, or somebody needs the mailbox: ends the job at its next step
 * @property {import('./resources.js').Resources} resources
 *
 * @typedef {object} JobOutcome
 * @property {'done' | 'idle' | 'skipped' | 'stopped'} result - `idle`: there was nothing to do; `stopped`: to be gone on
 *   with later
 * @property {string} [note] - why it was skipped
 * @property {Record<string, number>} [before] - figures
 * @property {Record<string, number>} [after]
 *
 * @typedef {object} MaintenanceJob
 * @property {string} name
 * @property {(settings: Settings) => number} intervalMs - after a good end it is due again; 0: at every occasion;
 *   Infinity: never
 * @property {boolean} [isHeavy] - whether it runs within the configured hours only, unless it is a week overdue
 * @property {(context: JobContext) => Promise<string | null>} [wants] - a cheap look whether there is anything to do, and
 *   why; null for no
 * @property {(context: JobContext) => Promise<JobOutcome>} run
 */

export const DAY_MS = 24 * 60 * 60 * 1000

/** A heavy job that is overdue by this much waits for no hour. */
const OVERDUE_MS = 7 * DAY_MS

/** Intervals vary by at most this part of them, up and down, so that the mailboxes of a fleet do not all come at once. */
const SPREAD = 0.2

/** First pause after a failure; each further one is four times as long … */
const FIRST_RETRY_MS = 5 * 60 * 1000
/** … up to this. */
const MAX_RETRY_MS = DAY_MS

/** A job that gave way is tried again after this. */
const STOPPED_RETRY_MS = 5 * 60 * 1000

/** A job that was skipped for lack of memory or room is tried again after this. */
const SKIPPED_RETRY_MS = 6 * 60 * 60 * 1000

/** @type {MaintenanceState} */
export const NEVER_RUN = Object.freeze({
  doneAtMs: null,
  failures: 0,
  failedCode: null,
  nextTryAtMs: null
})

/**
 * @param {string} accountId
 * @param {string} job
 * @returns {number} 0 to 1, always the same for both
 */
function placeOf(accountId, job) {
  const digest = createHash('sha256').update(`${accountId} ${job}`).digest()
  return digest.readUInt32BE(0) / 0xffffffff
}

/**
 * @param {number} nowMs
 * @param {Pick<Settings, 'fromHour' | 'toHour'>} settings
 * @returns {boolean} whether heavy jobs may begin now, by the machine's local time
 */
export function isInHours(nowMs, { fromHour, toHour }) {
  const hour = new Date(nowMs).getHours()
  if (fromHour < toHour) return hour >= fromHour && hour < toHour
  return hour >= fromHour || hour < toHour
}

/**
 * A time further ahead than a job is ever put off was written while the clock was ahead: it would be waited for for years.
 *
 * @param {number} timeMs
 * @param {number} nowMs
 * @param {number} longestMs - by which a job is put off
 * @returns {boolean} whether the time is to be waited for
 */
const isToCome = (timeMs, nowMs, longestMs) => timeMs > nowMs && timeMs - nowMs <= longestMs

/**
 * @param {Pick<MaintenanceJob, 'name' | 'intervalMs' | 'isHeavy'>} job
 * @param {object} facts
 * @param {MaintenanceState} facts.state
 * @param {Pick<Account, 'id' | 'createdAtMs'>} facts.account - an account counts as looked after when it was made
 * @param {Settings} facts.settings
 * @param {number} facts.nowMs
 * @param {boolean} facts.isRequested - an operator asked for it: neither time nor an earlier failure counts
 * @returns {boolean}
 */
export function isDue(job, { state, account, settings, nowMs, isRequested }) {
  const setMs = job.intervalMs(settings)
  // A failed job that has been switched off since, or stands for damage that was met, still runs: a good end clears the record.
  if (setMs === Infinity && state.failures === 0) return false
  if (isRequested) return true
  const intervalMs = setMs === Infinity ? 0 : setMs
  if (isToCome(state.nextTryAtMs ?? 0, nowMs, MAX_RETRY_MS)) return false
  const spreadMs = intervalMs * SPREAD * (2 * placeOf(account.id, job.name) - 1)
  const dueAtMs = (state.doneAtMs ?? account.createdAtMs) + intervalMs + spreadMs
  if (isToCome(dueAtMs, nowMs, intervalMs * (1 + SPREAD))) return false
  return !job.isHeavy || isInHours(nowMs, settings) || nowMs - dueAtMs >= OVERDUE_MS
}

/** @param {number} failures - in a row, one at least */
const pauseAfter = (failures) => Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 4 ** (failures - 1))

/**
 * @param {MaintenanceState} state
 * @param {{ sinceMs: number, nowMs: number }} times
 * @returns {boolean} whether the job has failed since then, as far as the time of its next try tells
 */
export function hasFailedSince({ failures, nextTryAtMs }, { sinceMs, nowMs }) {
  if (failures === 0) return false
  const failedAtMs = (nextTryAtMs ?? 0) - pauseAfter(failures)
  return failedAtMs >= sinceMs && failedAtMs <= nowMs
}

/**
 * @param {MaintenanceState} state - before
 * @param {{ result: JobOutcome['result'] | 'failed', code: string | null, nowMs: number }} end
 * @returns {MaintenanceState} after
 */
export function nextState(state, { result, code, nowMs }) {
  if (result === 'done' || result === 'idle') return { ...NEVER_RUN, doneAtMs: nowMs }
  if (result === 'stopped') return { ...state, nextTryAtMs: nowMs + STOPPED_RETRY_MS }
  if (result === 'skipped') return { ...state, nextTryAtMs: nowMs + SKIPPED_RETRY_MS }
  const failures = state.failures + 1
  return { ...state, failures, failedCode: code, nextTryAtMs: nowMs + pauseAfter(failures) }
}
