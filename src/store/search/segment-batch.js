/**
 * The tokens of some contents, gathered until they become a segment.
 */
import { fromBinary, TERM_CLASS, toBinary } from './segment-format.js'
import { SegmentWriter } from './segment-writer.js'

/**
 * @typedef {import('./tokens.js').TokenCollector} TokenCollector
 * @typedef {Map<string, number | number[]>} TermMap - postings by token; most tokens have one
 *
 * @typedef {object} NewSegment
 * @property {number} base
 * @property {number} last
 * @property {number} contentCount
 * @property {Buffer} directory
 * @property {import('./segment-writer.js').Block[]} blocks
 */

/** Contents whose ids lie further apart are not in one segment: postings have 32 bits, and sets of them are bits. */
export const MAX_RANGE = 2 ** 26

/** One segment in the making. */
export class SegmentBatch {
  #base = -1
  #last = -1
  /** @type {number[]} */
  #contents = []
  /** @type {TermMap} */
  #whole = new Map()
  /** @type {TermMap} */
  #grams = new Map()
  /** @type {TermMap} */
  #ids = new Map()
  #postingCount = 0

  /** @returns {number} what decides about its memory */
  get postingCount() {
    return this.#postingCount
  }

  /**
   * @param {number} contentId
   * @returns {boolean} whether it may come in
   */
  hasRoomFor(contentId) {
    return this.#base === -1 || contentId - this.#base < MAX_RANGE
  }

  /**
   * @param {number} contentId - above the one before
   * @param {{ body: TokenCollector, header: TokenCollector, ids: Set<string> }} tokens
   */
  add(contentId, { body, header, ids }) {
    if (this.#base === -1) this.#base = contentId
    this.#last = contentId
    const posting = (contentId - this.#base) * 2
    this.#contents.push(posting)
    for (const [side, { whole, grams }] of [body, header].entries()) {
      note(this.#whole, whole, posting + side)
      note(this.#grams, grams, posting + side)
    }
    note(this.#ids, ids, posting + 1)
    this.#postingCount += body.size + header.size + ids.size
  }

  /** @returns {NewSegment | null} null when nothing is in it */
  toSegment() {
    if (this.#base === -1) return null
    const writer = new SegmentWriter()
    writer.add(TERM_CLASS.CONTENTS, '', this.#contents)
    for (const [term, postings] of inOrder(this.#whole))
      writer.add(TERM_CLASS.WHOLE, term, postings)
    for (const [term, postings] of inOrder(this.#grams)) writer.add(TERM_CLASS.GRAM, term, postings)
    for (const [term, postings] of inOrder(this.#ids)) writer.add(TERM_CLASS.ID, term, postings)
    const directory = writer.finish()
    return {
      base: this.#base,
      last: this.#last,
      contentCount: this.#contents.length,
      directory,
      blocks: writer.takeBlocks()
    }
  }
}

/**
 * @param {TermMap} terms
 * @param {Set<string>} tokens
 * @param {number} posting
 */
function note(terms, tokens, posting) {
  for (const token of tokens) {
    const known = terms.get(token)
    if (known === undefined) terms.set(token, posting)
    else if (typeof known === 'number') terms.set(token, [known, posting])
    else known.push(posting)
  }
}

/**
 * @param {TermMap} terms
 * @returns {Generator<[string, number[]]>} in the order of a segment
 */
function* inOrder(terms) {
  // Only the terms are sorted: pairs of them and their postings would be most of the memory of a large batch.
  const sorted = Array.from(terms.keys(), toBinary).sort()
  for (const term of sorted) {
    const postings = terms.get(fromBinary(term)) ?? []
    yield [term, typeof postings === 'number' ? [postings] : postings]
  }
}
