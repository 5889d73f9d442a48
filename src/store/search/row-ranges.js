/**
 * The search keys of row-keys.js for all messages of a range at once: SQLite compares, and strings together the UIDs of
 * those that match (measured: a fifth of the time of reading the rows one by one into objects).
 */
import { prepared } from '../../database/statement.js'
import { numbersIn } from '../joined-numbers.js'
import { messageRowId } from '../row-ids.js'
import { IS_FRESH, LOCAL_ARRIVAL, LOCAL_SENT, WITH_META } from '../with-meta.js'
import { boundsOf } from './row-bounds.js'
import { columnOf } from './row-keys.js'

/** @typedef {import('../../imap/protocol/values/search-key.js').SearchKey} SearchKey */
/**
 * @typedef {object} RowTest
 * @property {string} condition - SQL over `messages m`, or also over `message_meta d`; true or false
 * @property {number[]} values - bound to its `?` marks, in their order
 * @property {boolean} [isOfMeta] - whether the condition is over both
 */

/** @type {Readonly<Record<Exclude<import('../sort/sort-columns.js').ColumnKey, 'DATE'>, string>>} what is compared, by the column that keeps it elsewhere */
const VALUES = {
  ARRIVAL: 'internal_date',
  LOCAL_ARRIVAL,
  LOCAL_SENT,
  SIZE: 'size'
}

/** The saving date, told in UTC, seconds: no column is kept of it. */
const SAVED = 'saved_at / 1000'

/**
 * @param {SearchKey} key - of the row's stage (see plan.js)
 * @param {number} nowSeconds - the search's one "now", seconds since 1970
 * @returns {RowTest} one of few conditions: each is compiled once
 * @throws {MailError} CANNOT for a key of another stage
 */
export function compileRowCondition(key, nowSeconds) {
  const { low, high } = boundsOf(key, nowSeconds)
  const column = columnOf(key)
  const condition = `${column === null ? SAVED : VALUES[column]} BETWEEN ? AND ?`
  const values = [low, high]
  if (column !== 'LOCAL_SENT') return { condition, values }
  // A message without a Date was sent on no day, and so passes every NOT: a NULL would pass none.
  return { condition: `coalesce(${condition}, 0)`, values, isOfMeta: true }
}

/**
 * @param {import('better-sqlite3-multiple-ciphers').Database} db
 * @param {number} mailboxId
 * @param {{ firstUid: number, lastUid: number }} range
 * @param {RowTest & { isNegated: boolean }} test
 * @returns {{ uids: number[], staleCount: number }} UIDs of the messages that are there and pass it, ascending; `staleCount`:
 *   messages whose `message_meta` must be made anew before anybody can tell
 */
export function readMatchingUids(
  db,
  mailboxId,
  { firstUid, lastUid },
  { condition, values, isOfMeta = false, isNegated }
) {
  const passes = `${isNegated ? 'NOT ' : ''}(${condition})`
  const stale = isOfMeta ? `count(*) - count(CASE WHEN ${IS_FRESH} THEN 1 END)` : '0'
  const [text, staleCount] = /** @type {[string | null, number]} */ (
    prepared(
      db,
      `SELECT group_concat(CASE WHEN ${passes} THEN m.id & 4294967295 END), ${stale}
       ${isOfMeta ? WITH_META : 'FROM messages m'} WHERE m.id BETWEEN ? AND ?`,
      'array'
    ).get(...values, messageRowId(mailboxId, firstUid), messageRowId(mailboxId, lastUid))
  )
  const uids = numbersIn(text).sort((left, right) => left - right)
  return { uids, staleCount }
}
