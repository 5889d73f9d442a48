/**
 * Goes through a segment from its first term to its last.
 */
import { decodeList } from './postings.js'
import {
  decodeDirectory,
  decodeTermBlock,
  POSTING_BLOCK_BYTES,
  TERM_CLASS
} from './segment-format.js'
import { readDirectory, readPostingBlock, readTermBlock } from './segment-rows.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** No term of a segment has this class: the cursor is at its end. */
const AT_END = -1

/** The terms of one segment, but for those of class PART, which every segment makes of its own. */
export class SegmentCursor {
  termClass = AT_END
  term = ''
  base
  #segmentId
  #directory
  #blockNumber = -1
  /** @type {string[]} */
  #terms = []
  /** @type {number[]} */
  #offsets = []
  #index = -1
  #postingNumber = -1
  /** @type {Buffer} */
  #postings = Buffer.alloc(0)

  /**
   * @param {Database} db
   * @param {import('./segment-rows.js').SegmentRow} row
   */
  constructor(db, { id, base }) {
    this.base = base
    this.#segmentId = id
    this.#directory = decodeDirectory(readDirectory(db, id))
    this.advance(db)
  }

  /** @returns {boolean} whether there is no present term */
  get isAtEnd() {
    return this.termClass === AT_END
  }

  /**
   * Goes to the next term.
   *
   * @param {Database} db
   */
  advance(db) {
    if (++this.#index >= this.#terms.length) {
      const termClass = this.#directory.classes[++this.#blockNumber]
      if (termClass === undefined || termClass === TERM_CLASS.PART) {
        this.termClass = AT_END
        return
      }
      const block = decodeTermBlock(readTermBlock(db, this.#segmentId, this.#blockNumber))
      this.#terms = block.terms.toString('latin1', 1, block.terms.length - 1).split('\xff')
      this.#offsets = block.offsets
      this.#index = 0
      this.termClass = termClass
    }
    this.term = /** @type {string} */ (this.#terms[this.#index])
  }

  /**
   * @param {Database} db
   * @returns {Int32Array} of the present term
   */
  postings(db) {
    return decodeList(this.#list(db))
  }

  /**
   * @param {Database} db
   * @param {import('./postings.js').PostingList} list - gets those of the present term at its end
   * @param {number} shift - added to each of them
   */
  pushPostings(db, list, shift) {
    list.pushEncoded(this.#list(db), shift)
  }

  /**
   * @param {Database} db
   * @returns {Buffer} the list of the present term
   */
  #list(db) {
    const from = /** @type {number} */ (this.#offsets[this.#index])
    const to = /** @type {number} */ (this.#offsets[this.#index + 1])
    /** @type {Buffer[]} */
    const pieces = []
    for (let at = from; at < to;) {
      const number = Math.floor(at / POSTING_BLOCK_BYTES)
      if (number !== this.#postingNumber) {
        this.#postings = readPostingBlock(db, this.#segmentId, number)
        this.#postingNumber = number
      }
      const start = number * POSTING_BLOCK_BYTES
      pieces.push(this.#postings.subarray(at - start, to - start))
      at = start + POSTING_BLOCK_BYTES
    }
    return pieces.length === 1 ? /** @type {Buffer} */ (pieces[0]) : Buffer.concat(pieces)
  }
}
