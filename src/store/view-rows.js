/**
 * The rows of `messages` as views need them: which messages there are, and their flags and MODSEQs. What of them is packed
 * is read from there (view-blocks.js).
 */
import { prepared } from '../database/statement.js'
import { runSnapshot } from '../database/transaction.js'
import { nextTurn } from '../support/turns.js'
import { MAX_UID, messageRowId, uidOfRow } from './row-ids.js'
import { BLOCK_UIDS, ViewBlockReader, tellBlock } from './view-blocks.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./view-blocks.js').ViewBlock} ViewBlock
 * @typedef {import('./view-blocks.js').OnState} OnState
 * @typedef {Pick<import('./account-database.js').AccountDatabase, 'readSettled'>} Source
 * @typedef {Pick<import('./mailbox-rows.js').MailboxRow, 'id' | 'uidNext'>} Mailbox
 *
 * @typedef {{ after: number, end: number }} Range - of messages.id; `end` inclusive
 * @typedef {[id: number, modSeq: number, flags: number, keywords: number]} Row
 * @typedef {Row[] | { ids: number[], states: number[] }} Rows - the second where each goes into a number
 * @typedef {{ append: (uid: number, modSeq: number, flags: number, keywords: number) => unknown }} RowSink - a view, or what
 *   only looks; each is told of by UID
 *
 * @typedef {object} Page - blocks, or rows where there are none
 * @property {ViewBlock[]} blocks
 * @property {Rows} rows
 * @property {number} rowCount
 * @property {number} last - messages.id; the next page begins behind it
 */

/** Rows a slice: about 2 ms, and 5 where nothing is compiled yet. */
const PAGE_ROWS = 2500

/** Words of flags below this share a number with the MODSEQ: the system flags and the first eleven keywords. */
const SHARED_FLAGS = 65_536

/** And MODSEQs below this: what is made of both is a whole number that a double holds. */
const SHARED_MODSEQ = 2 ** 37

/**
 * @param {Row} row - with flags and MODSEQ below these
 * @returns {number} as STATES gives it
 */
export const stateOf = ([, modSeq, flags]) => modSeq * SHARED_FLAGS + flags

const RANGE = 'FROM messages WHERE id > ? AND id <= ? ORDER BY id LIMIT ? + 0'

const STATES = `SELECT CASE WHEN keywords = 0 AND flags < ${SHARED_FLAGS} AND modseq < ${SHARED_MODSEQ}
  THEN modseq * ${SHARED_FLAGS} + flags END ${RANGE}`

/**
 * @param {Source} database
 * @param {Mailbox} mailbox - rows from its uidNext on came later and are left out
 * @param {RowSink} sink
 * @returns {Promise<number>} how many had to be read one by one
 */
export const readAllRows = (database, mailbox, sink) => readChangedRows(database, mailbox, -1, sink)

/**
 * Reads a page at a time; between two, others have their turn. A read may be tried again, so rows are told after it.
 *
 * @param {Source} database
 * @param {Mailbox} mailbox - as above
 * @param {number} since - only rows above this modseq
 * @param {RowSink} sink
 * @returns {Promise<number>} as above
 */
export async function readChangedRows(database, mailbox, since, sink) {
  const reader = new ViewBlockReader()
  const end = messageRowId(mailbox.id, Math.min(mailbox.uidNext - 1, MAX_UID))
  let after = messageRowId(mailbox.id, 0)
  let rowCount = 0
  while (after < end) {
    const range = { after, end }
    const page = await database.readSettled((db) =>
      runSnapshot(db, () => readPage(db, reader, range))
    )
    // A block may begin before the range, and end behind it.
    const tell = /** @type {OnState} */ (
      (id, modSeq, flags, keywords) => {
        if (modSeq > since && id > range.after && id <= end)
          sink.append(uidOfRow(id), modSeq, flags, keywords)
      }
    )
    for (const block of page.blocks) if (block.modSeq > since) tellBlock(block, tell)
    tellRows(page.rows, tell)
    rowCount += page.rowCount
    after = page.last
    if (after < end) await nextTurn()
  }
  return rowCount
}

/**
 * @param {Database} db - in a snapshot
 * @param {ViewBlockReader} reader
 * @param {Range} range
 * @returns {Page}
 */
function readPage(db, reader, range) {
  const { blocks, nextId } = reader.read(db, range)
  const lastBlock = blocks.at(-1)
  if (lastBlock) return { blocks, rows: [], rowCount: 0, last: lastBlock.firstId + BLOCK_UIDS - 1 }
  const { rows, rowCount, lastId } = readRows(db, { after: range.after, end: nextId - 1 })
  return { blocks, rows, rowCount, last: rowCount < PAGE_ROWS ? nextId - 1 : lastId }
}

/**
 * One number for a row costs half of an array for it, even where each page is gone through twice for that.
 *
 * @param {Database} db - in a snapshot
 * @param {Range} range
 * @returns {{ rows: Rows, rowCount: number, lastId: number }}
 */
function readRows(db, range) {
  const values = [range.after, range.end, PAGE_ROWS]
  const states = /** @type {(number | null)[]} */ (prepared(db, STATES, 'value').all(values))
  if (states.includes(null)) {
    const rows = readStateRows(db, range)
    return { rows, rowCount: rows.length, lastId: rows.at(-1)?.[0] ?? 0 }
  }
  const ids = /** @type {number[]} */ (prepared(db, `SELECT id ${RANGE}`, 'value').all(values))
  const rows = { ids, states: /** @type {number[]} */ (states) }
  return { rows, rowCount: ids.length, lastId: ids.at(-1) ?? 0 }
}

/**
 * @param {Database} db
 * @param {Range} range - of which PAGE_ROWS rows at most are read
 * @returns {Row[]}
 */
export function readStateRows(db, { after, end }) {
  const select = prepared(db, `SELECT id, modseq, flags, keywords ${RANGE}`, 'array')
  return /** @type {Row[]} */ (select.all(after, end, PAGE_ROWS))
}

/**
 * @param {Rows} rows
 * @param {OnState} onState - called by id
 */
function tellRows(rows, onState) {
  if (Array.isArray(rows)) {
    for (const row of rows) onState(...row)
    return
  }
  const { ids, states } = rows
  for (let row = 0; row < ids.length; row++) {
    const state = /** @type {number} */ (states[row])
    const flags = state % SHARED_FLAGS
    onState(/** @type {number} */ (ids[row]), (state - flags) / SHARED_FLAGS, flags, 0)
  }
}
