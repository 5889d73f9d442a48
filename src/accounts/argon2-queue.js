/**
 * All argon2 of a process, in one queue: each derivation takes tens of MiB and a core, and shares libuv's
 * pool with the syncs that acknowledge mail. Whoever finds the queue full is told to come back.
 *
 * Whoever was right before from where they ask goes first, and finds room where strangers have filled the queue; whoever goes
 * on being wrong there goes last. So guessing keeps nobody else waiting for longer than the derivations that have begun. A client
 * that has gone before its turn costs no derivation.
 */
import { availableParallelism } from 'node:os'
import PQueue from 'p-queue'
import { MailError } from '../errors.js'
import { argon2id, requireStrongEnough } from '../crypto/kdf.js'

/** @typedef {import('../crypto/kdf.js').Argon2Params} Argon2Params */

/**
 * @typedef {'known' | 'stranger' | 'guessing'} Standing - of a login: the name was right from there before; it was not; it was,
 *   and is wrong there again and again
 */

/**
 * @typedef {object} Asker - who waits for a derivation
 * @property {boolean} isClosed - whether they may have gone
 * @property {AbortSignal} closeSignal - aborts when they have gone; asked for only where they have to wait
 */

/** @type {Readonly<Record<Standing, number>>} */
const PRIORITIES = Object.freeze({ known: 1, stranger: 0, guessing: -1 })

/** Runs argon2id with bounded concurrency and a bounded queue. */
export class Argon2Queue {
  #queue
  #queueLength
  #derivations = 0

  /**
   * @param {object} options
   * @param {Argon2Params} options.params - the current ones: of new credentials, and of attempts on unknown accounts
   * @param {number} [options.concurrency] - derivations at once; 0 (the default) means one for each core
   * @param {number} [options.queueLength] - derivations of each standing that may wait
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
   * @param {Standing} [input.standing] - default: a stranger's
   * @param {Asker | undefined} [input.asker]
   * @returns {Promise<import('../crypto/secret-buffer.js').SecretBuffer>} 32 bytes
   * @throws {MailError} THROTTLED where the queue is full; and the signal's reason where the asker has gone before it began
   */
  async stretch({ password, salt, params = this.params, standing = 'stranger', asker }) {
    if (asker?.isClosed) asker.closeSignal.throwIfAborted()
    const priority = PRIORITIES[standing]
    if (this.#queue.sizeBy({ priority }) >= this.#queueLength) {
      throw new MailError('THROTTLED', { detail: 'the argon2 queue is full' })
    }
    const wait = this.#queue.pending < this.#queue.concurrency ? null : asker && waitOf(asker)
    return this.#queue.add(
      () => {
        wait?.end()
        this.#derivations++
        return argon2id({ password, salt, params })
      },
      { priority, ...(wait && { signal: wait.signal }) }
    )
  }
}

/**
 * When a signal aborts, the queue would let go of a running derivation as well; but that goes on, and reads the password.
 *
 * @param {Asker} asker
 * @returns {{ signal: AbortSignal, end: () => void }} `signal` aborts when the asker goes before `end`
 */
function waitOf({ closeSignal }) {
  const waiting = new AbortController()
  const leave = () => waiting.abort(closeSignal.reason)
  closeSignal.addEventListener('abort', leave, { once: true })
  return {
    signal: waiting.signal,
    end: () => closeSignal.removeEventListener('abort', leave)
  }
}
