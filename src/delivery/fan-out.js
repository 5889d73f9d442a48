/**
 * One message, several recipients: the stream is read once, and each piece is sealed for every recipient
 * before the next is asked for. The slowest disk write thus holds back the sender, and no more than one
 * piece a recipient waits in memory. A failure for one recipient stops the delivery to that one alone.
 */

import { isTurnSpent, nextTurn } from '../support/turns.js'
import { gathered } from './gathered.js'
import { LmtpRefusal, REFUSALS } from './lmtp-reply.js'
import { SpoolWriter } from './spool-writer.js'

/** @typedef {import('./spool-format.js').SpoolEnvelope} SpoolEnvelope */

/**
 * @typedef {object} Destination
 * @property {string} spoolFolder
 * @property {Buffer} publicKey
 * @property {SpoolEnvelope} envelope
 * @property {Buffer} headers - for this recipient alone; they go before the message
 */

/**
 * @template {Destination} D
 * @typedef {object} Outcome
 * @property {D} destination
 * @property {unknown} error - null where the message lies in the spool, durably
 * @property {number} bytes - of the spool file
 */

/**
 * @template {Destination} D
 * @param {object} options
 * @param {readonly D[]} options.destinations
 * @param {AsyncIterable<Buffer>} options.message - read to its end whatever happens, unless it fails itself
 * @param {number} options.maxBytes - longest message, without our headers
 * @param {(destination: D, messageBytes: number) => Promise<void>} options.beforeFinish - throws where
 *   the recipient must not have the message after all
 * @param {(error: unknown) => void} options.onAbortFailed - called where a file stays in tmp/
 * @returns {Promise<Outcome<D>[]>} in the order of `destinations`
 * @throws {Error} what the message's stream threw; nothing is left in any spool then
 */
export async function fanOut({ destinations, message, maxBytes, beforeFinish, onAbortFailed }) {
  const branches = destinations.map((destination) => new Branch(destination, onAbortFailed))
  /** @param {(branch: Branch<D>) => Promise<void>} step */
  const onEach = (step) => Promise.all(branches.map((branch) => branch.attempt(step)))
  try {
    await onEach((branch) => branch.open())
    let bytes = 0
    for await (const chunk of gathered(message)) {
      bytes += chunk.length
      if (bytes > maxBytes) {
        await onEach(() => Promise.reject(new LmtpRefusal(REFUSALS.messageTooBig)))
      } else await onEach((branch) => branch.write(chunk))
    }
    await onEach(async (branch) => {
      await beforeFinish(branch.outcome.destination, bytes)
      await branch.finish()
    })
  } catch (error) {
    await onEach(() => Promise.reject(error))
    throw error
  }
  return branches.map((branch) => branch.outcome)
}

/**
 * One recipient's file.
 *
 * @template {Destination} D
 */
class Branch {
  /** @type {SpoolWriter | null} null before the file is open, and once it is finished or removed */
  #writer = null
  #hasFailed = false
  #onAbortFailed

  /**
   * @param {D} destination
   * @param {(error: unknown) => void} onAbortFailed
   */
  constructor(destination, onAbortFailed) {
    this.#onAbortFailed = onAbortFailed
    /** @type {Outcome<D>} */
    this.outcome = { destination, error: null, bytes: 0 }
  }

  /**
   * Takes the step unless an earlier one failed. A failure removes the file, and its error is kept for the reply.
   *
   * @param {(branch: this) => Promise<void>} step
   */
  async attempt(step) {
    if (this.#hasFailed) return
    // Sealing for hundreds of recipients takes some hundred milliseconds.
    if (isTurnSpent()) await nextTurn()
    try {
      await step(this)
    } catch (error) {
      this.#hasFailed = true
      this.outcome.error = error
      await this.#abort()
    }
  }

  async open() {
    const { spoolFolder, publicKey, envelope, headers } = this.outcome.destination
    this.#writer = await SpoolWriter.open({ spoolFolder, publicKey, envelope })
    await this.#writer.write(headers)
  }

  /** @param {Buffer} chunk */
  async write(chunk) {
    await this.#writer?.write(chunk)
  }

  async finish() {
    if (this.#writer === null) return
    const { bytes } = await this.#writer.finish()
    this.#writer = null
    this.outcome.bytes = bytes
  }

  async #abort() {
    const writer = this.#writer
    this.#writer = null
    try {
      await writer?.abort()
    } catch (error) {
      this.#onAbortFailed(error)
    }
  }
}
