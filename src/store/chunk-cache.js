/**
 * Unpacked chunks of long messages that are read piece by piece: a client that asks for 64 KiB at a time asks twice for
 * what lies in one chunk, one that asks for less asks more often. One budget for all mailboxes of the process; what
 * has been here longest without being taken goes first, and its memory is wiped.
 */
import { releaseBuffer } from '../support/release-buffer.js'

/** @typedef {{ owner: ChunkShare, id: number, bytes: Buffer }} Entry */

/** The process's. */
export class ChunkCache {
  #totalBytes
  #usedBytes = 0
  #reservedBytes = 0
  /**
   * In the order in which they came.
   *
   * @type {Set<Entry>}
   */
  #entries = new Set()

  /** @param {{ totalBytes: number }} options - for all mailboxes together; 0 keeps nothing */
  constructor({ totalBytes }) {
    this.#totalBytes = totalBytes
  }

  /** @returns {number} what is in use */
  get usedBytes() {
    return this.#usedBytes
  }

  /** @returns {ChunkShare} for one mailbox */
  share() {
    return new ChunkShare(this)
  }

  // What follows is for the shares.

  /**
   * @param {number} bytes
   * @returns {boolean} whether they are kept free: half of the budget at most is
   */
  reserve(bytes) {
    const isFree = this.#reservedBytes + bytes <= this.#totalBytes / 2
    if (isFree) this.#reservedBytes += bytes
    return isFree
  }

  /** @param {number} bytes - that were reserved */
  release(bytes) {
    this.#reservedBytes -= bytes
  }

  /** @param {Entry} entry - a new one */
  add(entry) {
    this.#entries.add(entry)
    this.#usedBytes += entry.bytes.length
    for (const oldest of this.#entries) {
      if (this.#usedBytes <= this.#totalBytes) break
      oldest.owner.drop(oldest.id)
    }
  }

  /** @param {Entry} entry - no longer one of its share's */
  remove(entry) {
    this.#entries.delete(entry)
    this.#usedBytes -= entry.bytes.length
  }
}

/** One mailbox's chunks. */
export class ChunkShare {
  #cache
  /** @type {Map<number, Entry>} */
  #entries = new Map()

  /** @param {ChunkCache} cache */
  constructor(cache) {
    this.#cache = cache
  }

  /**
   * @param {number} id - content_chunks.id
   * @returns {Buffer | null} raw bytes, the caller's from now on, with the memory that they lie in
   */
  take(id) {
    const entry = this.#entries.get(id)
    if (entry === undefined) return null
    this.#entries.delete(id)
    this.#cache.remove(entry)
    return entry.bytes
  }

  /**
   * @param {number} id - content_chunks.id
   * @returns {boolean}
   */
  has(id) {
    return this.#entries.has(id)
  }

  /**
   * @param {number} id - content_chunks.id
   * @param {Buffer} bytes - raw, all of the chunk; nobody else's from now on, nor the memory that it lies in
   */
  keep(id, bytes) {
    this.drop(id)
    const entry = { owner: this, id, bytes }
    this.#entries.set(id, entry)
    this.#cache.add(entry)
  }

  /** @param {number} id - content_chunks.id; it need not be here */
  drop(id) {
    const bytes = this.take(id)
    if (bytes === null) return
    bytes.fill(0)
    releaseBuffer(bytes)
  }

  /**
   * For chunks that are to be read before anybody asks for them: what others keep must not go for more of them than will
   * be of use.
   *
   * @param {number} bytes
   * @returns {boolean} false: not now, others are at it
   */
  reserve(bytes) {
    return this.#cache.reserve(bytes)
  }

  /** @param {number} bytes - that were reserved: they have come, or will not */
  release(bytes) {
    this.#cache.release(bytes)
  }

  /** Drops all: the mailbox is closed, or goes to sleep. */
  clear() {
    for (const id of [...this.#entries.keys()]) this.drop(id)
  }
}
