/**
 * Blocks of the index that were read lately: they never change.
 */

/** Bytes of blocks that are kept by default: enough for those that the terms of one search share. */
const CACHE_BYTES = 1024 * 1024

/** The blocks last used, up to so many bytes. */
export class BlockCache {
  /** @type {Map<number, Buffer>} the one used longest ago first */
  #blocks = new Map()
  #bytes = 0
  #maxBytes

  /** @param {number} [maxBytes] */
  constructor(maxBytes = CACHE_BYTES) {
    this.#maxBytes = maxBytes
  }

  /**
   * @param {number} rowId - search_blocks.id, or another number for what is no block
   * @returns {Buffer | undefined}
   */
  get(rowId) {
    const block = this.#blocks.get(rowId)
    if (block) {
      this.#blocks.delete(rowId)
      this.#blocks.set(rowId, block)
    }
    return block
  }

  /**
   * @param {number} rowId - mostly not in it: of two searches that read it at the same moment, each brings it
   * @param {Buffer} block
   */
  set(rowId, block) {
    this.#bytes += block.length - (this.#blocks.get(rowId)?.length ?? 0)
    this.#blocks.set(rowId, block)
    for (const [oldest, { length }] of this.#blocks) {
      if (this.#bytes <= this.#maxBytes) break
      this.#blocks.delete(oldest)
      this.#bytes -= length
    }
  }
}
