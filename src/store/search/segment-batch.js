/**
 * The tokens of some contents, gathered until they become a segment.
 */
import { grown } from '../../support/grown.js'
import { fromBinary, TERM_CLASS, toBinary } from './segment-format.js'
import { BREATH_TERMS, SegmentWriter } from './segment-writer.js'
import { BatchTokens } from './token-collector.js'

/**
 * @typedef {import('./token-collector.js').TokenCollector} TokenCollector
 *
 * @typedef {object} NewSegment
 * @property {number} base
 * @property {number} last
 * @property {number} contentCount
 * @property {Buffer} directory
 * @property {import('./segment-writer.js').Block[]} blocks
 */

/** More than there ever are of one class in a batch. */
const MAX_TERMS = 2 ** 21

/** Postings that there is room for at first. */
const INITIAL_POSTINGS = 4096

/** Contents whose ids lie further apart are not in one segment: postings have 32 bits, and sets of them are bits. */
export const MAX_RANGE = 2 ** 26

/** Which token is in which content, in the order in which they came. */
class Postings {
  /** @type {Int32Array} */
  #tokens = new Int32Array(INITIAL_POSTINGS)
  /** @type {Int32Array} */
  #postings = new Int32Array(INITIAL_POSTINGS)
  #length = 0

  /**
   * @param {readonly number[]} tokens
   * @param {number} posting - not below the one before
   */
  add(tokens, posting) {
    const needed = this.#length + tokens.length
    if (needed > this.#tokens.length) {
      const room = Math.max(needed, this.#tokens.length * 2)
      this.#tokens = grown(this.#tokens, new Int32Array(room))
      this.#postings = grown(this.#postings, new Int32Array(room))
    }
    this.#tokens.set(tokens, this.#length)
    this.#postings.fill(posting, this.#length, needed)
    this.#length = needed
  }

  /**
   * @param {number} tokenCount
   * @returns {{ ends: Int32Array, postings: Int32Array }} all lists one behind the other, and where that of each token ends
   */
  byToken(tokenCount) {
    const ends = new Int32Array(tokenCount + 1)
    const tokens = this.#tokens.subarray(0, this.#length)
    for (const token of tokens) ends[token + 1] = /** @type {number} */ (ends[token + 1]) + 1
    for (let token = 0; token < tokenCount; token++)
      ends[token + 1] =
        /** @type {number} */ (ends[token + 1]) + /** @type {number} */ (ends[token])
    const postings = new Int32Array(this.#length)
    for (const [at, token] of tokens.entries()) {
      const place = /** @type {number} */ (ends[token])
      postings[place] = /** @type {number} */ (this.#postings[at])
      ends[token] = place + 1
    }
    return { ends, postings }
  }
}

/** One segment in the making. */
export class SegmentBatch {
  tokens = new BatchTokens()
  #base = -1
  #last = -1
  /** @type {number[]} */
  #contents = []
  #whole = new Postings()
  #grams = new Postings()
  /** @type {Map<string, number[]>} */
  #ids = new Map()
  #postingCount = 0

  /** @returns {number} postings, or tokens if these are more: what decides about its memory */
  get size() {
    return Math.max(this.#postingCount, this.tokens.whole.size + this.tokens.grams.size)
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
   * @param {{ body: TokenCollector, header: TokenCollector, ids: Set<string> }} tokens - in the tables of this batch
   */
  add(contentId, { body, header, ids }) {
    if (this.#base === -1) this.#base = contentId
    this.#last = contentId
    const posting = (contentId - this.#base) * 2
    this.#contents.push(posting)
    for (const [side, { whole, grams }] of [body, header].entries()) {
      this.#whole.add(whole, posting + side)
      this.#grams.add(grams, posting + side)
    }
    for (const id of ids) {
      const known = this.#ids.get(id)
      if (known) known.push(posting + 1)
      else this.#ids.set(id, [posting + 1])
    }
    this.#postingCount += body.size + header.size + ids.size
  }

  /**
   * @param {() => Promise<unknown>} breathe - called every now and then
   * @returns {Promise<NewSegment | null>} null when nothing is in it
   */
  async toSegment(breathe) {
    if (this.#base === -1) return null
    const writer = new SegmentWriter()
    writer.add(TERM_CLASS.CONTENTS, '', this.#contents)
    await writeTokens(writer, TERM_CLASS.WHOLE, this.tokens.whole, this.#whole, breathe)
    await writeTokens(writer, TERM_CLASS.GRAM, this.tokens.grams, this.#grams, breathe)
    for (const term of Array.from(this.#ids.keys(), toBinary).sort())
      writer.add(TERM_CLASS.ID, term, this.#ids.get(fromBinary(term)) ?? [])
    const directory = await writer.finish(breathe)
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
 * @param {SegmentWriter} writer
 * @param {number} termClass
 * @param {import('./token-table.js').TokenTable} table
 * @param {Postings} all
 * @param {() => Promise<unknown>} breathe
 */
async function writeTokens(writer, termClass, table, all, breathe) {
  const { ends, postings } = all.byToken(table.size)
  const startOf = (/** @type {number} */ token) => (token === 0 ? 0 : (ends[token - 1] ?? 0))
  /** @type {string[]} */
  const terms = []
  for (let token = 0; token < table.size; token++) {
    if (token % BREATH_TERMS === 0) await breathe()
    // A content that was left out may have brought tokens that are in no other.
    terms.push(startOf(token) === ends[token] ? '' : toBinary(table.textOf(token)))
  }
  const order = await inOrder(terms, breathe)
  for (const [nth, token] of order.entries()) {
    if (nth % BREATH_TERMS === 0) await breathe()
    const range = { from: startOf(token), to: ends[token] ?? 0 }
    writer.add(termClass, /** @type {string} */ (terms[token]), postings, range)
  }
}

/**
 * By the first four bytes as numbers, which the engine sorts in a tenth of the time of strings, and by the strings where
 * these are the same.
 *
 * @param {readonly string[]} terms - binary; empty ones are left out
 * @param {() => Promise<unknown>} breathe
 * @returns {Promise<number[]>} their places in the order of a segment
 */
async function inOrder(terms, breathe) {
  const keys = new Float64Array(terms.length)
  let count = 0
  for (const [at, term] of terms.entries())
    if (term !== '') keys[count++] = prefixOf(term) * MAX_TERMS + at
  const sorted = keys.subarray(0, count).sort()
  const order = Array.from(sorted, (key) => key % MAX_TERMS)
  let nextBreath = 0
  for (let from = 0; from < count;) {
    if (from >= nextBreath) {
      nextBreath = from + BREATH_TERMS
      await breathe()
    }
    const prefix = Math.floor((sorted[from] ?? 0) / MAX_TERMS)
    let to = from + 1
    while (to < count && Math.floor((sorted[to] ?? 0) / MAX_TERMS) === prefix) to++
    if (to - from > 1) {
      const alike = order.slice(from, to)
      alike.sort((left, right) => ((terms[left] ?? '') < (terms[right] ?? '') ? -1 : 1))
      for (const [index, at] of alike.entries()) order[from + index] = at
    }
    from = to
  }
  return order
}

/**
 * @param {string} term - binary
 * @returns {number} its first four bytes; none has NUL
 */
function prefixOf(term) {
  let prefix = 0
  for (let at = 0; at < 4; at++)
    prefix = prefix * 256 + (at < term.length ? term.charCodeAt(at) : 0)
  return prefix
}
