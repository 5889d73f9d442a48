/** The bytes that a connection has received and no command has taken yet, as a queue of chunks. */
import { CR, LF } from './character.js'

const EMPTY = Buffer.alloc(0)
const FIRST_PARTIAL_BYTES = 256
/** Used-up places are cleared away when there are so many. */
const MAX_USED_CHUNKS = 1024

/** A queue of chunks, read by line or by count. Whole lines and counted bytes come as views where one chunk has them. */
export class InputQueue {
  /** @type {Buffer[]} */
  #chunks = []
  /** The index of the first chunk that is not used up: `shift` would move all the others. */
  #head = 0
  /** Where the first chunk's unread bytes begin. */
  #at = 0
  #unreadBytes = 0
  /** The beginning of a line whose end has not come: memory of our own, so that no chunk is kept for it. */
  #partial = EMPTY
  #partialBytes = 0

  /** @returns {number} bytes in chunks that nobody has taken */
  get unreadBytes() {
    return this.#unreadBytes
  }

  /** @returns {number} bytes of the line whose end has not come */
  get partialBytes() {
    return this.#partialBytes
  }

  /** @param {Buffer} chunk */
  push(chunk) {
    if (chunk.length === 0) return
    this.#chunks.push(chunk)
    this.#unreadBytes += chunk.length
  }

  /**
   * Takes a line that ends with CRLF, or with LF alone, which hand-made clients send.
   * @param {number} maxBytes - of the line without its end
   * @returns {Buffer | 'too long' | null} without the line end; null: its end has not come. After 'too long' the
   *   line's beginning is there for peekPartial
   */
  takeLine(maxBytes) {
    for (;;) {
      const chunk = this.#chunks[this.#head]
      if (chunk === undefined) return null
      const end = chunk.indexOf(LF, this.#at)
      const piece = chunk.subarray(this.#at, end < 0 ? chunk.length : end)
      if (end >= 0 && this.#partialBytes === 0) {
        const line = withoutCr(piece)
        if (line.length <= maxBytes) {
          this.#advance(piece.length + 1)
          return line
        }
      }
      // One byte more than the line may have, which can be the CR of the line end.
      const isOver = !this.#keep(piece, maxBytes + 1)
      const kept = this.#partial.subarray(0, this.#partialBytes)
      if (isOver || (kept.length > maxBytes && kept.at(-1) !== CR)) return 'too long'
      this.#advance(piece.length + (end < 0 ? 0 : 1))
      // The piece may be a part of a password, and whoever zeroes the line does not know of this copy.
      piece.fill(0)
      if (end < 0) continue
      const line = withoutCr(kept)
      this.#partial = EMPTY
      this.#partialBytes = 0
      return line
    }
  }

  /**
   * @param {number} maxBytes
   * @returns {Buffer} the beginning of the line in progress
   */
  peekPartial(maxBytes) {
    return this.#partial.subarray(0, Math.min(this.#partialBytes, maxBytes))
  }

  /**
   * @param {number} maxBytes - more than 0
   * @returns {Buffer | null} a view of at least one byte; null when there is none
   */
  take(maxBytes) {
    const chunk = this.#chunks[this.#head]
    if (chunk === undefined) return null
    const piece = chunk.subarray(this.#at, Math.min(chunk.length, this.#at + maxBytes))
    this.#advance(piece.length)
    return piece
  }

  /**
   * @param {number} maxBytes
   * @returns {number} how many bytes were dropped
   */
  skip(maxBytes) {
    let skipped = 0
    while (skipped < maxBytes) {
      const piece = this.take(maxBytes - skipped)
      if (piece === null) break
      skipped += piece.length
    }
    return skipped
  }

  /** @returns {Buffer} everything, which the queue then no longer holds */
  takeAll() {
    const first = this.#chunks[this.#head]?.subarray(this.#at) ?? EMPTY
    const all = Buffer.concat([
      this.#partial.subarray(0, this.#partialBytes),
      first,
      ...this.#chunks.slice(this.#head + 1)
    ])
    this.#chunks = []
    this.#head = 0
    this.#at = 0
    this.#unreadBytes = 0
    this.#partial = EMPTY
    this.#partialBytes = 0
    return all
  }

  /** @param {number} bytes - not more than the first chunk has */
  #advance(bytes) {
    this.#at += bytes
    this.#unreadBytes -= bytes
    const chunk = this.#chunks[this.#head]
    if (chunk !== undefined && this.#at >= chunk.length) {
      this.#chunks[this.#head] = EMPTY
      this.#head += 1
      this.#at = 0
      if (this.#head >= MAX_USED_CHUNKS || this.#head === this.#chunks.length) {
        this.#chunks = this.#chunks.slice(this.#head)
        this.#head = 0
      }
    }
  }

  /**
   * Adds to the line in progress. It grows by doubling, so that a line sent byte by byte costs no more than its size.
   * @param {Buffer} piece
   * @param {number} maxBytes - that the line in progress may have
   * @returns {boolean} whether all of the piece had room
   */
  #keep(piece, maxBytes) {
    if (this.#partialBytes > maxBytes) return false
    const length = Math.min(this.#partialBytes + piece.length, maxBytes)
    if (length > this.#partial.length) {
      const size = Math.min(
        Math.max(length, this.#partial.length * 2, FIRST_PARTIAL_BYTES),
        maxBytes
      )
      const larger = Buffer.allocUnsafeSlow(size)
      this.#partial.copy(larger, 0, 0, this.#partialBytes)
      this.#partial.fill(0)
      this.#partial = larger
    }
    const isWhole = this.#partialBytes + piece.length <= maxBytes
    piece.copy(this.#partial, this.#partialBytes, 0, length - this.#partialBytes)
    this.#partialBytes = length
    return isWhole
  }
}

/**
 * @param {Buffer} line
 * @returns {Buffer} without the CR at its end
 */
function withoutCr(line) {
  return line.at(-1) === CR ? line.subarray(0, -1) : line
}
