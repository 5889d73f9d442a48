/**
 * Ranks for a few messages that have come to many (text-ranks.js). No text of the many is kept: only those are read that a
 * binary search looks at.
 */
import { countBelow } from '../../support/count-below.js'
import { collationKey, compareValues } from './collation.js'
import { sortByKey } from './radix-sort.js'
import { readTexts } from './read-values.js'
import { EMPTY_RANK } from './text-ranks.js'

/** @import { MailboxView } from '../mailbox-view.js' */
/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from './read-pages.js' */
/** @import { TextKey } from './read-values.js' */
/** @import { Ranks } from './text-ranks.js' */

/** Finding the place of one text takes as long as reading so many texts in a row. */
const LOOKUP_COST = 512

/** Slots between two looks at the clock: below a millisecond. */
const STEP_SLOTS = 16_384

/**
 * @param {MessageSource} source
 * @param {TextKey} key
 * @param {object} messages
 * @param {Ranks} messages.kept - of all but `missing`; stays as it is
 * @param {readonly number[]} messages.missing - slots, ascending
 * @param {Slicer} slicer
 * @returns {Promise<Ranks | null>} null when it is less work to make all ranks anew, or when a message whose text is needed has
 *   gone meanwhile
 */
export async function insertRanks(source, key, { kept, missing }, slicer) {
  const ranked = await sortByKey(rankedSlots(source.view, kept), kept, false, slicer)
  if (missing.length * LOOKUP_COST > ranked.length) return null
  /** @type {Map<number, string>} */
  const texts = new Map()
  const read = (/** @type {readonly number[]} */ slots) =>
    readTexts(source, key, slots, (slot, text) => texts.set(slot, collationKey(text)), slicer)
  await read(missing)
  const added = new Map(texts)

  /** @type {Map<string, number>} the rank of an equal text, or else of the next one */
  const places = new Map()
  /** @type {number[]} ranks before each of which a new text comes, ascending */
  const pushed = []
  for (const text of [...new Set(added.values())].sort(compareValues)) {
    let low = 0
    let high = ranked.length
    while (low < high) {
      const middle = (low + high) >>> 1
      const slot = /** @type {number} */ (ranked[middle])
      if (!texts.has(slot)) await read([slot])
      const other = texts.get(slot)
      if (other === undefined) return null
      if (other < text) low = middle + 1
      else high = middle
    }
    const next = ranked[low]
    const last = kept[ranked.at(-1) ?? 0] ?? 0
    const rank = next === undefined ? last + 1 : (kept[next] ?? 0)
    places.set(text, text === '' ? EMPTY_RANK : rank + pushed.length)
    if (text !== '' && (next === undefined || texts.get(next) !== text)) pushed.push(rank)
  }
  const ranks = await pushedUp(kept, Uint32Array.from(pushed), source.view.length, slicer)
  for (const [slot, text] of added) ranks[slot] = places.get(text) ?? 0
  return ranks
}

/**
 * @param {MailboxView} view
 * @param {Ranks} kept
 * @returns {Uint32Array} slots of messages that are there and have a rank, ascending
 */
function rankedSlots(view, kept) {
  const slots = new Uint32Array(kept.length)
  let count = 0
  for (let slot = 0; slot < kept.length; slot++)
    if (kept[slot] !== 0 && !view.isExpunged(slot)) slots[count++] = slot
  return slots.subarray(0, count)
}

/**
 * @param {Ranks} kept
 * @param {Uint32Array} pushed - ranks, ascending: for each there, it and all higher ones go up by one
 * @param {number} length - of what is returned, at least
 * @param {Slicer} slicer
 * @returns {Promise<Uint32Array>}
 */
async function pushedUp(kept, pushed, length, slicer) {
  const ranks = new Uint32Array(Math.max(length, kept.length))
  for (let slot = 0; slot < kept.length; slot++) {
    if (slot % STEP_SLOTS === 0) await slicer.breathe()
    const rank = /** @type {number} */ (kept[slot])
    if (rank > 0) ranks[slot] = rank + countBelow(pushed, rank + 1)
  }
  return ranks
}
