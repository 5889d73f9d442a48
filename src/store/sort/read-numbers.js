/**
 * Reads a number of each of many messages, joined by SQLite into one text for a page: rows, each an array, take longer.
 */
import { prepared } from '../../database/statement.js'
import { areClose } from '../close-slots.js'
import { numbersIn } from '../joined-numbers.js'
import { messageRowId } from '../row-ids.js'

/** @import { Database } from '../read-messages.js' */
/** @import { MailboxView } from '../mailbox-view.js' */
/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from './read-pages.js' */

/** Messages a page: some 2 ms. */
const PAGE_MESSAGES = 2048

/**
 * @typedef {object} NumberSelect - SQL over `messages m`
 * @property {string} value - a whole number, or NULL
 * @property {string} [join] - what else it needs: a JOIN
 */

/**
 * @param {MessageSource} source
 * @param {NumberSelect} select
 * @param {readonly number[]} slots - ascending
 * @param {(slot: number, value: number | null) => void} onValue - not called for messages that have gone meanwhile
 * @param {Slicer} slicer
 */
export async function readNumberOfEach({ store, view }, select, slots, onValue, slicer) {
  const { database } = store.searchAccess
  for (let start = 0; start < slots.length; start += PAGE_MESSAGES) {
    await slicer.breathe()
    const page = slots.slice(start, start + PAGE_MESSAGES)
    const { uids, values } = await database.readSettled((db) => readPage(db, view, select, page))
    let at = 0
    for (const [nth, uid] of uids.entries()) {
      while (uidOf(view, page[at]) < uid) at++
      const slot = page[at]
      if (slot !== undefined && uidOf(view, slot) === uid) onValue(slot, values[nth] ?? null)
    }
  }
}

/**
 * @param {Database} db
 * @param {MailboxView} view
 * @param {NumberSelect} select
 * @param {readonly number[]} page - slots, ascending
 * @returns {{ uids: number[], values: (number | null)[] }} by UID, with messages that lie between
 */
function readPage(db, view, { value, join = '' }, page) {
  const rowIdOf = (/** @type {number | undefined} */ slot) =>
    messageRowId(view.mailboxId, uidOf(view, slot))
  const isRange = areClose(view, page)
  const from = isRange
    ? `messages m ${join} WHERE m.id BETWEEN ? AND ?`
    : `json_each(?) AS wanted CROSS JOIN messages m ON m.id = wanted.value ${join}`
  const columns = `group_concat(m.id & 4294967295), group_concat(coalesce(${value}, 'null'))`
  const statement = prepared(db, `SELECT ${columns} FROM ${from}`, 'array')
  const bound = isRange
    ? [rowIdOf(page[0]), rowIdOf(page.at(-1))]
    : [JSON.stringify(page.map(rowIdOf))]
  const [uids, values] = /** @type {(string | null)[]} */ (statement.get(...bound))
  return { uids: numbersIn(uids ?? null), values: numbersIn(values ?? null) }
}

/**
 * @param {MailboxView} view
 * @param {number | undefined} slot
 * @returns {number} Infinity for none
 */
const uidOf = (view, slot) => (slot === undefined ? Infinity : (view.uids[slot] ?? Infinity))
