/**
 * Rows of the segments of the index. Everything here runs inside a transaction or read of the caller.
 *
 * Invariants: a segment's blocks never change while it is live, nor as long as it is left; they begin to go in the
 * transaction that makes it `going`. So whoever finds a segment live or left after reading its blocks has read all of it.
 */
import { prepared } from '../../database/statement.js'
import { damaged, MAX_DIRECTORY_BYTES, postingRow, termRow, unpackBlock } from './segment-format.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./segment-writer.js').Block} Block
 *
 * @typedef {object} SegmentRow
 * @property {number} id
 * @property {number} base - content id from which postings count
 * @property {number} last - highest content id
 * @property {number} contentCount
 */

const SEGMENT_STATE = Object.freeze({ MADE: 0, LIVE: 1, LEFT: 2, GOING: 3 })

/** Blocks that are deleted in one transaction: some 2 MB. */
const DELETED_BLOCKS = 256

/**
 * @param {Database} db
 * @returns {SegmentRow[]} the live ones, by id
 */
export const readSegments = (db) =>
  /** @type {SegmentRow[]} */ (
    prepared(
      db,
      `SELECT id, base, last, content_count AS contentCount FROM search_segments
       WHERE state = ${SEGMENT_STATE.LIVE} ORDER BY id`
    ).all()
  )

/**
 * @param {Database} db
 * @param {readonly { id: number }[]} segments - that were read
 * @returns {boolean} whether all of each could be read
 */
export function areWhole(db, segments) {
  const select = prepared(db, 'SELECT state FROM search_segments WHERE id = ?', 'value')
  return segments.every(({ id }) => {
    const state = select.get(id)
    return state === SEGMENT_STATE.LIVE || state === SEGMENT_STATE.LEFT
  })
}

/**
 * @param {Database} db
 * @param {readonly { id: number }[]} segments - that were live
 * @returns {boolean} whether all of them still are: nobody else has merged any of them
 */
export function areLive(db, segments) {
  const select = prepared(db, 'SELECT state FROM search_segments WHERE id = ?', 'value')
  return segments.every(({ id }) => select.get(id) === SEGMENT_STATE.LIVE)
}

/**
 * @param {Database} db
 * @param {number} segmentId
 * @returns {Buffer} for decodeDirectory
 * @throws {import('../../errors.js').MailError} ACCOUNT_DAMAGED
 */
export function readDirectory(db, segmentId) {
  const packed = prepared(db, 'SELECT directory FROM search_segments WHERE id = ?', 'value').get(
    segmentId
  )
  if (!Buffer.isBuffer(packed)) throw damaged('has no directory')
  return unpackBlock(packed, MAX_DIRECTORY_BYTES)
}

/**
 * @param {Database} db
 * @param {number} segmentId
 * @param {number} number
 * @returns {Buffer}
 * @throws {import('../../errors.js').MailError} ACCOUNT_DAMAGED
 */
export const readTermBlock = (db, segmentId, number) => readBlock(db, termRow(segmentId, number))

/**
 * @param {Database} db
 * @param {number} segmentId
 * @param {number} number
 * @returns {Buffer}
 * @throws {import('../../errors.js').MailError} ACCOUNT_DAMAGED
 */
export const readPostingBlock = (db, segmentId, number) =>
  readBlock(db, postingRow(segmentId, number))

/**
 * @param {Database} db
 * @param {number} rowId
 * @returns {Buffer}
 */
function readBlock(db, rowId) {
  const packed = prepared(db, 'SELECT data FROM search_blocks WHERE id = ?', 'value').get(rowId)
  if (!Buffer.isBuffer(packed)) throw damaged('is missing')
  return unpackBlock(packed)
}

/**
 * @param {Database} db
 * @param {Omit<SegmentRow, 'id'>} segment
 * @returns {number} id of a new segment that nobody reads yet
 */
export function insertSegment(db, { base, last, contentCount }) {
  const { lastInsertRowid } = prepared(
    db,
    `INSERT INTO search_segments (state, base, last, content_count) VALUES (${SEGMENT_STATE.MADE}, ?, ?, ?)`
  ).run(base, last, contentCount)
  return Number(lastInsertRowid)
}

/**
 * @param {Database} db
 * @param {number} segmentId
 * @param {readonly Block[]} blocks
 */
export function insertBlocks(db, segmentId, blocks) {
  const insert = prepared(db, 'INSERT INTO search_blocks (id, data) VALUES (?, ?)')
  for (const { isPosting, number, data } of blocks)
    insert.run((isPosting ? postingRow : termRow)(segmentId, number), data)
}

/**
 * @param {Database} db
 * @param {number} segmentId - of one whose blocks are all there
 * @param {{ directory: Buffer, contentCount: number }} end
 */
export function completeSegment(db, segmentId, { directory, contentCount }) {
  prepared(
    db,
    `UPDATE search_segments SET state = ${SEGMENT_STATE.LIVE}, directory = ?, content_count = ? WHERE id = ?`
  ).run(directory, contentCount, segmentId)
}

/**
 * @param {Database} db
 * @param {readonly { id: number }[]} segments - that nobody shall read from now on
 */
export function leaveSegments(db, segments) {
  const update = prepared(
    db,
    `UPDATE search_segments SET state = ${SEGMENT_STATE.LEFT} WHERE id = ?`
  )
  for (const { id } of segments) update.run(id)
}

/**
 * Another process that indexes the same mailbox takes a segment that is being made here for one left by a program that ended.
 * A segment that it has begun to delete must not become live, nor grow.
 *
 * @param {Database} db
 * @param {number} segmentId - of one that is being made
 * @returns {boolean} false: another process has taken it
 */
export const isUnfinished = (db, segmentId) =>
  prepared(db, 'SELECT state FROM search_segments WHERE id = ?', 'value').get(segmentId) ===
  SEGMENT_STATE.MADE

/**
 * What was being made when the program ended is left: nobody makes it any further.
 *
 * @param {Database} db - of the only one that makes segments
 */
export function leaveUnfinished(db) {
  prepared(
    db,
    `UPDATE search_segments SET state = ${SEGMENT_STATE.LEFT} WHERE state = ${SEGMENT_STATE.MADE}`
  ).run()
}

/**
 * Deletes some blocks of what is left.
 *
 * @param {Database} db
 */
export function deleteSomeBlocks(db) {
  const id = prepared(
    db,
    `SELECT id FROM search_segments WHERE state >= ${SEGMENT_STATE.LEFT} ORDER BY id LIMIT 1`,
    'value'
  ).get()
  if (id === undefined) return
  const segmentId = Number(id)
  prepared(db, `UPDATE search_segments SET state = ${SEGMENT_STATE.GOING} WHERE id = ?`).run(
    segmentId
  )
  const { changes } = prepared(
    db,
    `DELETE FROM search_blocks WHERE id IN
       (SELECT id FROM search_blocks WHERE id >= ? AND id < ? ORDER BY id LIMIT ${DELETED_BLOCKS})`
  ).run(termRow(segmentId, 0), termRow(segmentId + 1, 0))
  if (changes < DELETED_BLOCKS)
    prepared(db, 'DELETE FROM search_segments WHERE id = ?').run(segmentId)
}

/**
 * @param {Database} db
 * @returns {boolean} whether blocks wait for being deleted
 */
export const hasLeftSegments = (db) =>
  prepared(
    db,
    `SELECT 1 FROM search_segments WHERE state IN (${SEGMENT_STATE.LEFT}, ${SEGMENT_STATE.GOING}) LIMIT 1`,
    'value'
  ).get() !== undefined
