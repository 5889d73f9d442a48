/**
 * Counts what a client does wrong, one that does not speak IMAP or guesses passwords, until its session ends.
 */

/** After so many BADs before login, the client is a stranger that does not speak IMAP. */
const MAX_BAD_BEFORE_LOGIN = 3
/** After so many consecutive BADs after login, the client has gone mad, or text is taken for commands. */
const MAX_BAD_AFTER_LOGIN = 20
/** One connection has at most so many refused logins: the throttle slows them down, this makes guessing cost connections. */
const MAX_REFUSED_LOGINS = 10

/** The strikes of one session. */
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
