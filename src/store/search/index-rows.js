/**
 * Rows of the search index. Everything here runs inside a transaction or read of the caller.
 */
import { prepared } from '../../database/statement.js'
import { INDEX_VERSION } from './index-text.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./index-text.js').IndexText} IndexText
 *
 * @typedef {object} IndexState
 * @property {number} textVersion
 * @property {number} indexedCount
 * @property {number} deletedCount
 */

/** The tables of the index. */
export const INDEX_TABLES = Object.freeze(['search', 'search_word', 'search_header'])

/**
 * @param {Database} db
 * @returns {IndexState}
 */
export const readIndexState = (db) =>
  /** @type {IndexState} */ (
    prepared(
      db,
      `SELECT text_version AS textVersion, indexed_count AS indexedCount, deleted_count AS deletedCount
       FROM search_state`
    ).get()
  )

/**
 * @param {Database} db
 * @param {number} after - content id
 * @param {number} limit
 * @returns {{ id: number, size: number }[]} contents that are to be indexed, by id
 */
export const readPending = (db, after, limit) =>
  /** @type {{ id: number, size: number }[]} */ (
    prepared(
      db,
      `SELECT p.content_id AS id, c.size FROM search_pending p JOIN contents c ON c.id = p.content_id
       WHERE p.content_id > ? AND p.is_left_out = 0 ORDER BY p.content_id LIMIT ?`
    ).all(after, limit)
  )

/**
 * Takes a content into the index, unless it is there or gone by now.
 *
 * @param {Database} db
 * @param {number} contentId
 * @param {IndexText | null} text - null: it cannot be indexed, and is left out for good
 */
export function writeIndexRows(db, contentId, text) {
  if (text === null) {
    prepared(db, 'UPDATE search_pending SET is_left_out = 1 WHERE content_id = ?').run(contentId)
    return
  }
  const { changes } = prepared(db, 'DELETE FROM search_pending WHERE content_id = ?').run(contentId)
  if (changes === 0) return
  const even = contentId * 2
  const insertText = prepared(db, 'INSERT INTO search (rowid, text) VALUES (?, ?)')
  insertText.run(even, text.body)
  insertText.run(even + 1, text.header)
  const insertWords = prepared(db, 'INSERT INTO search_word (rowid, words) VALUES (?, ?)')
  insertWords.run(even, text.bodyWords)
  insertWords.run(even + 1, text.headerWords)
  prepared(
    db,
    'INSERT INTO search_header (rowid, subject, sender, recipient, copy) VALUES (?, ?, ?, ?, ?)'
  ).run(contentId, ...text.fields)
  prepared(db, 'UPDATE search_state SET indexed_count = indexed_count + 1').run()
}

/**
 * Empties an index that older code has made, and puts all contents on the list.
 *
 * @param {Database} db
 */
export function resetIndex(db) {
  for (const table of INDEX_TABLES)
    prepared(db, `INSERT INTO ${table} (${table}) VALUES ('delete-all')`).run()
  prepared(db, 'DELETE FROM search_pending').run()
  prepared(
    db,
    'INSERT INTO search_pending (content_id) SELECT id FROM contents WHERE hash IS NOT NULL'
  ).run()
  prepared(
    db,
    'UPDATE search_state SET text_version = ?, indexed_count = 0, deleted_count = 0'
  ).run(INDEX_VERSION)
}

/**
 * A step of the merge that drops the postings of what was deleted.
 *
 * @param {Database} db
 * @param {string} table - of INDEX_TABLES
 * @param {number} pages - to be written at most, about
 * @param {boolean} isFirst - takes all segments in
 * @returns {boolean} whether there is more to do
 */
export function mergeStep(db, table, pages, isFirst) {
  const before = totalChanges(db)
  prepared(db, `INSERT INTO ${table} (${table}, rank) VALUES ('merge', ?)`).run(
    isFirst ? -pages : pages
  )
  // FTS5: fewer than two changes mean that it had nothing to merge.
  return totalChanges(db) - before >= 2
}

/** @param {Database} db */
export function forgetDeleted(db) {
  prepared(
    db,
    'UPDATE search_state SET indexed_count = max(0, indexed_count - deleted_count), deleted_count = 0'
  ).run()
}

/**
 * @param {Database} db
 * @returns {number}
 */
const totalChanges = (db) =>
  /** @type {number} */ (prepared(db, 'SELECT total_changes()', 'value').get())
