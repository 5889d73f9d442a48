/**
 * A complete content that no message refers to yet.
 *
 * What is made of a message (ENVELOPE, BODYSTRUCTURE and the like) takes as long as compressing it, and nobody asks for it
 * before the message is durable. Of one that comes alone it is made while its commit is on the way to the disk: the event
 * loop has nothing else to do then, and the client waits that much less.
 *
 *     last byte ── compress ── COMMIT ── fdatasync ──────────► OK
 *                                        └─ what is made of it
 */
import { buildMessageMeta, metaBytes } from '../mime/message-meta.js'

/**
 * @typedef {import('./chunk-codec.js').EncodedChunk} EncodedChunk
 * @typedef {import('../mime/message-meta.js').MessageMeta} MessageMeta
 * @typedef {import('../mime/parse-message.js').ParsedMessage} ParsedMessage
 */

/** What the objects around a content take, with the texts that are compared. */
const OBJECT_BYTES = 2048

/** What a ContentWriter has received. */
export class StagedContent {
  /** @type {MessageMeta | null} */
  #meta = null
  /**
   * Until it has been called.
   *
   * @type {(() => ParsedMessage) | null}
   */
  #parse

  /**
   * @param {object} parts
   * @param {number} parts.size - bytes
   * @param {Buffer} parts.hash - SHA-256
   * @param {number | null} parts.contentId - of the staged rows; null when all chunks are here
   * @param {readonly EncodedChunk[]} parts.chunks - those that are not in the file yet
   * @param {number} parts.chunkCount - chunks that are in the file
   * @param {() => ParsedMessage} parts.parse - called once
   * @param {boolean} parts.isLate - whether `parse` may wait for the end of this turn of the event loop
   */
  constructor({ size, hash, contentId, chunks, chunkCount, parse, isLate }) {
    this.size = size
    this.hash = hash
    this.contentId = contentId
    this.chunks = chunks
    this.chunkCount = chunkCount
    this.#parse = parse
    if (isLate) setImmediate(() => this.tryMeta())
    else this.#make()
  }

  /** @returns {MessageMeta} what is made of the message */
  get meta() {
    if (this.#meta === null) this.#make()
    return /** @type {MessageMeta} */ (this.#meta)
  }

  /**
   * The same of a message that is in the file: what fails here fails for whoever reads the message, and takes nothing
   * with it that has been promised.
   *
   * @returns {MessageMeta | null}
   */
  tryMeta() {
    try {
      return this.meta
    } catch {
      return null
    }
  }

  #make() {
    const parse = this.#parse
    if (parse === null) throw new TypeError('The message could not be read before')
    this.#parse = null
    this.#meta = buildMessageMeta(parse())
  }

  /** @returns {number} bytes that it takes in memory, about */
  get heldBytes() {
    const metaOrRaw = this.#meta === null ? this.size : metaBytes(this.#meta)
    return this.chunks.reduce((sum, { data }) => sum + data.length, metaOrRaw + OBJECT_BYTES)
  }
}
