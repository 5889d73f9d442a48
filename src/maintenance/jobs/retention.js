/**
 * Deletes what has been in Trash or Junk for longer than the configuration says, by the time at which it came into that
 * mailbox (SAVEDATE, RFC 8514). A clock that is years ahead for an hour must not empty both.
 */
import { DAY_MS } from '../job.js'

/**
 * @typedef {import('../job.js').JobContext} JobContext
 * @typedef {import('../job.js').MaintenanceJob} MaintenanceJob
 */

/** The next run comes at most so many ms after the last one, where the mailbox is open daily and the clock is right. */
const BELIEVED_MS = 2 * DAY_MS

/**
 * @param {Pick<JobContext, 'nowMs' | 'lastDoneAtMs' | 'isRequested'>} context
 * @returns {number} wall clock, ms. Where nobody has opened the mailbox for long, the next run deletes what this one does not
 */
function believedTime({ nowMs, lastDoneAtMs, isRequested }) {
  return isRequested ? nowMs : Math.min(nowMs, lastDoneAtMs + BELIEVED_MS)
}

/** @type {MaintenanceJob} */
export const retention = {
  name: 'retention',
  intervalMs: ({ trashDays, junkDays }) => (trashDays === 0 && junkDays === 0 ? Infinity : DAY_MS),
  async run({ store, settings, signal, ...context }) {
    const nowMs = believedTime(context)
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
