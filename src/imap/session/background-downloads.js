/**
 * Sessions in which a mail program fills its store while nobody waits for it, as it says with ID: so many at a time, because
 * after an update all of them may do so at once.
 */

/** @import { Session } from './session.js' */

/** The downloads of this process. */
export class BackgroundDownloads {
  /**
   * Those of strangers too, who may log in.
   *
   * @type {Set<Pick<Session, 'accountId'>>}
   */
  #sessions = new Set()
  #mostOf
  #admits

  /**
   * @param {object} options
   * @param {() => number} options.mostOf - how many this process may have
   * @param {() => boolean} options.admits - whether it can bear one more session
   */
  constructor({ mostOf, admits }) {
    this.#mostOf = mostOf
    this.#admits = admits
  }

  /** @returns {number} sessions that are logged in: strangers take the room of nobody */
  get count() {
    return [...this.#sessions].filter(({ accountId }) => accountId !== null).length
  }

  /**
   * @param {Pick<Session, 'accountId'>} session - that has not begun, or has ended
   * @returns {boolean} whether there is room for it
   */
  begin(session) {
    if (this.count >= this.#mostOf() || !this.#admits()) return false
    this.#sessions.add(session)
    return true
  }

  /** @param {Pick<Session, 'accountId'>} session - that asks for something else now, or goes; or has not begun */
  end(session) {
    this.#sessions.delete(session)
  }
}
