/**
 * How long a session waits for its client, and when it is cut off whatever it does.
 */

/** A stranger whose time is over is cut off after so many ms more: it has been told, but need not have read that. */
const LAST_WORDS_MS = 10_000

/** The deadlines of one session, in ms of the steady clock: a wall clock that is set would end all sessions, or none. */
export class Deadlines {
  #limits
  #openedAtMs
  /** Whether nobody has logged in yet. */
  #isStranger = true
  /** When the session is cut off although its command still runs. */
  #cutAtMs = Infinity

  /**
   * @param {Pick<import('./server-context.js').ImapServerContext['config']['imap'],
   *   'loginTimeoutMs' | 'inactivityTimeoutMs'>} limits
   * @param {number} openedAtMs
   */
  constructor(limits, openedAtMs) {
    this.#limits = limits
    this.#openedAtMs = openedAtMs
  }

  /** To be called when somebody has logged in. */
  noteLogin() {
    this.#isStranger = false
  }

  /**
   * @param {number} nowMs
   * @returns {number} when a client that says nothing is sent away
   */
  ofSilence(nowMs) {
    const { loginTimeoutMs, inactivityTimeoutMs } = this.#limits
    return this.#isStranger ? this.#openedAtMs + loginTimeoutMs : nowMs + inactivityTimeoutMs
  }

  /** @param {number} atMs - when the session is cut off at the latest */
  cutAt(atMs) {
    this.#cutAtMs = Math.min(this.#cutAtMs, atMs)
  }

  /**
   * @param {number} nowMs
   * @returns {boolean} whether the session is cut off: a stranger may never read, or never stop sending
   */
  isOver(nowMs) {
    if (nowMs > this.#cutAtMs) return true
    const { loginTimeoutMs } = this.#limits
    return this.#isStranger && nowMs > this.#openedAtMs + loginTimeoutMs + LAST_WORDS_MS
  }
}
