/**
 * The end of all sessions of a process that goes.
 */
import { setTimeout as sleep } from 'node:timers/promises'

/** @import { Session } from './session.js' */

/** Where other workers go on, a session ends every so many ms, so that their logins do not all come at once. */
const BETWEEN_BYES_MS = 20

/**
 * BYE to every session; where other workers take their clients, to one after the other.
 *
 * @param {readonly Session[]} sessions
 * @param {string} text
 * @param {{ graceMs: number, isReplaced: () => boolean }} options - `graceMs`: the last is told within half of it
 */
export async function endAll(sessions, text, { graceMs, isReplaced }) {
  const isStranger = (/** @type {Session} */ { state }) => state === 'notAuthenticated'
  for (const session of sessions.filter(isStranger)) session.end(text)
  const others = sessions.filter((session) => !isStranger(session))
  const stepMs = Math.min(BETWEEN_BYES_MS, graceMs / 2 / Math.max(1, others.length))
  const startedAt = performance.now()
  for (const [nth, session] of others.entries()) {
    while (isReplaced() && performance.now() - startedAt < nth * stepMs) {
      await sleep(BETWEEN_BYES_MS)
    }
    session.end(text)
  }
}
