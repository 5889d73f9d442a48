/**
 * Texts as whole numbers that compare as they do: equal texts have one rank, the empty one has the first.
 */
import { collationKey } from './collation.js'
import { readTexts } from './read-values.js'
import { sortTexts } from './sort-texts.js'

/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from './read-pages.js' */
/** @import { TextKey } from './read-values.js' */

/** @typedef {Readonly<Uint32Array>} Ranks - by slot; 0 for a message that has none */

/** Of the empty text, also where no message has it. */
export const EMPTY_RANK = 1

/** Texts or ranks between two looks at the clock: below a millisecond. */
const STEP = 4096

/**
 * @param {MessageSource} source
 * @param {TextKey} key
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {Promise<Ranks>} of these
 */
export async function makeRanks(source, key, slots, slicer) {
  /** @type {string[]} */
  const texts = []
  // Few people have written many messages. Most subjects are different: to look each up would cost more than it spares.
  /** @type {Map<string, number> | null} */
  const known = key === 'SUBJECT' ? null : new Map()
  const ranks = new Uint32Array(source.view.length)
  const collect = (/** @type {number} */ slot, /** @type {string} */ text) => {
    const collated = collationKey(text)
    const index = known?.get(collated) ?? texts.length
    if (index === texts.length) {
      texts.push(collated)
      known?.set(collated, index)
    }
    ranks[slot] = index + 1
  }
  await readTexts(source, key, slots, collect, slicer)
  const rankOf = await rankTexts(texts, slicer)
  for (const [nth, slot] of slots.entries()) {
    if (nth % STEP === 0) await slicer.breathe()
    ranks[slot] = rankOf[ranks[slot] ?? 0] ?? 0
  }
  return ranks
}

/**
 * @param {readonly string[]} texts - collation keys
 * @param {Slicer} slicer
 * @returns {Promise<Uint32Array>} their ranks, from the second element on
 */
async function rankTexts(texts, slicer) {
  const rankOf = new Uint32Array(texts.length + 1)
  let rank = EMPTY_RANK
  let last = ''
  for (const [nth, index] of (await sortTexts(texts, slicer)).entries()) {
    if (nth % STEP === 0) await slicer.breathe()
    const text = texts[index] ?? ''
    if (text !== last) rank++
    last = text
    rankOf[index + 1] = rank
  }
  return rankOf
}
