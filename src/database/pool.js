/**
 * The page caches of all files that this process has open, within one budget. Measured with 1,000 open files: 0.2 MB
 * each while fresh, 2.1 MB once used with a cache of 2 MB, under 0.5 MB with one of 256 KiB.
 */
import { memoryOfHost } from '../support/host-memory.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** Below this a FETCH reads the same inner pages of its b-trees again and again, bytes. */
const MIN_SHARE_BYTES = 256 * 1024

/** Of the machine's memory that page caches may take, whatever is set: a small one has other uses for it. */
const HOST_PART = 1 / 8

/**
 * @param {number} setBytes - as configured
 * @param {number} [hostBytes] - the machine's memory, or the container's
 * @returns {number} bytes for the page caches of all files of a process
 */
export function cacheBudget(setBytes, hostBytes = memoryOfHost()) {
  return Math.min(setBytes, Math.floor(hostBytes * HOST_PART))
}

/** Messages read of an open file, from which on whoever reads them is likely to read some again. */
const MANY_READS = 1000

/** Shares out one budget among the open files. */
export class CachePool {
  #totalBytes
  #maxShareBytes
  #maxReaderBytes
  /**
   * Messages read of each.
   *
   * @type {Map<Database, number>}
   */
  #members = new Map()
  /**
   * Those of which many were read.
   *
   * @type {Set<Database>}
   */
  #readers = new Set()
  #shareBytes
  #readerBytes

  /**
   * @param {object} options
   * @param {number} options.totalBytes - for all files together
   * @param {number} options.maxShareBytes - for one file, when few are open
   * @param {number} [options.maxReaderBytes] - for one of which many messages are read: no less, and by default no more
   */
  constructor({ totalBytes, maxShareBytes, maxReaderBytes = maxShareBytes }) {
    this.#totalBytes = totalBytes
    this.#maxShareBytes = maxShareBytes
    this.#maxReaderBytes = maxReaderBytes
    this.#shareBytes = maxShareBytes
    this.#readerBytes = maxShareBytes
  }

  /** @returns {number} what all files together may use now, bytes */
  get grantedBytes() {
    const readers = this.#readers.size
    return (this.#members.size - readers) * this.#shareBytes + readers * this.#readerBytes
  }

  /** @param {Database} db */
  join(db) {
    apply(db, this.#shareBytes)
    this.#members.set(db, 0)
    this.#share()
  }

  /** @param {Database} db - that is about to be closed; it need not be here */
  leave(db) {
    this.#readers.delete(db)
    if (this.#members.delete(db)) this.#share()
  }

  /**
   * What is written fills a cache as well, and is seldom read soon: only who reads gets more room.
   *
   * @param {Database} db - it need not be here
   * @param {number} count - messages that were read of it
   */
  noteReads(db, count) {
    const before = this.#members.get(db)
    if (before === undefined || before >= MANY_READS) return
    this.#members.set(db, before + count)
    if (before + count < MANY_READS) return
    this.#readers.add(db)
    apply(db, this.#readerBytes)
    this.#share()
  }

  /** Shares change by halves and doubles, so that opening the thousandth file does not touch all others. */
  #share() {
    const { size } = this.#members
    const fair = this.#totalBytes / Math.max(1, size)
    let share = this.#maxShareBytes
    while (share > fair && share > MIN_SHARE_BYTES) share = Math.max(MIN_SHARE_BYTES, share / 2)
    const restBytes = this.#totalBytes - size * share
    let reader = share
    while (
      reader * 2 <= this.#maxReaderBytes &&
      this.#readers.size * (reader * 2 - share) <= restBytes
    )
      reader *= 2
    if (share !== this.#shareBytes)
      for (const db of this.#members.keys()) if (!this.#readers.has(db)) apply(db, share)
    if (reader !== this.#readerBytes) for (const db of this.#readers) apply(db, reader)
    this.#shareBytes = share
    this.#readerBytes = reader
  }
}

/**
 * @param {Database} db
 * @param {number} bytes
 */
function apply(db, bytes) {
  db.pragma(`cache_size = ${-Math.ceil(bytes / 1024)}`)
}
