/**
 * Looks for terms in one segment of the index: all that contain a text, begin with it, end in it, or are equal to it.
 */
import { decodeList } from './postings.js'
import { rarestFirst } from './rarity.js'
import { intersectPostings, PostingUnion } from './posting-set.js'
import {
  decodeDirectory,
  decodeTermBlock,
  EDGE,
  POSTING_BLOCK_BYTES,
  postingRow,
  TERM_CLASS,
  termRow
} from './segment-format.js'
import { readDirectory, readPostingBlock, readTermBlock } from './segment-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./posting-set.js').PostingList} PostingList
 * @typedef {import('./segment-rows.js').SegmentRow} SegmentRow
 *
 * @typedef {object} TermPattern
 * @property {string} text - binary (see segment-format.js), not empty
 * @property {boolean} isOpenLeft - whether a term may have more before it
 * @property {boolean} isOpenRight - or after it
 *
 * @typedef {object} BlockReader
 * @property {(rowId: number, work: (db: Database) => Buffer) => Promise<Buffer>} read - one block
 */

/** A part has so many bytes. */
const PART_BYTES = 3

/** Parts of a pattern that are asked for: each costs a look at two blocks, and more select hardly anything. */
const MAX_PARTS = 4

/** One live segment. */
export class SegmentReader {
  #row
  #blocks
  /** @type {import('./segment-format.js').Directory | null} */
  #directory = null
  /** The posting block that was read last: lists of neighbours lie side by side. */
  #lastNumber = -1
  /** @type {Buffer} */
  #lastBlock = Buffer.alloc(0)

  /**
   * @param {SegmentRow} row
   * @param {BlockReader} blocks
   */
  constructor(row, blocks) {
    this.#row = row
    this.#blocks = blocks
  }

  /** @returns {number} above the highest posting */
  get end() {
    return (this.#row.last - this.#row.base + 1) * 2
  }

  /**
   * @param {number} termClass
   * @param {TermPattern} pattern
   * @returns {Promise<PostingList>} postings of all terms that match
   */
  async find(termClass, pattern) {
    const union = new PostingUnion(this.end)
    await this.#eachList(termClass, pattern, (bytes) => union.addBytes(bytes))
    return union.toList()
  }

  /**
   * @param {number} termClass
   * @param {string} text - binary
   * @returns {Promise<PostingList>} postings of that term
   */
  async get(termClass, text) {
    /** @type {PostingList} */
    let list = new Int32Array(0)
    const pattern = { text, isOpenLeft: false, isOpenRight: false }
    await this.#eachList(termClass, pattern, (bytes) => {
      list = decodeList(bytes)
    })
    return list
  }

  /**
   * @param {number} termClass
   * @param {TermPattern} pattern
   * @param {(bytes: Uint8Array) => void} take
   */
  async #eachList(termClass, pattern, take) {
    const { id } = this.#row
    const directory = (this.#directory ??= decodeDirectory(
      await this.#blocks.read(-id, (db) => readDirectory(db, id))
    ))
    const needle = bytesOf(pattern)
    for (const number of await this.#blocksFor(directory, termClass, pattern)) {
      const raw = await this.#blocks.read(termRow(id, number), (db) =>
        readTermBlock(db, id, number)
      )
      const { terms, offsets } = decodeTermBlock(raw)
      for (const index of matches(terms, needle)) {
        const from = /** @type {number} */ (offsets[index])
        const to = /** @type {number} */ (offsets[index + 1])
        // Of a pattern in thousands of words this is the usual case.
        take(this.#listAtHand(from, to) ?? (await this.#list(from, to)))
      }
    }
  }

  /**
   * @param {import('./segment-format.js').Directory} directory
   * @param {number} termClass
   * @param {TermPattern} pattern
   * @returns {Promise<number[]>} numbers of the term blocks that may have matches
   */
  async #blocksFor({ classes, firsts }, termClass, { text, isOpenLeft, isOpenRight }) {
    const first = classes.indexOf(termClass)
    if (first === -1) return []
    const end = classes.lastIndexOf(termClass) + 1
    if (!isOpenLeft) {
      const from = Math.max(first, upperBound(firsts, first, end, text) - 1)
      // No term that begins with `text` is above `text` with the highest byte behind it.
      const to = isOpenRight ? upperBound(firsts, first, end, `${text}\xff`) : from + 1
      return range(from, Math.max(to, from + 1))
    }
    const hasParts = termClass === TERM_CLASS.WHOLE && classes.includes(TERM_CLASS.PART)
    if (!hasParts || text.length < PART_BYTES) return range(first, end)
    /** @type {PostingList | null} */
    let blocks = null
    for (const part of partsOf(text)) {
      const with_ = await this.get(TERM_CLASS.PART, part)
      blocks = blocks ? intersectPostings(blocks, with_) : with_
      if (blocks.length === 0) break
    }
    return [...(blocks ?? [])].map((number) => first + number)
  }

  /**
   * @param {number} from - place in the stream
   * @param {number} to - exclusive
   * @returns {Buffer | null} null when it is not all in the block that was read last
   */
  #listAtHand(from, to) {
    const start = this.#lastNumber * POSTING_BLOCK_BYTES
    if (from < start || to > start + POSTING_BLOCK_BYTES || this.#lastNumber === -1) return null
    return this.#lastBlock.subarray(from - start, to - start)
  }

  /**
   * @param {number} from - place in the stream
   * @param {number} to - exclusive
   * @returns {Promise<Buffer>}
   */
  async #list(from, to) {
    /** @type {Buffer[]} */
    const pieces = []
    for (let at = from; at < to;) {
      const number = Math.floor(at / POSTING_BLOCK_BYTES)
      const start = number * POSTING_BLOCK_BYTES
      if (number !== this.#lastNumber) {
        const { id } = this.#row
        this.#lastBlock = await this.#blocks.read(postingRow(id, number), (db) =>
          readPostingBlock(db, id, number)
        )
        this.#lastNumber = number
      }
      pieces.push(this.#lastBlock.subarray(at - start, to - start))
      at = start + POSTING_BLOCK_BYTES
    }
    return pieces.length === 1 ? /** @type {Buffer} */ (pieces[0]) : Buffer.concat(pieces)
  }
}

/**
 * @param {TermPattern} pattern
 * @returns {Buffer} what is looked for in a block
 */
function bytesOf({ text, isOpenLeft, isOpenRight }) {
  const edge = String.fromCharCode(EDGE)
  return Buffer.from(`${isOpenLeft ? '' : edge}${text}${isOpenRight ? '' : edge}`, 'latin1')
}

/**
 * @param {Buffer} terms - of a block
 * @param {Buffer} needle
 * @returns {Generator<number>} places of the terms that match, ascending
 */
function* matches(terms, needle) {
  // Terms lie behind the edges: the first one behind the first.
  let edges = 0
  let counted = 0
  const isClosedLeft = needle[0] === EDGE
  for (let at = terms.indexOf(needle); at !== -1;) {
    const start = isClosedLeft ? at + 1 : at
    for (; counted < start; counted++) if (terms[counted] === EDGE) edges++
    yield edges - 1
    const next = terms.indexOf(EDGE, start)
    at = next === -1 ? -1 : terms.indexOf(needle, next)
  }
}

/**
 * @param {string} text - binary
 * @returns {string[]} some of its parts, those that are likely to be in few words first
 */
function partsOf(text) {
  const parts = new Set()
  for (let at = 0; at + PART_BYTES <= text.length; at++) parts.add(text.slice(at, at + PART_BYTES))
  return rarestFirst([...parts]).slice(0, MAX_PARTS)
}

/**
 * @param {string[]} sorted
 * @param {number} from
 * @param {number} to - exclusive
 * @param {string} text
 * @returns {number} the first place from there on whose text is above
 */
function upperBound(sorted, from, to, text) {
  let low = from
  let high = to
  while (low < high) {
    const middle = (low + high) >>> 1
    if (/** @type {string} */ (sorted[middle]) <= text) low = middle + 1
    else high = middle
  }
  return low
}

/**
 * @param {number} from
 * @param {number} to - exclusive
 * @returns {number[]}
 */
const range = (from, to) => Array.from({ length: to - from }, (_, index) => from + index)
