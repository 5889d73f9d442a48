/**
 * Who may come in: bounds on the connections of the process and of each address.
 */
import { addressKey } from '../../support/address-key.js'

/** @import { ImapConfig } from './server-context.js' */

/**
 * At most so many refused connections at a time are told why; others are closed without a word. Without this bound, those that
 * finish no handshake, or do not go, would take the descriptors that the limits are to keep.
 */
const MAX_REFUSED = 100

/**
 * @typedef {object} Entry - of one connection, from its first packet
 * @property {string | null} refusal - what the client is told instead of being served; null where it is served
 * @property {() => void} leave - to be called once, when the connection is closed
 */

/** Counts the open connections, and decides on each new one. */
export class Admission {
  /** @type {Map<string, number>} */
  #perAddress = new Map()
  /** Refused connections that are still open. */
  #refused = 0
  #bounds
  #isExempt
  #shareOf
  #admits

  /**
   * @param {object} options
   * @param {Pick<ImapConfig['imap'], 'maxConnections' | 'maxConnectionsPerAddress'>} options.bounds
   * @param {(address: string) => boolean} options.isExempt - from the bound of an address
   * @param {(limit: number) => number} options.shareOf - of a limit for all workers: this one's
   * @param {() => boolean} options.admits - whether the process can bear one more session
   */
  constructor({ bounds, isExempt, shareOf, admits }) {
    this.#bounds = bounds
    this.#isExempt = isExempt
    this.#shareOf = shareOf
    this.#admits = admits
  }

  /**
   * Counts a connection before its handshake, because connections that never finish one must count, too.
   *
   * @param {string} remoteAddress - the client's
   * @param {{ connections: number, isClosing: boolean }} state - of the server
   * @returns {Entry | null} null: it is to be closed without a word
   */
  enter(remoteAddress, state) {
    const key = addressKey(remoteAddress)
    const refusal = this.#refusal(remoteAddress, key, state)
    const isRefused = refusal !== null
    if (isRefused && this.#refused >= MAX_REFUSED) return null
    if (isRefused) this.#refused++
    this.#perAddress.set(key, (this.#perAddress.get(key) ?? 0) + 1)
    const leave = () => {
      if (isRefused) this.#refused--
      const left = (this.#perAddress.get(key) ?? 1) - 1
      if (left === 0) this.#perAddress.delete(key)
      else this.#perAddress.set(key, left)
    }
    return { refusal, leave }
  }

  /**
   * @param {string} remoteAddress
   * @param {string} key - of it
   * @param {{ connections: number, isClosing: boolean }} state
   * @returns {string | null}
   */
  #refusal(remoteAddress, key, { connections, isClosing }) {
    const { maxConnections, maxConnectionsPerAddress } = this.#bounds
    if (isClosing) return 'The server is shutting down'
    if (connections >= maxConnections) return 'Too many connections'
    if (!this.#admits()) return 'The server is busy beyond its means, come back later'
    if (this.#isExempt(remoteAddress)) return null
    const isTooMany = (this.#perAddress.get(key) ?? 0) >= this.#shareOf(maxConnectionsPerAddress)
    return isTooMany ? 'Too many connections from this address' : null
  }
}
