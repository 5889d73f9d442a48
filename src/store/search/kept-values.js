/**
 * Dates and sizes of all messages, which stay with the view once a search has asked for them (sort-columns.js): none ever
 * changes, and mail programs ask again for what has come since a day.
 */
import { NOT_SENT, readStored } from '../sort/read-values.js'
import { keepNumber, roomyColumn, SHIFT } from '../sort/sort-columns.js'
import { boundsOf } from './row-bounds.js'
import { columnOf } from './row-keys.js'
import { NO, YES } from './verdict-page.js'

/** @import { SearchKey } from '../../imap/protocol/values/search-key.js' */
/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MailboxView } from '../mailbox-view.js' */
/** @import { MessageSource } from '../sort/read-pages.js' */
/** @import { ColumnKey } from '../sort/sort-columns.js' */
/** @import { ViewTest } from './view-keys.js' */

/** Slots between two looks at the clock: below a millisecond. */
const STEP_SLOTS = 16_384

/** Messages that have come since a column was made, and are read for it in any case: some 2 ms. */
const NEW_VALUES = 1024

/** Before all dates, seconds since 1970. */
const EARLIEST = NOT_SENT + 1

/**
 * @param {MessageSource} source
 * @param {Iterable<ColumnKey>} keys
 * @param {object} wanted
 * @param {number} wanted.length - slots below it count
 * @param {boolean} wanted.mayRead - whether a column may be made, or most of it; otherwise some new messages are read, no more
 * @param {Slicer} slicer
 * @returns {Promise<Set<ColumnKey>>} those that say something of every message that is there
 */
export async function completeColumns(source, keys, wanted, slicer) {
  /** @type {Set<ColumnKey>} */
  const complete = new Set()
  for (const key of keys) {
    const missing = await missingSlots(source.view, key, wanted, slicer)
    if (missing === null) continue
    /** @type {(slot: number, value: number) => void} */
    const keep = (slot, value) => keepNumber(source.view, key, slot, value)
    await readStored(source, key, missing, keep, slicer)
    const column = roomyColumn(source.view, key)
    // What must be made anew is a thread's work where it is much. Others may have gone without the view knowing it yet.
    if (missing.every((slot) => column[slot])) complete.add(key)
  }
  return complete
}

/**
 * @param {MailboxView} view
 * @param {ColumnKey} key
 * @param {{ length: number, mayRead: boolean }} wanted
 * @param {Slicer} slicer
 * @returns {Promise<number[] | null>} slots of messages that are there and of which it says nothing; null: too many
 */
async function missingSlots(view, key, { length, mayRead }, slicer) {
  if (!mayRead && !view.sortColumns.has(key)) return null
  const column = roomyColumn(view, key)
  /** @type {number[]} */
  const missing = []
  for (let slot = 0; slot < length; slot++) {
    if (slot % STEP_SLOTS === 0) await slicer.breathe()
    if (column[slot] !== 0 || view.isExpunged(slot)) continue
    if (missing.length === NEW_VALUES && !mayRead) return null
    missing.push(slot)
  }
  return missing
}

/**
 * @param {SearchKey} key - for which there is a column (columnOf)
 * @param {MailboxView} view - which keeps it
 * @param {number} nowSeconds - YOUNGER and OLDER count from it
 * @returns {ViewTest} for messages of which the column says something
 */
export function compileKeptKey(key, view, nowSeconds) {
  const column = /** @type {ColumnKey} */ (columnOf(key))
  const bounds = boundsOf(key, nowSeconds)
  const low = Math.max(bounds.low, EARLIEST) + SHIFT
  const high = bounds.high + SHIFT
  return {
    test: (slot) => {
      const value = /** @type {number} */ (view.sortColumns.get(column)?.[slot])
      return value >= low && value <= high
    },
    fill: (first, target) => {
      // Looked up each time: it is replaced when the view grows.
      const values = roomyColumn(view, column)
      for (let at = 0; at < target.length; at++) {
        const value = /** @type {number} */ (values[first + at])
        target[at] = value >= low && value <= high ? YES : NO
      }
    }
  }
}
