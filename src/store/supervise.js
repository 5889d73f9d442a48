/**
 * What an operator is told of an open mailbox, and how often.
 *
 * Failures of work that nobody waits for: those that were foreseen have reached `onAlert` through the database already, and
 * work that met a taken lock or the end of the store is done at the next occasion. Any other failure is a fault of the
 * program: the operator is told, and no session is ended for it.
 */
import { errorCodeOf } from '../database/sqlite-error.js'
import { MailError } from '../errors.js'

/**
 * @typedef {object} Alert
 * @property {import('../errors.js').ErrorCode | 'UNEXPECTED'} code
 * @property {string} detail - for the operator: no names, no content
 * @property {unknown} [err] - of UNEXPECTED, a fault of the program: where it is
 */

/**
 * @param {Promise<unknown>} work
 * @param {(alert: Alert) => void} onAlert
 */
export function supervise(work, onAlert) {
  work.catch((err) => {
    if (err instanceof MailError) return
    const detail = errorCodeOf(err) || (err instanceof Error ? err.name : typeof err)
    onAlert({ code: 'UNEXPECTED', detail, err })
  })
}

/** Of the same trouble the operator is told again after so long, milliseconds. */
const PAUSE_MS = 60_000

/**
 * A client may ask for a damaged message a thousand times a second.
 *
 * @param {(alert: Alert) => void} onAlert
 * @returns {(alert: Alert) => void} the same, of each code once in PAUSE_MS
 */
export function sparingly(onAlert) {
  /** @type {Map<Alert['code'], number>} */
  const toldAtMs = new Map()
  return (alert) => {
    const nowMs = performance.now()
    if (nowMs - (toldAtMs.get(alert.code) ?? -Infinity) < PAUSE_MS) return
    toldAtMs.set(alert.code, nowMs)
    onAlert(alert)
  }
}
