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

/** Shares out one budget among the open files. */
export class CachePool {
  #totalBytes
  #maxShareBytes
  /** @type {Set<Database>} */
  #members = new Set()
  #shareBytes

  /**
   * @param {object} options
   * @param {number} options.totalBytes - for all files together
   * @param {number} options.maxShareBytes - for one file, when few are open
   */
  constructor({ totalBytes, maxShareBytes }) {
    this.#totalBytes = totalBytes
    this.#maxShareBytes = maxShareBytes
    this.#shareBytes = maxShareBytes
  }

  /** @returns {number} what all files together may use now, bytes */
  get grantedBytes() {
    return this.#members.size * this.#shareBytes
  }

  /** @param {Database} db */
  join(db) {
    apply(db, this.#shareBytes)
    this.#members.add(db)
    this.#share()
  }

  /** @param {Database} db - that is about to be closed; it need not be here */
  leave(db) {
    if (this.#members.delete(db)) this.#share()
  }

  /** Shares change by halves and doubles, so that opening the thousandth file does not touch all others. */
  #share() {
    const fair = this.#totalBytes / Math.max(1, this.#members.size)
    let share = this.#maxShareBytes
    while (share > fair && share > MIN_SHARE_BYTES) share = Math.max(MIN_SHARE_BYTES, share / 2)
    if (share === this.#shareBytes) return
    this.#shareBytes = share
    for (const db of this.#members) apply(db, share)
  }
}

/**
 * @param {Database} db
 * @param {number} bytes
 */
function apply(db, bytes) {
  db.pragma(`cache_size = ${-Math.ceil(bytes / 1024)}`)
}
