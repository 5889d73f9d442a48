/**
 * Runs what is due on one open mailbox, job by job, and records each: the server's worker and the command line alike.
 */
import { MailError } from '../errors.js'
import { clearUnwanted } from './alone.js'
import { NEVER_RUN, hasFailedSince, isDue } from './job.js'
import { attempt, recordEnd } from './job-end.js'
import { JOBS } from './jobs.js'
import { spaceFigures } from './jobs/space.js'

/**
 * @typedef {import('../accounts/directory-port.js').MaintenanceRun} MaintenanceRun
 * @typedef {import('./job.js').JobContext} JobContext
 * @typedef {import('./job.js').MaintenanceJob} MaintenanceJob
 *
 * @typedef {object} RunRequest
 * @property {Pick<import('../accounts/services.js').AccountServices, 'directory' | 'clock' | 'config' | 'logger'>} services
 * @property {import('../accounts/directory-port.js').Account} account
 * @property {import('../store/account-store.js').AccountStore} store
 * @property {import('./resources.js').Resources} resources
 * @property {AbortSignal} signal - ends the run at the next step
 * @property {boolean} [isForced] - every job, whether due or not
 * @property {readonly MaintenanceJob[]} [jobs]
 * @property {(run: MaintenanceRun) => void} [onRun] - called for each job that had something to do
 */

/**
 * @param {RunRequest} request
 * @returns {Promise<MaintenanceRun[]>} of the jobs that had something to do
 */
export async function runJobs(request) {
  const { services, account, store, resources, signal, isForced = false, onRun } = request
  const { directory, clock, config } = services
  const settings = config.maintenance
  const nowMs = clock.nowMs()
  const { requestedAtMs, jobs: states } = await directory.findMaintenance(account.id)
  // A job that has failed since waits for its next try: where it makes the store give up, each try ends all sessions.
  const isAskedFor = (/** @type {import('./job.js').MaintenanceState} */ state) =>
    requestedAtMs !== null && !hasFailedSince(state, { sinceMs: requestedAtMs, nowMs })
  const shared = { store, account, settings, nowMs, signal, resources }
  const runs = []
  for (const job of request.jobs ?? JOBS) {
    if (signal.aborted || store.hasFailed) break
    const state = states.get(job.name) ?? NEVER_RUN
    const isRequested = isForced || isAskedFor(state)
    if (!isDue(job, { state, account, settings, nowMs, isRequested })) continue
    const lastDoneAtMs = state.doneAtMs ?? account.createdAtMs
    const context = { ...shared, isRequested, lastDoneAtMs }
    const run = await runJob(job, { context, services, state })
    if (run === null) continue
    runs.push(run)
    onRun?.(run)
  }
  clearUnwanted({ services, account, store, states })
  await recordSpace(request)
  // A run that a failing disk has cut short leaves the request standing.
  if (requestedAtMs !== null && !signal.aborted && !store.hasFailed)
    await directory.finishMaintenanceRequest(account.id, requestedAtMs)
  return runs
}

/**
 * @param {MaintenanceJob} job
 * @param {object} facts
 * @param {JobContext} facts.context
 * @param {RunRequest['services']} facts.services
 * @param {import('./job.js').MaintenanceState} facts.state
 * @returns {Promise<MaintenanceRun | null>} null where there was nothing to do
 */
async function runJob(job, { context, services, state }) {
  const { clock } = services
  const accountId = context.account.id
  const atMs = clock.nowMs()
  const startedMs = performance.now()
  let why = context.isRequested ? 'asked for' : 'by schedule'
  const end = await attempt(services, { account: context.account, job }, async () => {
    if (job.wants) {
      const wanted = await job.wants(context)
      if (wanted === null) return { result: 'idle' }
      why = wanted
    }
    return await job.run(context)
  })
  const isByOccasion = job.intervalMs(context.settings) === 0
  // A job for every occasion that found nothing to do is not worth a row each time.
  if (end.result === 'idle' && isByOccasion && state.failures === 0 && state.nextTryAtMs === null)
    return null
  return recordEnd(services, { accountId, job, state, why, atMs, startedMs, end })
}

/**
 * Records figures by which operators see, without any key, how much of each mailbox is free.
 *
 * @param {RunRequest} request
 */
async function recordSpace({ services, account, store }) {
  const { directory, clock } = services
  try {
    const space = spaceFigures(await store.upkeep.readSpace())
    directory.recordMaintenance({ accountId: account.id, atMs: clock.nowMs(), space })
  } catch (error) {
    // The store has been given up or is being closed: the figures of the last run stay.
    if (!(error instanceof MailError)) throw error
  }
}
