/**
 * Whole messages for FETCH, by the shortest way: the view remembers where the bytes of a message are, so that one walk
 * down one b-tree finds them, and they are unpacked straight into the buffer that goes to the socket.
 */
import { prepared } from '../database/statement.js'
import { CHUNK_BYTES, releaseBuffer, unpackChunkInto } from './chunk-codec.js'
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

/** A whole message, still packed. */
export class StoredBody {
  #codec
  #data

  /**
   * @param {number} codec
   * @param {Buffer} data
   * @param {number} size - raw bytes
   */
  constructor(codec, data, size) {
    this.#codec = codec
    this.#data = data
    this.size = size
  }

  /**
   * May be called once.
   *
   * @param {Buffer} target - with room for one byte more than `size`, which may be written too
   * @param {number} at
   * @returns {boolean} false: it is damaged, and what was written is worth nothing
   */
  unpackInto(target, at) {
    const data = this.#data
    const isSound = unpackChunkInto(this.#codec, data, { target, at, size: this.size })
    releaseBuffer(data)
    return isSound
  }
}

/**
 * @param {Database} db
 * @param {MailboxView} view - what it does not know yet is put into it
 * @param {readonly number[]} slots
 * @returns {(StoredBody | null)[]} for the first of them, one at least; null for a message that must be read in another
 *   way: it is longer than one chunk, or has gone
 */
export function readBodies(db, view, slots) {
  const select = prepared(db, 'SELECT codec, data FROM content_chunks WHERE id = ?', 'array')
  /** @type {(StoredBody | null)[]} */
  const bodies = []
  let bytes = 0
  for (const slot of slots) {
    if (bytes >= BATCH_BYTES) break
    if (!view.contentIds[slot]) learnNeighbours(db, view, slot)
    const contentId = view.contentIds[slot] ?? 0
    const size = view.sizes[slot] ?? 0
    const isShort = contentId > 0 && size > 0 && size <= CHUNK_BYTES
    const row = isShort
      ? /** @type {[number, Buffer] | undefined} */ (select.get(chunkRowId(contentId, 0)))
      : undefined
    bodies.push(row ? new StoredBody(row[0], row[1], size) : null)
    if (row) bytes += row[1].length
  }
  return bodies
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
