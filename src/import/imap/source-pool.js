/**
 * A few connections to the source, made when they are needed. Work that fails because its connection went away is tried again
 * on a new one; a refusal of the server is the caller's to report.
 */
import { setTimeout as sleepFor } from 'node:timers/promises'
import { MailError } from '../../errors.js'
import { SourceConnection } from './source-connection.js'

/** @typedef {import('./source-connection.js').SourceLogin} SourceLogin */

/** The waits, in ms, before each try after the first. */
const RETRY_MS = [500, 1000, 2000, 4000, 8000]

/** Errors of imapflow and of Node that are about the way to the server, not about the command. */
const TROUBLE = new Set([
  ...['NoConnection', 'EConnectionClosed', 'StateLogout', 'ClosedAfterConnectText'],
  ...['ClosedAfterConnectTLS', 'CONNECT_TIMEOUT', 'GREETING_TIMEOUT', 'UPGRADE_TIMEOUT'],
  ...['ETIMEOUT', 'ECONNRESET', 'ECONNREFUSED', 'ECONNABORTED', 'EPIPE'],
  ...['ETIMEDOUT', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH', 'ENETDOWN']
])

/** The connections of one account. */
export class SourcePool {
  #login
  #connect
  #retryMs
  #limit
  #count = 0
  /** Failures to connect, one after the other, that may pass. */
  #troubles = 0
  /** Until then no further connection is tried: those that are there must do. */
  #restsUntilMs = Number.NEGATIVE_INFINITY
  #hasConnected = false
  /** @type {SourceConnection[]} */
  #idle = []
  /** @type {(() => void)[]} */
  #waiting = []

  /**
   * @param {object} options
   * @param {SourceLogin} options.login
   * @param {number} options.connections - at most
   * @param {(login: SourceLogin) => Promise<SourceConnection>} [options.connect]
   * @param {readonly number[]} [options.retryMs] - waits before each further try
   */
  constructor({
    login,
    connections,
    connect = (given) => SourceConnection.connect(given),
    retryMs = RETRY_MS
  }) {
    this.#login = login
    this.#connect = connect
    this.#retryMs = retryMs
    this.#limit = connections
  }

  /** @returns {number} connections that may be busy at once: fewer than wished for where the server permits no more */
  get size() {
    return this.#limit
  }

  /**
   * @template T
   * @param {string | null} path - the folder that the work is about; a connection that has it open is preferred
   * @param {(connection: SourceConnection) => Promise<T>} work - may run again from its start
   * @returns {Promise<T>}
   * @throws what the source refuses; the last failure when it cannot be reached
   */
  async run(path, work) {
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.#once(path, work)
      } catch (error) {
        const waitMs = this.#retryMs[attempt]
        // A server that has never answered is more likely misspelt than restarting.
        const mayRetry = this.#hasConnected && isConnectionTrouble(error)
        if (waitMs === undefined || !mayRetry) throw error
        await sleepFor(waitMs)
      }
    }
  }

  /** Ends all connections; nothing may be running. */
  async close() {
    await Promise.all(this.#idle.splice(0).map((connection) => connection.close()))
  }

  /**
   * @template T
   * @param {string | null} path
   * @param {(connection: SourceConnection) => Promise<T>} work
   * @returns {Promise<T>}
   */
  async #once(path, work) {
    const connection = await this.#take(path)
    try {
      return await work(connection)
    } finally {
      await this.#giveBack(connection)
    }
  }

  /**
   * @param {string | null} path
   * @returns {Promise<SourceConnection>}
   */
  async #take(path) {
    for (;;) {
      const usable = this.#idle.filter(({ isUsable }) => isUsable)
      this.#count -= this.#idle.length - usable.length
      this.#idle = usable
      const chosen = usable.find((connection) => connection.path === path) ?? usable[0]
      if (chosen) {
        this.#idle.splice(this.#idle.indexOf(chosen), 1)
        return chosen
      }
      const mayMake = this.#count === 0 || performance.now() >= this.#restsUntilMs
      if (this.#count < this.#limit && mayMake) {
        const made = await this.#make()
        if (made) return made
        // Looked for again: a connection may have been given back meanwhile, while nobody was waiting.
        continue
      }
      await new Promise((resolve) => this.#waiting.push(() => resolve(undefined)))
    }
  }

  /**
   * @returns {Promise<SourceConnection | null>} null where the server permits no further connection, or none can be made at the
   *   moment: those that are there must do
   */
  async #make() {
    this.#count++
    try {
      const connection = await this.#connect(this.#login)
      this.#hasConnected = true
      this.#troubles = 0
      return connection
    } catch (error) {
      this.#count--
      this.#waiting.shift()?.()
      if (this.#count === 0) throw error
      if (isConnectionTrouble(error)) this.#rest()
      else this.#limit = this.#count
      return null
    }
  }

  /** Some servers drop the connections that they do not permit, which looks like trouble: the next try is put off ever longer. */
  #rest() {
    const restMs = this.#retryMs[this.#troubles] ?? this.#retryMs.at(-1) ?? Infinity
    this.#troubles++
    this.#restsUntilMs = performance.now() + restMs
  }

  /** @param {SourceConnection} connection */
  async #giveBack(connection) {
    if (connection.isUsable) this.#idle.push(connection)
    else this.#count--
    this.#waiting.shift()?.()
  }
}

/**
 * @param {unknown} error
 * @returns {boolean} whether another connection may fare better
 */
export function isConnectionTrouble(error) {
  if (error instanceof MailError) return false
  const { code, responseStatus, authenticationFailed } =
    /** @type {import('imapflow').ImapFlowError} */ (error)
  // ETHROTTLE is a refusal for now, of any command, which imapflow knows by its text.
  if (code === 'ETHROTTLE') return true
  if (authenticationFailed || responseStatus === 'NO' || responseStatus === 'BAD') return false
  return typeof code === 'string' && TROUBLE.has(code)
}
