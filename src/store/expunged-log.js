/**
 * The log of what has been expunged, read in pages: a mailbox of 100,000 messages may have lost every other one at once.
 */
import { prepared } from '../database/statement.js'
import { Slicer } from '../support/slicer.js'
import { nextTurn } from '../support/turns.js'
import { requireMailboxRowById } from './mailbox-rows.js'
import { MAX_UID } from './row-ids.js'
import { sortInSlices } from './sort/sliced-sort.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 *
 * @typedef {{ first: number, last: number }} UidRange
 * @typedef {[modSeq: number, first: number, last: number]} LogRow
 *
 * @typedef {object} ExpungedSince
 * @property {boolean} isComplete - false when the log does not reach back so far: then nothing is told
 * @property {UidRange[]} ranges - UIDs, ascending
 */

/** Rows a slice: about 2 ms. */
const PAGE_ROWS = 2000

/**
 * What is expunged meanwhile may be among it, or not.
 *
 * @param {Pick<import('./account-database.js').AccountDatabase, 'read'>} database
 * @param {number} mailboxId
 * @param {number} sinceModSeq
 * @returns {Promise<ExpungedSince>} what has been expunged since
 * @throws {import('../errors.js').MailError} MAILBOX_NOT_FOUND
 */
export async function readExpungedSince(database, mailboxId, sinceModSeq) {
  /** @type {UidRange[]} */
  const ranges = []
  /** @type {readonly number[]} */
  let after = [sinceModSeq, MAX_UID]
  for (;;) {
    const from = after
    const page = await database.read((db) => readPage(db, mailboxId, from))
    // Asked of each page: the log may have been pruned since the one before.
    if (sinceModSeq < page.expungedFloor) return { isComplete: false, ranges: [] }
    for (const [modSeq, first, last] of page.rows) {
      ranges.push({ first, last })
      after = [modSeq, first]
    }
    if (page.rows.length < PAGE_ROWS) break
    await nextTurn()
  }
  const sorted = await sortInSlices(ranges, (left, right) => left.first - right.first, new Slicer())
  return { isComplete: true, ranges: sorted }
}

/**
 * @param {Database} db
 * @param {number} mailboxId
 * @param {readonly number[]} after - modseq and first UID of the last row that is known
 * @returns {{ expungedFloor: number, rows: LogRow[] }}
 */
function readPage(db, mailboxId, after) {
  const { expungedFloor } = requireMailboxRowById(db, mailboxId)
  const rows = /** @type {LogRow[]} */ (
    prepared(
      db,
      `SELECT modseq, first_uid, last_uid FROM expunged WHERE mailbox_id = ? AND (modseq, first_uid) > (?, ?)
       ORDER BY modseq, first_uid LIMIT ${PAGE_ROWS}`,
      'array'
    ).all(mailboxId, ...after)
  )
  return { expungedFloor, rows }
}
