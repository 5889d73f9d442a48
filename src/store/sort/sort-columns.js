/**
 * What messages are sorted by, as whole numbers by slot. The columns are kept with the view of their mailbox: none of a
 * message's values ever changes, and webmail asks for the same order again for each page that it shows. Texts are kept as ranks,
 * which take a tenth of their memory.
 *
 * In each column 0 stands for a message of which nothing is known: it has come since, was not asked for, or has gone.
 */
import { grown } from '../../support/grown.js'
import { filterInSlices } from '../../support/slicer.js'
import { insertRanks } from './insert-ranks.js'
import { readNumbers } from './read-values.js'
import { collectTexts } from './text-ranks.js'

/** @import { MailboxView } from '../mailbox-view.js' */
/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from './read-pages.js' */
/** @import { LocalKey, NumberKey, TextKey } from './read-values.js' */
/** @import { Ranks, TextCollector } from './text-ranks.js' */

/** @typedef {Readonly<Float64Array | Uint32Array>} SortColumn */

/** Slots between two looks at the clock: below a millisecond. */
const STEP_SLOTS = 16_384

/** @typedef {NumberKey | LocalKey} ColumnKey */

/** Added to dates and sizes, so that all are above 0: no date is as far from 1970. */
export const SHIFT = 2 ** 43

/**
 * @param {MessageSource} source
 * @param {ColumnKey} key
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {Promise<Readonly<Float64Array>>} in which these have numbers that compare as their dates or sizes do; 0 for one that
 *   has gone meanwhile
 */
export async function numberColumn(source, key, slots, slicer) {
  const { view } = source
  const missing = await without(view.sortColumns.get(key), slots, slicer)
  const keep = (/** @type {number} */ slot, /** @type {number} */ value) =>
    keepNumber(view, key, slot, value)
  await readNumbers(source, key, missing, keep, slicer)
  return roomyColumn(view, key)
}

/**
 * @param {MailboxView} view
 * @param {ColumnKey} key
 * @param {number} slot
 * @param {number} value - of a date, seconds; of a size, bytes
 */
export function keepNumber(view, key, slot, value) {
  // The column is looked up each time: it is replaced when the view grows.
  roomyColumn(view, key)[slot] = SHIFT + value
}

/**
 * @param {MailboxView} view
 * @param {ColumnKey} key
 * @returns {Float64Array} with room for each slot
 */
export function roomyColumn(view, key) {
  const known = /** @type {Float64Array | undefined} */ (view.sortColumns.get(key))
  const capacity = view.uids.length
  if (known?.length === capacity) return known
  const column = new Float64Array(capacity)
  if (known) grown(known, column)
  view.sortColumns.set(key, column)
  return column
}

/**
 * @param {MessageSource} source
 * @param {TextKey} key
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @param {TextCollector | null} [collected] - the texts of these, where they have been read already
 * @returns {Promise<Ranks>} in which these have numbers that compare as their texts do; 0 for one that has gone meanwhile
 */
export async function rankColumn(source, key, slots, slicer, collected = null) {
  const { view } = source
  // `kept` stays as it is, because others may be sorting by it: the new ranks take its place.
  const kept = /** @type {Ranks | undefined} */ (view.sortColumns.get(key))
  const missing = await without(kept, slots, slicer)
  if (kept && missing.length === 0) return kept
  const inserted = kept ? await insertRanks(source, key, { kept, missing }, slicer) : null
  const texts = async () => collected ?? (await collectTexts(source, key, slots, slicer))
  const ranks = inserted ?? (await (await texts()).ranks(slots, slicer))
  // Ranks of a few messages alone are of no use to whoever asks for all.
  const isMost = inserted !== null || slots.length * 2 >= view.aliveCount
  if (isMost && view.sortColumns.get(key) === kept) view.sortColumns.set(key, ranks)
  return ranks
}

/**
 * @param {SortColumn | Readonly<Uint8Array> | undefined} column
 * @param {readonly number[]} slots
 * @param {Slicer} slicer
 * @returns {Promise<readonly number[]>} those of which it says nothing
 */
async function without(column, slots, slicer) {
  return column === undefined ? slots : await filterInSlices(slots, (slot) => !column[slot], slicer)
}

/**
 * @param {readonly SortColumn[]} columns
 * @param {readonly number[]} slots
 * @param {Slicer} slicer
 * @returns {Promise<Uint32Array>} those of which each column says something
 */
export async function slotsIn(columns, slots, slicer) {
  const found = new Uint32Array(slots.length)
  let count = 0
  for (const [nth, slot] of slots.entries()) {
    if (nth % STEP_SLOTS === 0) await slicer.breathe()
    if (columns.every((column) => column[slot])) found[count++] = slot
  }
  return found.subarray(0, count)
}
