/**
 * The page caches of all files that this process has open, within one budget. Measured with 1,000 open files: 0.2 MB
 * each while fresh, 2.1 MB once used with a cache of 2 MB, under 0.5 MB with one of 256 KiB.
 */
import { memoryOfHost } from '../support/host-memory.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** No file gets fewer bytes: with less, a FETCH reads the same inner pages of its b-trees again and again. */
const MIN_SHARE_BYTES = 256 * 1024

/** Page caches take at most this part of the machine's memory, whatever is set: a small machine has other uses for it. */
const HOST_PART = 1 / 8

/**
 * @param {number} setBytes - as configured
 * @param {number} [hostBytes] - the machine's memory, or the container's
 * @returns {number} bytes for the page caches of all files of a process
 */
export function cacheBudget(setBytes, hostBytes = memoryOfHost()) {
  return Math.min(setBytes, Math.floor(hostBytes * HOST_PART))
}

/** After so many messages read of an open file, whoever reads them is likely to read some again. */
const MANY_READS = 1000

/** A file that nobody has used for so many ms rests. */
const RESTING_MS = 10_000

/** A resting file keeps so many bytes where room is scarce: for the schema, and the first pages of its next use. */
const RESTING_BYTES = 128 * 1024

/** Where room is scarce, it is looked once in so many ms which files rest. */
const LOOK_MS = 5000

/**
 * An open file.
 *
 * @typedef {object} Member
 * @property {Database} db
 * @property {() => number} idleMs - how long ago it was last used
 * @property {boolean} isResting - as of the last look
 * @property {number} reads - messages read of it; no longer counted once they are many
 * @property {number} bytes - that its cache may have
 */

/**
 * Shares out one budget among the open files. Most of them belong to somebody whose mail program waits for mail: where there
 * is not enough for all, files in use get the room of files at rest.
 */
export class CachePool {
  #totalBytes
  #maxShareBytes
  #maxReaderBytes
  /** @type {Map<Database, Member>} */
  #members = new Map()
  /** @type {NodeJS.Timeout | null} set while room is scarce */
  #timer = null

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
  }

  /** @returns {number} what all files together may use now, bytes */
  get grantedBytes() {
    let sum = 0
    for (const { bytes } of this.#members.values()) sum += bytes
    return sum
  }

  /**
   * @param {Database} db
   * @param {() => number} [idleMs] - how long ago it was last used; by default it always is
   * @throws what SQLite says of a damaged file
   */
  join(db, idleMs = () => 0) {
    const member = { db, idleMs, isResting: false, reads: 0, bytes: 0 }
    setCache(member, this.#maxShareBytes)
    this.#members.set(db, member)
    this.#share()
  }

  /** @param {Database} db - that is about to be closed; it need not be here */
  leave(db) {
    if (this.#members.delete(db)) this.#share()
  }

  /**
   * Counts messages that were read. Written pages fill a cache as well, but are seldom read soon: only readers get more room.
   *
   * @param {Database} db - it need not be here
   * @param {number} count - messages that were read of it
   */
  noteReads(db, count) {
    const member = this.#members.get(db)
    if (member === undefined) return
    const was = isReader(member)
    if (!was) member.reads += count
    if (was === isReader(member) && !member.isResting) return
    member.isResting = false
    this.#share()
  }

  /** Where room is scarce: takes room from files that rest, and gives it to files that no longer do. */
  look() {
    for (const member of this.#members.values()) member.isResting = member.idleMs() >= RESTING_MS
    this.#share()
  }

  /** Gives each file what it may have now. */
  #share() {
    const all = [...this.#members.values()]
    const isScarce = all.length * this.#maxShareBytes > this.#totalBytes
    this.#lookWhile(isScarce)
    if (!isScarce) for (const member of all) member.isResting = false
    const restingBytes = Math.min(RESTING_BYTES, this.#maxShareBytes)
    const working = all.filter(({ isResting }) => !isResting)
    const leftBytes = this.#totalBytes - (all.length - working.length) * restingBytes
    const readers = working.filter(isReader)
    const { share, readerShare } = this.#sharesOf(leftBytes, working.length, readers.length)
    for (const member of all) {
      if (member.isResting) grant(member, restingBytes)
      else grant(member, isReader(member) ? readerShare : share)
    }
  }

  /**
   * Shares change by halves and doubles, so that opening the thousandth file does not touch all others.
   *
   * @param {number} bytes - for all of them
   * @param {number} files
   * @param {number} readers - among these, of which many messages were read
   * @returns {{ share: number, readerShare: number }} bytes for each of them, and for each reader
   */
  #sharesOf(bytes, files, readers) {
    const fair = bytes / Math.max(1, files)
    let share = this.#maxShareBytes
    while (share > fair && share > MIN_SHARE_BYTES) share = Math.max(MIN_SHARE_BYTES, share / 2)
    const spareBytes = bytes - files * share
    let readerShare = share
    while (
      readerShare * 2 <= this.#maxReaderBytes &&
      readers * (readerShare * 2 - share) <= spareBytes
    )
      readerShare *= 2
    return { share, readerShare }
  }

  /** @param {boolean} isScarce */
  #lookWhile(isScarce) {
    if (isScarce) this.#timer ??= setInterval(() => this.look(), LOOK_MS).unref()
    else if (this.#timer !== null) {
      clearInterval(this.#timer)
      this.#timer = null
    }
  }
}

/**
 * @param {Member} member
 * @returns {boolean} whether many messages were read of it
 */
const isReader = ({ reads }) => reads >= MANY_READS

/**
 * @param {Member} member
 * @param {number} bytes
 */
function grant(member, bytes) {
  if (member.bytes === bytes) return
  try {
    setCache(member, bytes)
  } catch {
    // A damaged file is no reason to refuse another. Whoever uses it next meets the error where it can be told.
  }
}

/**
 * @param {Member} member
 * @param {number} bytes
 */
function setCache(member, bytes) {
  member.bytes = bytes
  member.db.pragma(`cache_size = ${-Math.ceil(bytes / 1024)}`)
}
