/**
 * Deletes what has been in Trash or Junk for longer than the configuration says, by the time at which it came into that
 * mailbox (SAVEDATE, RFC 8514).
 */
import { DAY_MS } from '../job.js'

/** @typedef {import('../job.js').MaintenanceJob} MaintenanceJob */

/** @type {MaintenanceJob} */
export const retention = {
  name: 'retention',
  intervalMs: ({ trashDays, junkDays }) => (trashDays === 0 && junkDays === 0 ? Infinity : DAY_MS),
  async run({ store, settings, nowMs, signal }) {
    let messages = 0
    const limits = /** @type {const} */ ([
      ['\\Trash', settings.trashDays],
      ['\\Junk', settings.junkDays]
    ])
    for (const [specialUse, days] of limits) {
      if (days === 0) continue
      const beforeMs = nowMs - days * DAY_MS
      messages += await store.upkeep.expungeOlder({ specialUse, beforeMs, signal })
    }
    if (signal.aborted) return { result: 'stopped', after: { expungedMessages: messages } }
    return { result: messages > 0 ? 'done' : 'idle', after: { expungedMessages: messages } }
  }
}
