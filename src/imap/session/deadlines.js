/**
 * How long a session waits for its client.
 */

/** A stranger whose time is over is cut off after so long: it has been told, but need not have read that. */
const LAST_WORDS_MS = 10_000

/** Of one session. Times are wall-clock times in ms. */
export class Deadlines {
  #limits
  #openedAtMs

  /**
   * @param {Pick<import('./server-context.js').ImapServerContext['config']['imap'],
   *   'loginTimeoutMs' | 'inactivityTimeoutMs'>} limits
   * @param {number} openedAtMs
   */
  constructor(limits, openedAtMs) {
    this.#limits = limits
    this.#openedAtMs = openedAtMs
  }

  /**
   * @param {number} nowMs
   * @param {boolean} isAuthenticated
   * @returns {number} when a client that says nothing is sent away
   */
  ofSilence(nowMs, isAuthenticated) {
    const { loginTimeoutMs, inactivityTimeoutMs } = this.#limits
    return isAuthenticated ? nowMs + inactivityTimeoutMs : this.#openedAtMs + loginTimeoutMs
  }

  /**
   * Whatever a stranger does: it may never read, or never stop to send.
   *
   * @param {number} nowMs
   * @returns {boolean} whether one that has not logged in is cut off
   */
  isStrangerOverdue(nowMs) {
    return nowMs > this.#openedAtMs + this.#limits.loginTimeoutMs + LAST_WORDS_MS
  }
}
