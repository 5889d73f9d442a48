/**
 * Ids of contents, taken some dozens at a time. SQLite's own counter (AUTOINCREMENT) lies on a page of its own, which
 * every new content would write again; raised ahead, it is written once for many. Ids that a process takes and does not
 * use are lost, and none is ever used twice.
 */
import { prepared } from '../database/statement.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** Ids taken at a time. Each open mailbox loses this many at most, of 2^37. */
const BLOCK = 64

/** @type {WeakMap<Database, { next: number, last: number }>} */
const blocks = new WeakMap()

/**
 * @param {Database} db - inside a write transaction; when it is rolled back, `forgetReservedIds` must be called
 * @returns {number | null} null: SQLite must choose the id, because there never was a content
 */
export function takeContentId(db) {
  let block = blocks.get(db)
  if (!block || block.next > block.last) {
    const last = /** @type {number | undefined} */ (
      prepared(
        db,
        `UPDATE sqlite_sequence SET seq = seq + ${BLOCK} WHERE name = 'contents' RETURNING seq`,
        'value'
      ).get()
    )
    if (last === undefined) return null
    block = { next: last - BLOCK + 1, last }
    blocks.set(db, block)
  }
  return block.next++
}

/**
 * To be called when a transaction, or a part of one, has been undone: what it has taken belongs to whoever comes next.
 *
 * @param {Database} db
 */
export function forgetReservedIds(db) {
  blocks.delete(db)
}
