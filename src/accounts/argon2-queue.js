/**
 * All argon2 of a process, in one queue: each derivation takes tens of MiB and a core, and shares libuv's
 * pool with the syncs that acknowledge mail. What does not fit is told to come back.
 *
 * Whoever was right before from where they ask goes first, and finds room where strangers have filled the queue: guessing
 * keeps nobody waiting for longer than the derivations that have begun.
 */
import { availableParallelism } from 'node:os'
import PQueue from 'p-queue'
import { MailError } from '../errors.js'
import { argon2id, requireStrongEnough } from '../crypto/kdf.js'

/** @typedef {import('../crypto/kdf.js').Argon2Params} Argon2Params */

/** Runs argon2id with bounded concurrency and a bounded queue. */
export class Argon2Queue {
  #queue
  #queueLength
  #derivations = 0

  /**
   * @param {object} options
   * @param {Argon2Params} options.params - of new credentials, and of attempts on unknown accounts
   * @param {number} [options.concurrency] - derivations at once; 0 (the default) means one for each core
   * @param {number} [options.queueLength] - derivations that may wait, of those who are known and of strangers
   * @throws {RangeError} where the parameters are below the floor
   */
  constructor({ params, concurrency = 0, queueLength = 1000 }) {
    requireStrongEnough(params)
    this.params = Object.freeze({ ...params })
    this.#queue = new PQueue({ concurrency: concurrency || availableParallelism() })
    this.#queueLength = queueLength
  }

  /** @returns {{ running: number, waiting: number, derivations: number }} `derivations` counts from the start */
  get figures() {
    return {
      running: this.#queue.pending,
      waiting: this.#queue.size,
      derivations: this.#derivations
    }
  }

  /**
   * @param {object} input
   * @param {Uint8Array} input.password - must stay until the promise settles
   * @param {Uint8Array} input.salt - 16 bytes
   * @param {Argon2Params} [input.params] - the current ones unless told
   * @param {boolean} [input.isKnown] - whether a login of that name was right from that place before
   * @returns {Promise<import('../crypto/secret-buffer.js').SecretBuffer>} 32 bytes
   * @throws {MailError} THROTTLED where the queue is full
   */
  async stretch({ password, salt, params = this.params, isKnown = false }) {
    const priority = isKnown ? 1 : 0
    if (this.#queue.sizeBy({ priority }) >= this.#queueLength) {
      throw new MailError('THROTTLED', { detail: 'the argon2 queue is full' })
    }
    return this.#queue.add(
      () => {
        this.#derivations++
        return argon2id({ password, salt, params })
      },
      { priority }
    )
  }
}
