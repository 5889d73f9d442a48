/**
 * Texts as whole numbers that compare as they do: equal texts have one rank, the empty one has the first.
 */
import { collationKey } from './collation.js'
import { readTexts } from './read-values.js'
import { sortTexts } from './sort-texts.js'

/** @import { MailboxView } from '../mailbox-view.js' */
/** @import { Slicer } from '../../support/slicer.js' */
/** @import { MessageSource } from './read-pages.js' */
/** @import { TextKey } from './read-values.js' */

/** @typedef {Readonly<Uint32Array>} Ranks - by slot; 0 for a message that has none */

/** Of the empty text, also where no message has it. */
export const EMPTY_RANK = 1

/** Texts or ranks between two looks at the clock: below a millisecond. */
const STEP_TEXTS = 4096

/** Texts of messages, of which ranks are to be made. */
export class TextCollector {
  /** @type {string[]} */
  #texts = []
  #indexes
  #known

  /**
   * @param {TextKey} key
   * @param {MailboxView} view - whose slots stay in place meanwhile
   */
  constructor(key, view) {
    /** By slot, one more than the index of its text. */
    this.#indexes = new Uint32Array(view.length)
    /**
     * Indexes of `#texts`, for names: few people have written many messages. Most subjects are different: looking each up would
     * cost more than it spares.
     *
     * @type {Map<string, number> | null}
     */
    this.#known = key === 'SUBJECT' ? null : new Map()
  }

  /**
   * @param {number} slot
   * @param {string} text
   */
  add(slot, text) {
    const texts = this.#texts
    const collated = collationKey(text)
    const index = this.#known?.get(collated) ?? texts.length
    if (index === texts.length) {
      texts.push(collated)
      this.#known?.set(collated, index)
    }
    this.#indexes[slot] = index + 1
  }

  /**
   * @param {readonly number[]} slots - of all messages whose texts are here: they may be few of a large mailbox
   * @param {Slicer} slicer
   * @returns {Promise<Ranks>}
   */
  async ranks(slots, slicer) {
    const rankOf = await rankTexts(this.#texts, slicer)
    const ranks = new Uint32Array(this.#indexes.length)
    for (const [nth, slot] of slots.entries()) {
      if (nth % STEP_TEXTS === 0) await slicer.breathe()
      ranks[slot] = rankOf[this.#indexes[slot] ?? 0] ?? 0
    }
    return ranks
  }
}

/**
 * @param {MessageSource} source
 * @param {TextKey} key
 * @param {readonly number[]} slots - ascending
 * @param {Slicer} slicer
 * @returns {Promise<TextCollector>} with the texts of these
 */
export async function collectTexts(source, key, slots, slicer) {
  const collector = new TextCollector(key, source.view)
  await readTexts(source, key, slots, (slot, text) => collector.add(slot, text), slicer)
  return collector
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
    if (nth % STEP_TEXTS === 0) await slicer.breathe()
    const text = texts[index] ?? ''
    if (text !== last) rank++
    last = text
    rankOf[index + 1] = rank
  }
  return rankOf
}
