/**
 * Who is logged in to the page: in memory only, so a restart of the server ends all sessions. A session holds no password and
 * no key, only which account it is and which credential has opened it.
 *
 * A browser's next request may come to another worker than the one that it has logged in to. A session stays in the worker
 * that has made it, and the others ask for it.
 */
import { createHash, randomBytes } from 'node:crypto'

/** At most so many sessions of one account, in each worker; one more ends the oldest. */
const MAX_PER_ACCOUNT = 20
/** At most so many of all accounts, some 500 bytes each. */
const MAX_SESSIONS = 20_000

/**
 * @typedef {object} PageSession - plain data, since it crosses to other workers
 * @property {string} key - SHA-256 of its id, which the browser alone has
 * @property {string} accountId
 * @property {string} credentialId
 * @property {number} credentialVersion - with another one in the directory the session is over
 * @property {string} username - as typed at login: attempts are counted by it
 * @property {string} token - that the session's own forms carry
 * @property {string} remoteAddress
 * @property {number} startedAtMs
 * @property {number} usedAtMs
 *
 * @typedef {Pick<PageSession, 'accountId' | 'credentialId' | 'credentialVersion' | 'username' | 'remoteAddress'>} NewPageSession
 *
 * @typedef {{ op: 'use' | 'end', key: string } | { op: 'list', accountId: string }
 *   | { op: 'endOthers', accountId: string, key: string }} SessionQuestion
 */

/**
 * @param {string} id - as the browser sends it
 * @returns {string}
 */
export const keyOfSession = (id) => createHash('sha256').update(id).digest('base64url')

const newSecret = () => randomBytes(32).toString('base64url')

/** The sessions that were made in this worker. */
export class PageSessions {
  #clock
  #idleMs
  #maxMs
  #maxSessions
  /** @type {Map<string, PageSession>} oldest first */
  #sessions = new Map()

  /**
   * @param {object} options
   * @param {import('../support/clock.js').Clock} options.clock
   * @param {number} options.idleMs - a session ends after so long without a request
   * @param {number} options.maxMs - a session ends after so long in any case
   * @param {number} [options.maxSessions] - of all accounts
   */
  constructor({ clock, idleMs, maxMs, maxSessions = MAX_SESSIONS }) {
    this.#clock = clock
    this.#idleMs = idleMs
    this.#maxMs = maxMs
    this.#maxSessions = maxSessions
  }

  /**
   * @param {NewPageSession} facts
   * @returns {{ id: string, session: PageSession }} `id` is for the browser and kept nowhere
   */
  begin(facts) {
    const nowMs = this.#clock.nowMs()
    for (const session of this.#sessions.values()) this.#endIfOver(session, nowMs)
    const own = [...this.#sessions.values()].filter(
      ({ accountId }) => accountId === facts.accountId
    )
    const [oldest] = this.#sessions.values()
    if (own.length >= MAX_PER_ACCOUNT) this.end(own[0]?.key ?? '')
    else if (this.#sessions.size >= this.#maxSessions) this.end(oldest?.key ?? '')
    const id = newSecret()
    const times = { startedAtMs: nowMs, usedAtMs: nowMs }
    const session = { ...facts, ...times, key: keyOfSession(id), token: newSecret() }
    this.#sessions.set(session.key, session)
    return { id, session }
  }

  /**
   * @param {string} key
   * @returns {PageSession | null} the session, marked as used now; null: there is none, or it is over
   */
  use(key) {
    const session = this.#sessions.get(key)
    if (!session || this.#endIfOver(session, this.#clock.nowMs())) return null
    session.usedAtMs = this.#clock.nowMs()
    return session
  }

  /**
   * @param {string} key
   * @returns {boolean} whether there was such a session
   */
  end(key) {
    return this.#sessions.delete(key)
  }

  /**
   * @param {string} accountId
   * @returns {PageSession[]} oldest first
   */
  list(accountId) {
    const nowMs = this.#clock.nowMs()
    return [...this.#sessions.values()].filter(
      (session) => session.accountId === accountId && !this.#endIfOver(session, nowMs)
    )
  }

  /**
   * Answers what another worker asks.
   *
   * @param {SessionQuestion} question
   * @returns {PageSession | PageSession[] | boolean | number | null} for `endOthers`, how many there were
   */
  answer(question) {
    switch (question.op) {
      case 'use':
        return this.use(question.key)
      case 'end':
        return this.end(question.key)
      case 'list':
        return this.list(question.accountId)
      case 'endOthers': {
        const others = this.list(question.accountId).filter(({ key }) => key !== question.key)
        for (const { key } of others) this.end(key)
        return others.length
      }
    }
  }

  /**
   * @param {PageSession} session
   * @param {number} nowMs
   * @returns {boolean}
   */
  #endIfOver({ key, startedAtMs, usedAtMs }, nowMs) {
    // `Math.abs`, as a session from before the clock was set back would otherwise last until the clock is that late again.
    const isOver = Math.abs(nowMs - usedAtMs) >= this.#idleMs || nowMs - startedAtMs >= this.#maxMs
    if (isOver) this.end(key)
    return isOver
  }
}

/** The sessions of all workers, for any of them. */
export class SharedPageSessions {
  #own
  #ask

  /**
   * @param {PageSessions} own
   * @param {(question: SessionQuestion) => Promise<unknown[]>} ask - every worker, this one among them
   */
  constructor(own, ask) {
    this.#own = own
    this.#ask = ask
  }

  /**
   * @param {NewPageSession} facts
   * @returns {{ id: string, session: PageSession }}
   */
  begin(facts) {
    return this.#own.begin(facts)
  }

  /**
   * @param {string} key
   * @returns {Promise<PageSession | null>}
   */
  async use(key) {
    const own = this.#own.use(key)
    if (own) return own
    const answers = await this.#ask({ op: 'use', key })
    return /** @type {(PageSession | null)[]} */ (answers).find((answer) => answer !== null) ?? null
  }

  /** @param {string} key */
  async end(key) {
    if (!this.#own.end(key)) await this.#ask({ op: 'end', key })
  }

  /**
   * @param {string} accountId
   * @returns {Promise<PageSession[]>} oldest first
   */
  async list(accountId) {
    const answers = /** @type {PageSession[][]} */ (await this.#ask({ op: 'list', accountId }))
    return answers.flat().sort((left, right) => left.startedAtMs - right.startedAtMs)
  }

  /**
   * @param {PageSession} session - that stays, of all of its account
   * @returns {Promise<boolean>} whether there were others
   */
  async endOthers({ accountId, key }) {
    const ended = /** @type {number[]} */ (await this.#ask({ op: 'endOthers', accountId, key }))
    return ended.some((count) => count > 0)
  }
}
