/**
 * Forgets, message by message, what was expunged long ago.
 */
import { DAY_MS } from '../job.js'

/** @type {import('../job.js').MaintenanceJob} */
export const expungeLog = {
  name: 'expunge-log',
  intervalMs: () => DAY_MS,
  async run({ store, settings, nowMs, signal }) {
    const beforeMs = nowMs - settings.expungedLogDays * DAY_MS
    const ranges = await store.upkeep.pruneExpunged({ beforeMs, signal })
    if (signal.aborted) return { result: 'stopped', after: { forgottenRanges: ranges } }
    return { result: ranges > 0 ? 'done' : 'idle', after: { forgottenRanges: ranges } }
  }
}
