/**
 * Jobs that need the mailbox alone. They are done when it has just been closed; a login kills what is under way, and it is
 * tried again the next time.
 */
import { convertCipher } from './alone/convert-cipher.js'
import { freeKeywords } from './alone/free-keywords.js'
import { NEVER_RUN, isDue, nextState } from './job.js'
import { attempt, recordEnd } from './job-end.js'

/**
 * @typedef {Pick<import('../accounts/services.js').AccountServices, 'directory' | 'clock' | 'config' | 'logger'>} Services
 * @typedef {import('../accounts/directory-port.js').Account} Account
 * @typedef {import('../accounts/directory-port.js').MaintenanceRun} MaintenanceRun
 * @typedef {import('../store/account-store.js').AccountStore} AccountStore
 * @typedef {import('./resources.js').Resources} Resources
 * @typedef {import('./job.js').JobOutcome} JobOutcome
 *
 * @typedef {object} AloneContext
 * @property {Pick<Services, 'directory' | 'config'>} services
 * @property {Account} account
 * @property {Uint8Array} key - the database key; stays the caller's
 * @property {Resources} resources
 * @property {AbortSignal} signal - kills the work
 *
 * @typedef {object} AloneJob
 * @property {string} name
 * @property {(settings: import('./job.js').Settings) => number} intervalMs - as of other jobs
 * @property {(store: AccountStore) => string | null} wants - whether there is anything to do, and why; null for no
 * @property {(context: AloneContext) => Promise<JobOutcome>} run - the mailbox is closed; rejects with BUSY where somebody
 *   has it open again
 */

/** @type {readonly AloneJob[]} */
const JOBS = [convertCipher, freeKeywords]

/**
 * Clears the record of jobs that failed and have nothing to do any more, because a repair or a restore has brought another
 * file: they would not run again, and would stand on record as failing for ever.
 *
 * @param {object} input
 * @param {Pick<Services, 'directory' | 'clock'>} input.services
 * @param {Account} input.account
 * @param {AccountStore} input.store - open
 * @param {Map<string, import('./job.js').MaintenanceState>} input.states - by job
 */
export function clearUnwanted({ services: { directory, clock }, account, store, states }) {
  for (const job of JOBS) {
    const state = states.get(job.name)
    if (state === undefined || state.failures === 0 || job.wants(store) !== null) continue
    const next = nextState(state, { result: 'idle', code: null, nowMs: clock.nowMs() })
    directory.recordMaintenance({ accountId: account.id, job: job.name, state: next, run: null })
  }
}

/**
 * @param {object} input
 * @param {Services} input.services
 * @param {Account} input.account
 * @param {AccountStore} input.store - still open
 * @param {Resources} input.resources
 * @param {boolean} [input.isForced] - every job that wants something, whether due or not
 * @param {(run: MaintenanceRun) => void} [input.onRun] - called for each job that had something to do
 * @returns {Promise<((signal: AbortSignal) => Promise<void>) | null>} to be called once the store is closed; null where
 *   there is nothing to do
 */
export async function planAlone({ services, account, store, resources, isForced = false, onRun }) {
  if (store.isReadOnly) return null
  const wanted = JOBS.flatMap((job) => {
    const why = job.wants(store)
    return why === null ? [] : [{ job, why }]
  })
  if (wanted.length === 0) return null
  const { directory, clock, config } = services
  const { jobs: states, requestedAtMs } = await directory.findMaintenance(account.id)
  const isRequested = isForced || requestedAtMs !== null
  const facts = { account, settings: config.maintenance, nowMs: clock.nowMs(), isRequested }
  const due = wanted
    .map(({ job, why }) => ({ job, why, state: states.get(job.name) ?? NEVER_RUN }))
    .filter(({ job, state }) => isDue(job, { ...facts, state }))
  if (due.length === 0) return null
  const key = store.upkeep.copyKey()
  return async (signal) => {
    try {
      for (const { job, why, state } of due) {
        const atMs = clock.nowMs()
        const startedMs = performance.now()
        const accountId = account.id
        const end = await attempt(services, { account, job }, () =>
          job.run({ services, account, key, resources, signal })
        )
        const run = recordEnd(services, { accountId, job, state, why, atMs, startedMs, end })
        if (run !== null) onRun?.(run)
      }
    } finally {
      key.fill(0)
    }
  }
}
