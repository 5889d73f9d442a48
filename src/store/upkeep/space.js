/**
 * How much of a file is free, and giving it back in slices.
 */
import { prepared } from '../../database/statement.js'
import { syncLog } from '../../database/durability.js'
import { runTransaction } from '../../database/transaction.js'
import { letWritersGo } from '../../database/writers.js'
import { isToldToStop } from './stop-sign.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 *
 * @typedef {object} Space
 * @property {number} pageBytes
 * @property {number} pages - of the file, once the `-wal` is in it
 * @property {number} freePages - of these
 *
 * @typedef {object} Release
 * @property {number} pages - given back
 * @property {number} slices
 * @property {number} longestMs - that a slice held the lock
 */

/** Pages of the first slice; the following ones take what fits the time. */
const FIRST_SLICE_PAGES = 32
const MIN_SLICE_PAGES = 8
const MAX_SLICE_PAGES = 512

/** A slice shorter than this may be doubled, a longer one than the second is halved, milliseconds. */
const SHORT_MS = 6
const LONG_MS = 15

/** Slices between two messages to the store, which then sees to the `-wal`. */
const SLICES_PER_REPORT = 8

/**
 * @param {Database} db
 * @returns {Space}
 */
export function readSpace(db) {
  const value = (/** @type {string} */ name) =>
    /** @type {number} */ (prepared(db, `PRAGMA ${name}`, 'value').get())
  return {
    pageBytes: value('page_size'),
    pages: value('page_count'),
    freePages: value('freelist_count')
  }
}

/**
 * @param {Database} db
 * @returns {{ frames: number, waiting: number, pageBytes: number }} of the `-wal`; `waiting` are not in the file yet
 */
export function readWal(db) {
  const { log, checkpointed } = /** @type {{ log: number, checkpointed: number }} */ (
    prepared(db, 'PRAGMA wal_checkpoint(NOOP)').get()
  )
  const pageBytes = /** @type {number} */ (prepared(db, 'PRAGMA page_size', 'value').get())
  return { frames: Math.max(0, log), waiting: log - checkpointed, pageBytes }
}

/**
 * Gives free pages back to the file system, in a thread: each slice is a transaction of some milliseconds, and the
 * store's own writes go first.
 *
 * @param {Database} db - the thread's own, which may wait for locks
 * @param {object} options
 * @param {SharedArrayBuffer} options.shared - of a StopSign
 * @param {SharedArrayBuffer} options.writers - of the file's Writers
 * @param {() => void} options.onSlices - called now and then, after commits
 * @returns {Promise<Release>}
 */
export async function releasePages(db, { shared, writers, onSlices }) {
  const release = { pages: 0, slices: 0, longestMs: 0 }
  let slicePages = FIRST_SLICE_PAGES
  while (!isToldToStop(shared)) {
    const { freePages } = readSpace(db)
    if (freePages === 0) break
    await letWritersGo(writers)
    let startedMs = 0
    runTransaction(db, () => {
      // Here the lock is ours: the time until then was somebody else's.
      startedMs = performance.now()
      db.pragma(`incremental_vacuum(${slicePages})`)
    })
    const tookMs = performance.now() - startedMs
    syncLog(db)
    const freed = freePages - readSpace(db).freePages
    // Pages may have been freed meanwhile by others; without any progress there is nothing to wait for.
    if (freed <= 0 && release.slices > 0) break
    release.pages += Math.max(0, freed)
    release.slices++
    release.longestMs = Math.max(release.longestMs, tookMs)
    if (tookMs > LONG_MS) slicePages = Math.max(MIN_SLICE_PAGES, slicePages >> 1)
    else if (tookMs < SHORT_MS) slicePages = Math.min(MAX_SLICE_PAGES, slicePages * 2)
    if (release.slices % SLICES_PER_REPORT === 0) onSlices()
  }
  return release
}
