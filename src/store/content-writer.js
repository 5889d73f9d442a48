/**
 * Takes in the bytes of one message as they arrive: hash, compressed chunks and MIME structure in one pass. A message
 * up to KEPT_BYTES stays in memory until its own transaction; the chunks of a larger one go into the encrypted file one
 * by one as staged content, so that no message lies in memory as a whole and none in a file in the clear.
 */
import { createHash } from 'node:crypto'
import { MailError } from '../errors.js'
import { buildMessageMeta } from '../mime/message-meta.js'
import { MessageParser } from '../mime/parse-message.js'
import { prepared } from '../database/statement.js'
import {
  CHUNK_BYTES,
  decodeChunk,
  longChunkBytes,
  packChunk,
  releaseBuffer
} from './chunk-codec.js'
import { giveRoomBack, takeRoom } from './chunk-rooms.js'
import {
  LEAVE_PAGE,
  insertChunks,
  insertContent,
  leaveContent,
  readChunk,
  touchStaged
} from './content-rows.js'
import { inPages } from './in-pages.js'
import { MAX_CHUNK } from './row-ids.js'
import { StagedContent } from './staged-content.js'

/**
 * @typedef {import('./account-database.js').AccountDatabase} AccountDatabase
 * @typedef {import('./chunk-codec.js').EncodedChunk} EncodedChunk
 */

const NOTHING = Buffer.alloc(0)

/** Raw bytes that are kept until the message's own transaction. */
const KEPT_BYTES = 256 * 1024

/** Receives one message. */
export class ContentWriter {
  #database
  #maxBytes
  #hash = createHash('sha256')
  #parser = new MessageParser()
  #size = 0
  #sizeHint
  #keptBytes
  #isAlone
  /**
   * Where what comes next is filled in: all of a message of one chunk, some chunks of a longer one; null while there is
   * none.
   *
   * @type {Buffer | null}
   */
  #room = null
  #filled = 0
  /** Raw bytes in each chunk but the last. */
  #chunkBytes = CHUNK_BYTES
  /** @type {EncodedChunk[]} */
  #chunks = []
  #writtenChunks = 0
  /** @type {number | null} */
  #contentId = null
  #isOver = false

  /**
   * @param {object} options
   * @param {AccountDatabase} options.database
   * @param {number} options.maxBytes - a larger message is refused
   * @param {number} [options.sizeHint] - bytes that are expected, to take no more memory than needed
   * @param {number} [options.keptBytes] - a message of more goes into the file at once; 0 for one of many whose own
   *   transaction is far away
   * @param {boolean} [options.isAlone] - whether the message seems to come alone: if it is small, its envelope and the like
   *   are then made only when somebody asks for them
   */
  constructor({
    database,
    maxBytes,
    sizeHint = CHUNK_BYTES,
    keptBytes = KEPT_BYTES,
    isAlone = false
  }) {
    this.#database = database
    this.#maxBytes = maxBytes
    this.#sizeHint = sizeHint
    this.#keptBytes = keptBytes
    this.#isAlone = isAlone
  }

  /**
   * @param {Buffer} chunk - any number of bytes; not kept
   * @returns {Promise<void>} when the next may come
   * @throws {MailError} TOO_BIG, and what a write may throw; the writer is then aborted. CANNOT once it is
   */
  async write(chunk) {
    if (this.#isOver) throw new MailError('CANNOT', { detail: 'content is complete' })
    try {
      this.#size += chunk.length
      if (this.#size > this.#maxBytes) throw new MailError('TOO_BIG')
      this.#hash.update(chunk)
      for (let offset = 0; offset < chunk.length;) {
        // With the first byte behind them it is known to be a long one.
        if (this.#filled === CHUNK_BYTES) {
          this.#parser.push(this.#received)
          await this.#finishChunks({ isLong: true })
        }
        offset += this.#fill(chunk, offset)
      }
    } catch (error) {
      await this.#giveUp()
      throw error
    }
  }

  /**
   * @returns {Promise<StagedContent>} for one message of `appendMessages`
   * @throws {MailError} as `write`
   */
  async finish() {
    if (this.#isOver) throw new MailError('CANNOT', { detail: 'content is complete' })
    try {
      const rest = this.#received
      if (this.#filled > 0) await this.#finishChunks({ isLong: false })
      const content = new StagedContent({
        size: this.#size,
        hash: this.#hash.digest(),
        contentId: this.#contentId,
        chunks: this.#chunks,
        chunkCount: this.#writtenChunks,
        chunkBytes: this.#chunkBytes,
        meta: this.#isAlone && this.#isOneChunkHere ? null : this.#makeMeta(rest)
      })
      this.#isOver = true
      this.#leaveRoom()
      return content
    } catch (error) {
      await this.#giveUp()
      throw error
    }
  }

  /**
   * The bytes that were received, once more.
   *
   * @returns {AsyncGenerator<Buffer, void>} in their order; only between `finish` and `abort`
   */
  async *read() {
    const contentId = this.#contentId
    const chunkSize = this.#chunkBytes
    const shape = { size: this.#size, chunkSize }
    const staged = contentId === null ? 0 : this.#writtenChunks
    for (let sequence = 0; sequence < staged; sequence++) {
      yield await this.#database.readSettled((db) =>
        readChunk(db, /** @type {number} */ (contentId), sequence, shape)
      )
    }
    for (const [index, { codec, data }] of this.#chunks.entries()) {
      const before = (staged + index) * chunkSize
      yield decodeChunk(codec, data, Math.min(chunkSize, this.#size - before))
    }
  }

  /**
   * Gives up what was received. After the content has become part of a message it does no harm: the sweep deletes
   * only what no message refers to.
   */
  async abort() {
    await abortWriters(this.#database, [this])
  }

  /**
   * Gives up what is in memory.
   *
   * @returns {number | null} the staged rows, the caller's to give up; null when there are none
   */
  letGo() {
    this.#isOver = true
    this.#leaveRoom()
    this.#chunks = []
    const contentId = this.#contentId
    this.#contentId = null
    return contentId
  }

  /** After a failure, which is what the caller must hear of: what cannot be left now, the sweep finds in an hour. */
  async #giveUp() {
    await this.abort().catch(() => {})
  }

  /**
   * @param {Buffer} chunk
   * @param {number} offset
   * @returns {number} bytes taken
   */
  #fill(chunk, offset) {
    const wanted = Math.min(chunk.length - offset, CHUNK_BYTES - this.#filled)
    let room = (this.#room ??= takeRoom(this.#sizeHint))
    if (this.#filled + wanted > room.length) {
      // The hint was too low.
      room = takeRoom(CHUNK_BYTES)
      this.#room.copy(room, 0, 0, this.#filled)
      this.#leaveRoom()
      this.#room = room
    }
    chunk.copy(room, this.#filled, offset, offset + wanted)
    this.#filled += wanted
    return wanted
  }

  /** @returns {Buffer} what is in the room */
  get #received() {
    return this.#room === null ? NOTHING : this.#room.subarray(0, this.#filled)
  }

  /** @returns {boolean} whether nothing of the message has been packed yet */
  get #isFirst() {
    return this.#chunks.length === 0 && this.#writtenChunks === 0
  }

  /** @returns {boolean} whether all of the message is one chunk, which is not in the file */
  get #isOneChunkHere() {
    return this.#chunks.length === 1 && this.#writtenChunks === 0
  }

  /**
   * @param {Buffer} rest - what the parser has not seen
   * @returns {import('../mime/message-meta.js').MessageMeta}
   */
  #makeMeta(rest) {
    this.#parser.push(rest)
    return buildMessageMeta(this.#parser.end())
  }

  #leaveRoom() {
    if (this.#room) giveRoomBack(this.#room, Math.min(this.#size, CHUNK_BYTES))
    this.#room = null
  }

  /**
   * Packs what is in the room: whole chunks, or what is left of the message.
   *
   * @param {{ isLong: boolean }} more - whether more comes
   */
  async #finishChunks({ isLong }) {
    const received = this.#received
    if (this.#chunkBytes === CHUNK_BYTES) {
      const chunk = packChunk(received)
      if (isLong && this.#isFirst) this.#chunkBytes = longChunkBytes(chunk.data.length)
      if (this.#chunkBytes === CHUNK_BYTES) this.#chunks.push(chunk)
      else releaseBuffer(chunk.data)
    }
    if (this.#chunkBytes < CHUNK_BYTES) {
      for (let start = 0; start < received.length; start += this.#chunkBytes)
        this.#chunks.push(packChunk(received.subarray(start, start + this.#chunkBytes)))
    }
    this.#filled = 0
    if (this.#writtenChunks + this.#chunks.length > MAX_CHUNK) throw new MailError('TOO_BIG')
    if (this.#size > this.#keptBytes) await this.#writeChunks()
  }

  async #writeChunks() {
    const chunks = this.#chunks
    const firstSequence = this.#writtenChunks
    const known = this.#contentId
    const size = this.#size
    const chunkBytes = this.#chunkBytes
    const nowMs = this.#database.clock.nowMs()
    // Nobody is promised anything yet, so this waits for no disk.
    this.#contentId = await this.#database.write(
      (db) => {
        const id = known ?? insertContent(db, { hash: null, size, chunkBytes, stagedAtMs: nowMs })
        // A slow sender's content is not taken for an abandoned one.
        if (known !== null) touchStaged(db, { contentId: id, size, nowMs })
        insertChunks(db, id, firstSequence, chunks)
        return id
      },
      { isLazy: true }
    )
    this.#writtenChunks += chunks.length
    this.#chunks = []
    for (const { data } of chunks) releaseBuffer(data)
  }
}

/**
 * Gives up many at once, a page in one transaction, and lets others have their turn between those.
 *
 * @param {AccountDatabase} database - of all of them
 * @param {readonly ContentWriter[]} writers
 * @returns {Promise<void>}
 */
export async function abortWriters(database, writers) {
  const ids = writers.map((writer) => writer.letGo()).filter((id) => id !== null)
  await inPages(ids, { pageSize: LEAVE_PAGE }, async (page) => {
    if (database.hasFailed || database.closing.aborted) return
    await database.write((db) => page.forEach((id) => leaveUnlessUsed(db, id)), { isLazy: true })
  })
}

/**
 * @param {import('better-sqlite3-multiple-ciphers').Database} db
 * @param {number} contentId
 */
function leaveUnlessUsed(db, contentId) {
  const isStaged = prepared(
    db,
    'SELECT 1 FROM contents WHERE id = ? AND staged_at IS NOT NULL',
    'value'
  ).get(contentId)
  if (isStaged !== undefined) leaveContent(db, contentId)
}
