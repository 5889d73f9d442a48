/**
 * Rows of the search index. Everything here runs inside a transaction or read of the caller.
 */
import { prepared } from '../../database/statement.js'
import { writeMetas } from '../meta-rows.js'
import { INDEX_VERSION } from './index-text.js'
import { queueContent } from '../shared-parts/part-rows.js'
import { raiseMark, readMark } from './pending-rows.js'
import {
  completeSegment,
  insertBlocks,
  insertSegment,
  leaveSegments,
  readSegments
} from './segment-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./segment-batch.js').NewSegment} NewSegment
 *
 * @typedef {object} IndexState
 * @property {number} textVersion - of the code that makes it; negative while it is emptied for that
 * @property {number} indexedCount
 * @property {number} deletedCount
 *
 * @typedef {object} IndexedContent
 * @property {number} id
 * @property {string[] | null} fields - null: it cannot be indexed, and is left out for good
 * @property {boolean} hasBase64 - whether it may have parts that others have too
 * @property {import('../../mime/message-meta.js').MessageMeta | null} madeMeta - what was made of the message on the way
 */

/** Version of an index that is being emptied for ours: one with a negative version is never asked. A new mailbox has 0. */
const VERSION_TO_BE = -INDEX_VERSION

/**
 * What FTS5 may put into one of its blobs. Its own 4,050 are meant for pages whose end no cipher needs: with 4 KiB each blob
 * began in one page and ended in another, and of 8 KiB each filled half of a page.
 */
const FIELD_BLOB_BYTES = 4000

/** Contents in one step of emptying the index: some 20 ms. */
const RESET_CONTENTS = 500

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
 * @param {IndexState} state
 * @returns {boolean} whether a newer program makes the index: it is neither ours to extend nor to throw away
 */
export const isOfNewer = ({ textVersion }) => Math.abs(textVersion) > INDEX_VERSION

/**
 * Takes contents into the index, those that are not gone by now.
 *
 * @param {Database} db
 * @param {object} batch
 * @param {NewSegment | null} batch.segment - of all that have a text; null when none has
 * @param {IndexedContent[]} batch.contents - by id
 * @returns {boolean} false: nothing is written, because since the batch was begun the index has become that of another version,
 *   which reads texts in another way and would take these for its own
 */
export function writeBatch(db, { segment, contents }) {
  if (readIndexState(db).textVersion !== INDEX_VERSION) return false
  if (segment) {
    const segmentId = insertSegment(db, segment)
    insertBlocks(db, segmentId, segment.blocks)
    completeSegment(db, segmentId, segment)
  }
  raiseMark(db, contents.at(-1)?.id ?? 0)
  const leaveOut = prepared(db, 'UPDATE search_listed SET is_left_out = 1 WHERE content_id = ?')
  const takeOff = prepared(db, 'DELETE FROM search_listed WHERE content_id = ?')
  const insertFields = prepared(
    db,
    'INSERT INTO search_header (rowid, subject, sender, recipient, copy) VALUES (?, ?, ?, ?, ?)'
  )
  let count = 0
  for (const { id, fields, hasBase64, madeMeta } of contents) {
    if (madeMeta !== null) writeMetas(db, [[id, madeMeta]])
    if (hasBase64) queueContent(db, id)
    if (fields === null) leaveOut.run(id)
    else if (takeOff.run(id).changes > 0) {
      insertFields.run(id, ...fields)
      count++
    }
  }
  prepared(db, 'UPDATE search_state SET indexed_count = indexed_count + ?').run(count)
  return true
}

/**
 * One step of emptying an index that older code has made, and of putting all contents on the list. Until the last step the
 * version says for whom the index is emptied: neither this code asks it, nor does a process that still runs the older code, to
 * which it would seem sound with most contents missing, ask it or write into it.
 *
 * @param {Database} db
 * @returns {boolean} whether there is more to do
 */
export function resetStep(db) {
  const state = readIndexState(db)
  // Since the caller looked, another process has made the index, or empties it for a newer program. Emptied once more, it would
  // be empty to a search under way, which finds the same version at its end as at its beginning.
  if (state.textVersion === INDEX_VERSION || isOfNewer(state)) return false
  if (state.textVersion !== VERSION_TO_BE) {
    leaveSegments(db, readSegments(db))
    db.exec(`INSERT INTO search_header (search_header, rank) VALUES ('pgsz', ${FIELD_BLOB_BYTES})`)
    // `reset_through` of older code does not count: the contents up to there may have been indexed again since.
    prepared(db, 'UPDATE search_state SET text_version = ?, reset_through = 0').run(VERSION_TO_BE)
    prepared(db, 'UPDATE search_listed SET is_left_out = 0 WHERE is_left_out = 1').run()
    db.pragma(`user_version = ${readIndexEpoch(db) + 1}`)
  }
  const through = Number(prepared(db, 'SELECT reset_through FROM search_state', 'value').get())
  // Those above the mark are on the list by their ids. Whether the others are in the index is not believed.
  const range = { after: through, through: readMark(db), limit: RESET_CONTENTS }
  const ids = readContentIds(db, range)
  const last = ids[ids.length - 1]
  if (last === undefined) {
    prepared(
      db,
      'UPDATE search_state SET text_version = ?, reset_through = 0, deleted_count = indexed_count'
    ).run(INDEX_VERSION)
    return false
  }
  const removeFields = prepared(db, 'DELETE FROM search_header WHERE rowid = ?')
  const list = prepared(db, 'INSERT OR IGNORE INTO search_listed (content_id) VALUES (?)')
  for (const id of ids) {
    removeFields.run(id)
    list.run(id)
  }
  prepared(db, 'UPDATE search_state SET reset_through = ?').run(last)
  return true
}

/**
 * Marks the index as made by older code, because a fault of ours may have spoilt it: `resetStep` then empties it.
 *
 * @param {Database} db
 */
export function distrustIndex(db) {
  if (!isOfNewer(readIndexState(db))) prepared(db, 'UPDATE search_state SET text_version = 0').run()
}

/**
 * How often the index was begun anew. A search compares this at its beginning and its end, because the version may have changed
 * and be the same again.
 *
 * @param {Database} db
 * @returns {number}
 */
export const readIndexEpoch = (db) => Number(prepared(db, 'PRAGMA user_version', 'value').get())

/**
 * @param {Database} db
 * @param {{ after: number, through: number, limit: number }} range - of ids
 * @returns {number[]} of complete contents
 */
const readContentIds = (db, { after, through, limit }) =>
  /** @type {number[]} */ (
    prepared(
      db,
      'SELECT id FROM contents WHERE id > ? AND id <= ? AND hash IS NOT NULL ORDER BY id LIMIT ? + 0',
      'value'
    ).all(after, through, limit)
  )

/**
 * A step of the merge that drops the fields of what was deleted.
 *
 * @param {Database} db
 * @param {number} pages - to be written at most, about
 * @param {boolean} isFirst - whether this is the first step, which takes in all segments of FTS5
 * @returns {boolean} whether there is more to do
 */
export function mergeFieldsStep(db, pages, isFirst) {
  const before = totalChanges(db)
  prepared(db, "INSERT INTO search_header (search_header, rank) VALUES ('merge', ?)").run(
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
