/**
 * The sweep of much that was deleted, in a thread: on the event loop it would take turns with the clients' commands for
 * as long as it lasts (1 ms for each message in the search index).
 */
import { syncLog } from '../../database/durability.js'
import { runTransaction } from '../../database/transaction.js'
import { letWritersGo } from '../../database/writers.js'
import { sweepSlice } from '../garbage.js'
import { isToldToStop } from './stop-sign.js'

/** Slices between two messages to the store, which then sees to the `-wal`. */
const SLICES_PER_REPORT = 16

/**
 * @param {import('better-sqlite3-multiple-ciphers').Database} db - the thread's own, which may wait for locks
 * @param {object} options
 * @param {SharedArrayBuffer} options.shared - of a StopSign
 * @param {SharedArrayBuffer} options.writers - of the file's Writers
 * @param {number} options.nowMs
 * @param {() => void} options.onSlices - called now and then, after commits
 * @returns {Promise<void>}
 */
export async function sweepAll(db, { shared, writers, nowMs, onSlices }) {
  const startMs = performance.now()
  let isMore = true
  for (let slices = 1; isMore && !isToldToStop(shared); slices++) {
    await letWritersGo(writers)
    const elapsedMs = Math.round(performance.now() - startMs)
    isMore = runTransaction(db, () => sweepSlice(db, nowMs + elapsedMs))
    syncLog(db)
    if (slices % SLICES_PER_REPORT === 0) onSlices()
  }
}
