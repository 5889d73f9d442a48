/**
 * How much a session bears of a client that does not speak IMAP, or guesses passwords, before it ends.
 */

/** BADs before login: a stranger that does not speak IMAP. */
const MAX_BAD_BEFORE_LOGIN = 3
/** Consecutive BADs after login: a client gone mad, or text taken for commands. */
const MAX_BAD_AFTER_LOGIN = 20
/** Refused logins on one connection; the throttle slows them down, this makes guessing cost connections. */
const MAX_REFUSED_LOGINS = 10

/** Of one session. */
export class Strikes {
  #badCommands = 0
  #refusedLogins = 0
  #isLoggedIn = false

  /** A good login is the end of a stranger: bad commands count anew, and more are borne. */
  noteLogin() {
    this.#isLoggedIn = true
    this.#badCommands = 0
  }

  /**
   * @param {import('./error-response.js').Reply['status']} status - of the command that has just ended
   * @returns {boolean} whether that was one too many
   */
  countCommand(status) {
    if (status === 'BAD') this.#badCommands++
    else if (this.#isLoggedIn) this.#badCommands = 0
    return this.#badCommands >= (this.#isLoggedIn ? MAX_BAD_AFTER_LOGIN : MAX_BAD_BEFORE_LOGIN)
  }

  /** @returns {boolean} whether this refused login was one too many */
  countRefusedLogin() {
    return ++this.#refusedLogins >= MAX_REFUSED_LOGINS
  }
}
