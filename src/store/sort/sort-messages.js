/**
 * SORT: messages in an order that the client asks for, from what is stored of them. RFC 5256 §3 (BASE.6.4.SORT),
 * RFC 5957 §3 and §4 (DISPLAYFROM, DISPLAYTO).
 */
import { Slicer } from '../../support/slicer.js'
import { sortByKey } from './radix-sort.js'
import { isNumberKey } from './read-values.js'
import { numberColumn, rankColumn, slotsIn } from './sort-columns.js'

/** @import { AccountStore } from '../account-store.js' */
/** @import { MailboxView } from '../mailbox-view.js' */
/** @import { SortKey } from './read-values.js' */
/** @import { SortColumn } from './sort-columns.js' */

/** Slots between two looks at the clock: below a millisecond. */
const STEP_SLOTS = 16_384

/** @typedef {{ key: SortKey, isReverse: boolean }} SortCriterion */

/**
 * @typedef {object} SortRequest
 * @property {AccountStore} store
 * @property {MailboxView} view - whose slots stay in place meanwhile
 * @property {readonly number[]} slots - of the messages to sort, ascending
 * @property {readonly SortCriterion[]} criteria - the first counts most
 * @property {AbortSignal} [signal] - ends the work early
 */

/**
 * @param {SortRequest} request
 * @returns {Promise<number[]>} the slots in order; messages that have gone meanwhile are left out
 * @throws {import('../../errors.js').MailError} what the store throws
 * @throws the signal's reason when it was aborted
 */
export async function sortMessages({ store, view, slots, criteria, signal }) {
  const slicer = new Slicer(signal)
  const source = { store, view }
  /** @type {{ column: SortColumn, isReverse: boolean }[]} */
  const orders = []
  const seen = new Set()
  for (const { key, isReverse } of criteria) {
    // A key that is named again decides nothing: messages that are still equal are equal by it.
    if (seen.has(key)) continue
    seen.add(key)
    const column = isNumberKey(key)
      ? await numberColumn(source, key, slots, slicer)
      : await rankColumn(source, key, slots, slicer)
    orders.push({ column, isReverse })
  }
  const columns = orders.map(({ column }) => column)
  let sorted = await slotsIn(columns, slots, slicer)
  // What counts least goes first: whatever is equal then keeps its order.
  for (const { column, isReverse } of orders.toReversed())
    sorted = await sortByKey(sorted, column, isReverse, slicer)
  /** @type {number[]} */
  const ordered = []
  for (const slot of sorted) {
    if (ordered.length % STEP_SLOTS === 0) await slicer.breathe()
    ordered.push(slot)
  }
  return ordered
}
