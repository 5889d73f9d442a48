/**
 * Turns terms in their order into the blocks of a segment. What is in memory is the open blocks and, of the words, which
 * parts are in which block.
 */
import {
  EDGE,
  encodeDirectory,
  encodeTermBlock,
  packBlock,
  POSTING_BLOCK_BYTES,
  TERM_BLOCK_BYTES,
  TERM_CLASS
} from './segment-format.js'
import { ByteSink } from './postings.js'

/** Terms that are written between two breaths: about a millisecond. */
export const BREATH_TERMS = 500

/** With fewer blocks of words all of them are looked through. */
const MIN_PARTED_BLOCKS = 4

/** @typedef {{ isPosting: boolean, number: number, data: Buffer }} Block */

/** One segment that is being written. */
export class SegmentWriter {
  /** @type {Block[]} those that are complete and were not taken yet */
  #blocks = []
  #postings = new ByteSink(2 * POSTING_BLOCK_BYTES)
  #postingBlocks = 0
  /** Where in the stream the next list begins. */
  #offset = 0
  #terms = new ByteSink(2 * TERM_BLOCK_BYTES)
  /** @type {number[]} */
  #lengths = []
  #firstOffset = 0
  /** @type {number[]} */
  #classes = []
  /** @type {string[]} */
  #firsts = []
  #class = -1
  /** @type {Map<number, number[]>} blocks of words, by three bytes as a number */
  #parts = new Map()
  #blocksOfWords = 0
  #firstOfWords = 0

  /**
   * @param {number} termClass - not below that of the term before
   * @param {string} term - above the one before, of one class
   * @param {ArrayLike<number>} postings - ascending, not empty
   * @param {{ from: number, to: number }} [range] - of `postings`; all by default
   */
  add(termClass, term, postings, range) {
    const isFull = this.#terms.length >= TERM_BLOCK_BYTES || this.#lengths.length >= 4096
    if (termClass !== this.#class || isFull) {
      this.#endTermBlock()
      this.#class = termClass
      this.#classes.push(termClass)
      this.#firsts.push(term)
      this.#firstOffset = this.#offset
      this.#terms.pushByte(EDGE)
      if (termClass === TERM_CLASS.WHOLE && this.#blocksOfWords++ === 0)
        this.#firstOfWords = this.#classes.length - 1
    }
    this.#terms.pushBinary(term)
    this.#terms.pushByte(EDGE)
    const bytes = this.#postings.pushList(postings, range)
    this.#lengths.push(bytes)
    this.#offset += bytes
    while (this.#postings.length >= POSTING_BLOCK_BYTES) this.#endPostingBlock(POSTING_BLOCK_BYTES)
  }

  /** @returns {Block[]} those that have been completed since the last call */
  takeBlocks() {
    const blocks = this.#blocks
    this.#blocks = []
    return blocks
  }

  /**
   * @param {() => Promise<unknown>} breathe - called every now and then
   * @returns {Promise<Buffer>} the directory; the last blocks can be taken
   */
  async finish(breathe) {
    this.#endTermBlock()
    if (this.#blocksOfWords >= MIN_PARTED_BLOCKS) {
      const parts = [...this.#parts].sort(([left], [right]) => left - right)
      for (const [nth, [part, blocks]] of parts.entries()) {
        if (nth % BREATH_TERMS === 0) await breathe()
        const term = String.fromCharCode(part >> 16, (part >> 8) & 0xff, part & 0xff)
        this.add(TERM_CLASS.PART, term, blocks)
      }
      this.#endTermBlock()
    }
    if (this.#postings.length > 0) this.#endPostingBlock(this.#postings.length)
    return encodeDirectory({ classes: this.#classes, firsts: this.#firsts })
  }

  #endTermBlock() {
    if (this.#lengths.length === 0) return
    const terms = this.#terms.take()
    const number = this.#classes.length - 1
    if (this.#class === TERM_CLASS.WHOLE) this.#noteParts(terms, number - this.#firstOfWords)
    const raw = encodeTermBlock(terms, this.#lengths, this.#firstOffset)
    this.#blocks.push({ isPosting: false, number, data: packBlock(raw) })
    this.#lengths = []
  }

  /** @param {number} bytes */
  #endPostingBlock(bytes) {
    const data = packBlock(this.#postings.take(bytes))
    this.#blocks.push({ isPosting: true, number: this.#postingBlocks++, data })
  }

  /**
   * @param {Buffer} terms - of a block of words
   * @param {number} number - of the block among those of words
   */
  #noteParts(terms, number) {
    for (let at = 2; at < terms.length; at++) {
      const last = /** @type {number} */ (terms[at])
      const middle = /** @type {number} */ (terms[at - 1])
      const first = /** @type {number} */ (terms[at - 2])
      if (first === EDGE || middle === EDGE || last === EDGE) continue
      const part = (first << 16) | (middle << 8) | last
      const blocks = this.#parts.get(part)
      if (!blocks) this.#parts.set(part, [number])
      else if (blocks[blocks.length - 1] !== number) blocks.push(number)
    }
  }
}
