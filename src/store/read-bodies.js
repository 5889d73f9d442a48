/**
 * Messages for FETCH of their bytes, by the shortest way: the view remembers where the bytes of a message are, so that one
 * walk down one b-tree finds them, and they are unpacked straight into the buffer that goes to the socket, or where what is
 * asked for of them is copied from.
 */
import { prepared } from '../database/statement.js'
import { BlockReader } from './block-reader.js'
import {
  CHUNK_BYTES,
  CODEC_RAW,
  CODEC_SHARED,
  releaseBuffer,
  unpackChunkInto
} from './chunk-codec.js'
import { unpackIfSound } from './content-rows.js'
import { LONG_BODY_BYTES, readLongBody } from './long-body.js'
import { readPartTree } from './read-part-tree.js'
import { chunkRowId, messageRowId } from './row-ids.js'
import { rememberRows } from './remember-contents.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./mailbox-view.js').MailboxView} MailboxView
 */

/** Packed bytes above which the rest is left to the next call. */
const BATCH_BYTES = 64 * 1024

/**
 * Messages whose place is looked up together: neighbours are on the same page of the b-tree, which costs more to decrypt
 * than some rows to read. A power of two.
 */
const NEIGHBOURS = 128

/**
 * Where the bytes of one message are while they are copied from: no memory is made for each.
 *
 * @type {Buffer | undefined}
 */
let scratch

/**
 * @typedef {object} BodyNeeds
 * @property {boolean} withTrees - whether parts are asked for
 * @property {boolean} withDates - whether INTERNALDATE is
 * @property {number} wholeBytes - a message of up to so many bytes is asked for as a whole, and once; 0: none is
 *
 * @typedef {{ epochSeconds: number, zoneMinutes: number }} ZonedDate
 */

/**
 * A whole message of some chunks, unpacked.
 *
 * @typedef {object} LongBody
 * @property {Buffer[]} pieces - nobody else's, nor the memory that they lie in
 * @property {number} size - raw bytes
 * @property {ZonedDate | null} internalDate
 */

/** A whole message of one chunk, still packed. */
export class StoredBody {
  #codec
  #data

  /**
   * @param {object} body
   * @param {number} body.codec
   * @param {Buffer} body.data
   * @param {number} body.size - raw bytes
   * @param {Buffer | null} body.partTree - of part-tree.js
   * @param {ZonedDate | null} body.internalDate
   */
  constructor({ codec, data, size, partTree, internalDate }) {
    this.#codec = codec
    this.#data = data
    this.size = size
    this.partTree = partTree
    this.internalDate = internalDate
  }

  /** @returns {number} bytes that it holds in memory */
  get heldBytes() {
    return this.#data.length
  }

  /**
   * It, or `unpack`, may be called once.
   *
   * @param {Buffer} target - with room for one byte more than `size`, which may be written too
   * @param {number} at
   * @param {number} [wanted] - of its first bytes; what is written behind them is worth nothing
   * @returns {boolean} false: it is damaged, and what was written is worth nothing
   */
  unpackInto(target, at, wanted = this.size) {
    const data = this.#data
    const isSound = unpackChunkInto(this.#codec, data, { target, at, size: this.size, wanted })
    releaseBuffer(data)
    return isSound
  }

  /**
   * @param {number} wanted - up to `size`
   * @returns {Buffer | null} so many of its first bytes, until another is unpacked; null: it is damaged
   */
  unpack(wanted) {
    scratch ??= Buffer.allocUnsafeSlow(CHUNK_BYTES + 1)
    return this.unpackInto(scratch, 0, wanted) ? scratch.subarray(0, wanted) : null
  }
}

/**
 * @param {Database} db - in a snapshot, unless it is one row: see readPage; and each statement by itself takes 2 us more
 * @param {MailboxView} view - what it does not know yet is put into it
 * @param {readonly number[]} slots
 * @param {BodyNeeds} needs
 * @returns {(StoredBody | LongBody | null)[]} for the first of them, one at least; null for a message that must be read in
 *   another way: it is too long, has gone, or something has to be made anew
 */
export function readBodies(db, view, slots, needs) {
  const blocks = new BlockReader(db)
  /** @type {(StoredBody | LongBody | null)[]} */
  const bodies = []
  let bytes = 0
  for (const slot of slots) {
    if (bytes >= BATCH_BYTES) break
    if (!view.contentIds[slot]) learnNeighbours(db, view, slot)
    const body = readBody(db, view, slot, { ...needs, blocks })
    bodies.push(body)
    if (body !== null) bytes += body instanceof StoredBody ? body.heldBytes : body.size
  }
  return bodies
}

/**
 * @param {Database} db
 * @param {MailboxView} view
 * @param {number} slot
 * @param {BodyNeeds & { blocks: BlockReader }} needs
 * @returns {StoredBody | LongBody | null} null as above
 */
function readBody(db, view, slot, { withTrees, withDates, wholeBytes, blocks }) {
  const contentId = view.contentIds[slot] ?? 0
  const size = view.sizes[slot] ?? 0
  if (contentId === 0 || size === 0) return null
  if (size > CHUNK_BYTES && size > Math.min(LONG_BODY_BYTES, wholeBytes)) return null
  const partTree = withTrees ? readPartTree(db, blocks, contentId) : null
  const internalDate = withDates ? readDate(db, view, slot) : null
  if ((withTrees && partTree === null) || (withDates && internalDate === null)) return null
  if (size > CHUNK_BYTES) {
    const pieces = readLongBody(db, contentId, size)
    return pieces === null ? null : { pieces, size, internalDate }
  }
  const row = /** @type {[number, Buffer] | undefined} */ (
    prepared(db, 'SELECT codec, data FROM content_chunks WHERE id = ?', 'array').get(
      chunkRowId(contentId, 0)
    )
  )
  if (row === undefined) return null
  const [codec, data] = row
  if (codec !== CODEC_SHARED) return new StoredBody({ codec, data, size, partTree, internalDate })
  const raw = unpackIfSound(db, { codec, data, size })
  return raw && new StoredBody({ codec: CODEC_RAW, data: raw, size, partTree, internalDate })
}

/**
 * @param {Database} db
 * @param {MailboxView} view
 * @param {number} slot
 * @returns {ZonedDate | null} null: the message has gone
 */
function readDate(db, { mailboxId, uids }, slot) {
  const row = /** @type {[number, number] | undefined} */ (
    prepared(db, 'SELECT internal_date, internal_zone FROM messages WHERE id = ?', 'array').get(
      messageRowId(mailboxId, /** @type {number} */ (uids[slot]))
    )
  )
  return row ? { epochSeconds: row[0], zoneMinutes: row[1] } : null
}

/**
 * @param {Database} db
 * @param {MailboxView} view
 * @param {number} slot - one that it does not know the content of
 */
function learnNeighbours(db, view, slot) {
  const first = slot - (slot % NEIGHBOURS)
  const last = Math.min(first + NEIGHBOURS, view.length) - 1
  const rowId = (/** @type {number} */ at) =>
    messageRowId(view.mailboxId, /** @type {number} */ (view.uids[at]))
  const rows = /** @type {[number, number, number][]} */ (
    prepared(db, 'SELECT id, content_id, size FROM messages WHERE id BETWEEN ? AND ?', 'array').all(
      rowId(first),
      rowId(last)
    )
  )
  rememberRows(view, rows)
}
