/**
 * Write transactions. Always BEGIN IMMEDIATE: a deferred one that reads first and writes later fails with a
 * stale snapshot as soon as another process has written in between, and waiting does not help it.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { isBusy, toMailError } from './sqlite-error.js'
import { prepared } from './statement.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {{ begin: import('better-sqlite3-multiple-ciphers').Statement, commit: import('better-sqlite3-multiple-ciphers').Statement, rollback: import('better-sqlite3-multiple-ciphers').Statement }} Frame
 */

/** Pauses between tries at a taken lock, ms: most locks are held for one small transaction. */
const BACKOFF_MS = [0, 1, 2, 5, 10, 15, 20, 25, 50, 100]

/** @type {WeakMap<Database, Frame>} */
const frames = new WeakMap()

/**
 * @param {Database} db
 * @returns {Frame}
 */
function frameOf(db) {
  let frame = frames.get(db)
  if (!frame) {
    frame = {
      begin: db.prepare('BEGIN IMMEDIATE'),
      commit: db.prepare('COMMIT'),
      rollback: db.prepare('ROLLBACK')
    }
    frames.set(db, frame)
  }
  return frame
}

/**
 * Runs `work` inside one write transaction: all of it or nothing. Synchronous by design, because awaiting
 * inside would let other requests of this process write into the same transaction.
 *
 * @template T
 * @param {Database} db
 * @param {() => T} work - must not return a promise
 * @returns {T}
 * @throws {TypeError} when `work` returns a promise (the transaction is rolled back)
 */
export function runTransaction(db, work) {
  const frame = frameOf(db)
  frame.begin.run()
  try {
    const result = work()
    if (result !== null && typeof result === 'object' && 'then' in result)
      throw new TypeError('A transaction cannot wait for a promise')
    frame.commit.run()
    return result
  } finally {
    // A failed COMMIT, or a full disk, may have rolled back by itself already.
    if (db.inTransaction) frame.rollback.run()
  }
}

/**
 * Runs `work` on the state of one moment, whatever others write meanwhile. While it runs, the `-wal` cannot begin anew.
 *
 * @template T
 * @param {Database} db - in no transaction
 * @param {() => T} work - synchronous; reads alone
 * @returns {T}
 */
export function runSnapshot(db, work) {
  beginSnapshot(db)
  try {
    return work()
  } finally {
    endSnapshot(db)
  }
}

/** @param {Database} db - in no transaction; what is read from here on is the state of one moment */
export function beginSnapshot(db) {
  prepared(db, 'BEGIN').run()
}

/** @param {Database} db - in a snapshot */
export function endSnapshot(db) {
  // A failing disk may have ended the transaction already.
  if (db.inTransaction) prepared(db, 'COMMIT').run()
}

/**
 * Runs `work` inside the transaction that is open: all of it or nothing, and the rest of the transaction stays.
 *
 * @template T
 * @param {Database} db
 * @param {() => T} work - synchronous
 * @returns {T}
 */
export function runNested(db, work) {
  prepared(db, 'SAVEPOINT nested').run()
  let isDone = false
  try {
    const result = work()
    isDone = true
    return result
  } finally {
    // A full disk may have ended the whole transaction.
    if (db.inTransaction) {
      if (!isDone) prepared(db, 'ROLLBACK TO nested').run()
      prepared(db, 'RELEASE nested').run()
    }
  }
}

/**
 * Tries `work` at once, and again with growing pauses while the file is locked, without ever blocking the
 * event loop. The server's connections have a busy timeout of 0, so each try answers immediately.
 *
 * @template T
 * @param {() => T} work - synchronous; nothing of it may have happened when it throws BUSY
 * @param {object} options
 * @param {number} options.busyTimeoutMs
 * @param {AbortSignal} [options.signal]
 * @param {() => void} [options.onBusy] - called after each try in vain
 * @returns {Promise<T>}
 * @throws {MailError} BUSY after `busyTimeoutMs`; otherwise what `work` threw, mapped
 */
export async function retryWhileBusy(work, { busyTimeoutMs, signal, onBusy }) {
  const startedMs = performance.now()
  for (let attempt = 0; ; attempt++) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || performance.now() - startedMs >= busyTimeoutMs) throw toMailError(error)
    }
    onBusy?.()
    const pauseMs = BACKOFF_MS[Math.min(attempt, BACKOFF_MS.length - 1)] ?? 100
    await sleep(pauseMs, undefined, signal && { signal })
  }
}
