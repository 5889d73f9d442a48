/**
 * The blocks that one read needs, each decompressed once. It lives no longer than that read: a thread may pack rows into
 * blocks at any time.
 */
import { blockOf, placeOf, readBlock } from './list-blocks.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./list-blocks.js').Block} Block
 * @typedef {import('./list-blocks.js').BlockKind} BlockKind
 *
 * @typedef {object} Entry - of a block
 * @property {Buffer} bytes - of the block
 * @property {number} start - where the entry begins in it
 * @property {number} end - exclusive
 */

/** Inside one read of the caller. */
export class BlockReader {
  #db
  #arena
  /** @type {Map<BlockKind, Map<number, Block | null>>} */
  #blocks = new Map()

  /**
   * @param {Database} db
   * @param {import('./list-blocks.js').BlockArena | null} [arena] - where the blocks lie; null: in memory of their own, so
   *   that entries outlive the read
   */
  constructor(db, arena = null) {
    this.#db = db
    this.#arena = arena
    /** Decompressed so far, bytes. */
    this.bytes = 0
  }

  /**
   * @param {BlockKind} kind
   * @param {number} contentId
   * @returns {Entry | null} null: it stands in a row of its own, or nowhere
   */
  holding(kind, contentId) {
    const block = this.#blockFor(kind, blockOf(contentId))
    const place = placeOf(contentId)
    return block?.has(place)
      ? { bytes: block.bytes, start: block.startOf(place), end: block.endOf(place) }
      : null
  }

  /**
   * @param {BlockKind} kind
   * @param {number} contentId
   * @returns {Buffer | null} a piece of the block's bytes; null as above
   */
  entry(kind, contentId) {
    return this.#blockFor(kind, blockOf(contentId))?.entry(placeOf(contentId)) ?? null
  }

  /**
   * @param {BlockKind} kind
   * @param {number} number
   * @returns {Block | null}
   */
  #blockFor(kind, number) {
    let blocks = this.#blocks.get(kind)
    if (blocks === undefined) this.#blocks.set(kind, (blocks = new Map()))
    let block = blocks.get(number)
    if (block === undefined) {
      block = readBlock(this.#db, kind, number, { arena: this.#arena })
      blocks.set(number, block)
      this.bytes += block?.bytes.length ?? 0
    }
    return block
  }
}
