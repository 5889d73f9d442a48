/**
 * Long contents that no message refers to any more, and that a client may still be in the midst of: a literal that has begun
 * can only be ended by its last byte. The sweep leaves them alone for a while, and whoever reads on in one gives signs of life,
 * in the file, so that threads and other processes see them too.
 */
import { prepared } from '../database/statement.js'
import { CHUNK_BYTES } from './chunk-codec.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/**
 * How long the sweep waits for the next sign of life, milliseconds: one that takes nothing of its answer for five minutes is
 * cut off.
 */
export const KEPT_MS = 6 * 60 * 1000

/** A sign of life is written no more often than this, milliseconds. */
const SIGN_MS = KEPT_MS / 10

/** What is no longer than this is read in one go, bytes. */
const SHORT_BYTES = CHUNK_BYTES

/**
 * Whether the sweep may have a row of garbage_contents, with a parameter `now`. Times a little ahead of it come from who signed
 * while the sweep waited for the lock, those far ahead from before a clock was set back.
 */
export const IS_DUE = `(left_at IS NULL OR left_at NOT BETWEEN $now - ${KEPT_MS} AND $now + ${KEPT_MS})`

/**
 * Leaves contents to the sweep.
 *
 * @param {Database} db
 * @param {{ firstId: number, lastId: number, nowMs: number }} messages - whose contents they are: rows that are about to go
 */
export function leaveContentsOf(db, { firstId, lastId, nowMs }) {
  prepared(
    db,
    `INSERT INTO garbage_contents (content_id, left_at)
     SELECT content_id, CASE WHEN size > ${SHORT_BYTES} THEN ? END FROM messages WHERE id BETWEEN ? AND ?
     ON CONFLICT DO UPDATE SET left_at = excluded.left_at`
  ).run(nowMs, firstId, lastId)
}

/**
 * @param {Database} db
 * @param {number} nowMs
 * @returns {number | null} how long it is until the first of them is due, milliseconds; null: none is kept
 */
export function keptForMs(db, nowMs) {
  const leftAt = /** @type {number | null} */ (
    prepared(db, `SELECT min(left_at) FROM garbage_contents WHERE NOT ${IS_DUE}`, 'value').get({
      now: nowMs
    })
  )
  return leftAt === null ? null : leftAt + KEPT_MS + 1 - nowMs
}

/**
 * Nobody reads any more: the sweep need not wait.
 *
 * @param {Database} db
 */
export function forgetReaders(db) {
  prepared(db, 'UPDATE garbage_contents SET left_at = NULL WHERE left_at IS NOT NULL').run()
}

/** One reading of one content. */
export class LeftReader {
  #database
  #contentId

  /**
   * @param {Pick<import('./account-database.js').AccountDatabase, 'clock' | 'isReadOnly' | 'supervise' | 'write'>} database
   * @param {number} contentId
   */
  constructor(database, contentId) {
    this.#database = database
    this.#contentId = contentId
  }

  /**
   * @param {Database} db
   * @returns {boolean} whether it is time for a sign of life: no message refers to the content any more
   */
  isLeft(db) {
    const leftAt = /** @type {number | null | undefined} */ (
      prepared(db, 'SELECT left_at FROM garbage_contents WHERE content_id = ?', 'value').get(
        this.#contentId
      )
    )
    if (leftAt === undefined || this.#database.isReadOnly) return false
    const nowMs = this.#database.clock.nowMs()
    return leftAt === null || leftAt > nowMs || leftAt <= nowMs - SIGN_MS
  }

  /** Writes it. The reader does not wait for that, and goes on as far as it comes where nothing can be written. */
  sign() {
    const nowMs = this.#database.clock.nowMs()
    const work = (/** @type {Database} */ db) =>
      prepared(db, 'UPDATE garbage_contents SET left_at = ? WHERE content_id = ?').run(
        nowMs,
        this.#contentId
      )
    this.#database.supervise(this.#database.write(work, { isLazy: true }))
  }
}
