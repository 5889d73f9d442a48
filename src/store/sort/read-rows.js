/**
 * Reads some columns of many messages, as arrays: rows as wide as others need them, each an object, would take twice the time.
 */
import { prepared } from '../../database/statement.js'
import { areClose } from '../close-slots.js'
import { nextPageSize } from '../page-size.js'
import { messageRowId, uidOfRow } from '../row-ids.js'

/** @import { Database } from '../read-messages.js' */
/** @import { MailboxView } from '../mailbox-view.js' */
/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from './read-pages.js' */

/** @typedef {number | string | null} Value */

/** @typedef {[first: number, second: Value, third: Value, fourth: Value, fifth: Value, sixth: Value]} Row - as many as are selected */

/** Messages a page: some 2 ms. */
const MAX_PAGE = 1024

/** Messages of the first page, when their size is not known, and of one where they lie so far apart that each is looked up. */
const SMALL_PAGE = 256

/**
 * @param {MessageSource} source
 * @param {string} select - SQL without WHERE, of the id of `messages m` and more; only the second column may hold long texts
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {AsyncGenerator<Row[], void, void>} pages of rows in the order of the slots, each with its slot in the place of the
 *   id; messages that have gone meanwhile are left out
 */
export async function* readRows({ store, view }, select, slots, slicer) {
  const { database } = store.searchAccess
  const uidOf = (/** @type {number | undefined} */ slot) => view.uids[slot ?? -1] ?? Infinity
  let pageSize = SMALL_PAGE
  for (let start = 0; start < slots.length;) {
    await slicer.breathe()
    const page = slots.slice(start, start + pageSize)
    const isDense = areClose(view, page)
    if (!isDense) page.splice(SMALL_PAGE)
    const found = await database.readSettled((db) =>
      isDense ? readRange(db, view, page, select) : readSingles(db, view, page, select)
    )
    let at = 0
    let bytes = 0
    const wanted = found.filter((row) => {
      const uid = uidOfRow(row[0])
      while (uidOf(page[at]) < uid) at++
      row[0] = page[at] ?? -1
      if (typeof row[1] === 'string') bytes += row[1].length
      return uidOf(row[0]) === uid
    })
    yield wanted
    start += page.length
    pageSize = nextPageSize(pageSize, bytes, MAX_PAGE)
  }
}

/**
 * @param {Database} db
 * @param {MailboxView} view
 * @param {readonly number[]} page - slots, ascending
 * @param {string} select
 * @returns {Row[]} by id, with those that lie between
 */
function readRange(db, view, page, select) {
  const range = prepared(db, `${select} WHERE m.id BETWEEN ? AND ? ORDER BY m.id`, 'array')
  const rows = range.all(rowIdOf(view, page[0]), rowIdOf(view, page.at(-1)))
  return /** @type {Row[]} */ (rows)
}

/**
 * @param {Database} db
 * @param {MailboxView} view
 * @param {readonly number[]} page - slots, ascending
 * @param {string} select
 * @returns {Row[]} by id
 */
function readSingles(db, view, page, select) {
  const single = prepared(db, `${select} WHERE m.id = ?`, 'array')
  const rows = page
    .map((slot) => single.get(rowIdOf(view, slot)))
    .filter((row) => row !== undefined)
  return /** @type {Row[]} */ (rows)
}

/**
 * @param {MailboxView} view
 * @param {number | undefined} slot
 * @returns {number} messages.id
 */
const rowIdOf = (view, slot = 0) => messageRowId(view.mailboxId, view.uids[slot] ?? 0)
