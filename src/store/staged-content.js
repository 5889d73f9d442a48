/**
 * A complete content that no message refers to yet.
 *
 * What is made of a message (ENVELOPE, BODYSTRUCTURE and the like) takes longer than compressing it, and of most messages
 * that come one by one nobody asks for it before the search index reads them. Of these nothing is made here: whoever asks
 * first has it made (read-messages.js), or the index does, for many at once and in a thread (search/index-job.js).
 */
import { buildMessageMeta, metaBytes } from '../mime/message-meta.js'
import { parseMessage } from '../mime/parse-message.js'
import { decodeChunk, releaseBuffer } from './chunk-codec.js'

/**
 * @typedef {import('./chunk-codec.js').EncodedChunk} EncodedChunk
 * @typedef {import('../mime/message-meta.js').MessageMeta} MessageMeta
 */

/** What the objects around a content take, with the texts that are compared. */
const OBJECT_BYTES = 2048

/** What a ContentWriter has received. */
export class StagedContent {
  #meta

  /**
   * @param {object} parts
   * @param {number} parts.size - bytes
   * @param {Buffer} parts.hash - SHA-256
   * @param {number | null} parts.contentId - of the staged rows; null when all chunks are here
   * @param {readonly EncodedChunk[]} parts.chunks - those that are not in the file yet
   * @param {number} parts.chunkCount - chunks that are in the file
   * @param {number} parts.chunkBytes - raw bytes in each of them but the last
   * @param {MessageMeta | null} parts.meta - null: the only chunk is here, of which it can be made
   */
  constructor({ size, hash, contentId, chunks, chunkCount, chunkBytes, meta }) {
    this.size = size
    this.hash = hash
    this.contentId = contentId
    this.chunks = chunks
    this.chunkCount = chunkCount
    this.chunkBytes = chunkBytes
    this.#meta = meta
  }

  /** @returns {MessageMeta | null} what is made of the message; null when nobody has asked for it yet */
  get madeMeta() {
    return this.#meta
  }

  /** @returns {MessageMeta} what is made of the message */
  get meta() {
    return this.make()
  }

  /**
   * To be called when the message has not come alone after all.
   *
   * @returns {MessageMeta}
   */
  make() {
    return (this.#meta ??= this.#build())
  }

  #build() {
    const { codec, data } = /** @type {EncodedChunk} */ (this.chunks[0])
    const raw = decodeChunk(codec, data, this.size)
    try {
      return buildMessageMeta(parseMessage(raw))
    } finally {
      if (raw !== data) releaseBuffer(raw)
    }
  }

  /** @returns {number} bytes that it takes in memory, about */
  get heldBytes() {
    const meta = this.#meta === null ? 0 : metaBytes(this.#meta)
    return this.chunks.reduce((sum, { data }) => sum + data.length, meta + OBJECT_BYTES)
  }
}
