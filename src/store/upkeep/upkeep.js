/**
 * What the maintenance of an open mailbox needs of its store. Short work runs in slices on the event loop, long work in
 * a thread or a child: a request of the user never waits long for any of it.
 */
import { setImmediate } from 'node:timers/promises'
import { MailError } from '../../errors.js'
import { expungePages } from '../expunge.js'
import { hasGarbage } from '../garbage.js'
import { forgetReaders, keptForMs } from '../left-contents.js'
import { listMailboxes } from '../list-mailboxes.js'
import { isWorthMerging } from '../search/index-job.js'
import { distrustIndex, readIndexState, resetStep } from '../search/index-rows.js'
import { readPending } from '../search/pending-rows.js'
import { hasLeftSegments } from '../search/segment-rows.js'
import { hasOldExpunged, isLastPage, pruneExpungedPage } from './expunge-log.js'
import { findOldPage } from './old-messages.js'
import { StopSign } from './stop-sign.js'
import { readSpace, readWal } from './space.js'

/**
 * @typedef {import('./space.js').Space} Space
 * @typedef {import('./space.js').Release} Release
 */

/** Contents that are counted at most. */
const MAX_COUNTED = 1000

/** Of an account: see AccountStore. */
export class Upkeep {
  #database
  #threads
  #views
  #housekeeping
  #lateMeta
  #key

  /**
   * @param {Pick<import('../port/parts.js').StoreParts, 'database' | 'threads' | 'views' | 'housekeeping' | 'lateMeta'>} parts
   * @param {{ key: SharedArrayBuffer, tempStore: import('../../database/temp-store.js').TempStore }} file - `key` is
   *   the store's own
   */
  constructor({ database, threads, views, housekeeping, lateMeta }, { key, tempStore }) {
    /** Where VACUUM puts its copy. */
    this.tempStore = tempStore
    this.#database = database
    this.#threads = threads
    this.#views = views
    this.#housekeeping = housekeeping
    this.#lateMeta = lateMeta
    this.#key = key
  }

  /** @returns {number} how long ago anybody wrote, milliseconds */
  get quietMs() {
    return this.#database.use.quietMs
  }

  /** @returns {number} commits seen so far, by whomever: has it not moved, the file is as it was */
  get writeCount() {
    return this.#database.use.writeCount
  }

  /** @returns {Promise<Space>} */
  readSpace() {
    return this.#database.readSettled(readSpace)
  }

  /** @returns {Promise<boolean>} whether anything waits for `sweep` */
  hasGarbage() {
    const nowMs = this.#database.clock.nowMs()
    return this.#database.readSettled((db) => hasGarbage(db, nowMs))
  }

  /**
   * To be called when nobody has a session any more: what is long and expunged need not wait for who reads it.
   *
   * @returns {Promise<void>} never rejected for trouble with the file: the sweep waits a while then
   */
  async forgetReaders() {
    const { isAsleep, isReadOnly, clock } = this.#database
    if (isAsleep || isReadOnly) return
    try {
      const keptMs = await this.#database.readSettled((db) => keptForMs(db, clock.nowMs()))
      if (keptMs !== null) await this.#database.write(forgetReaders, { isLazy: true })
    } catch (error) {
      if (!(error instanceof MailError)) throw error
    }
  }

  /**
   * Deletes what no message refers to any more.
   *
   * @param {AbortSignal} [signal] - ends it after the slice that is under way
   */
  sweep(signal) {
    return this.#housekeeping.sweep(signal)
  }

  /**
   * @returns {Promise<{ waiting: number, deleted: number, isWorthMerging: boolean, hasRest: boolean }>} `waiting`:
   *   contents that are not in the search index yet, counted up to 1,000; `deleted`: those that have gone and still take
   *   room in it; `isWorthMerging`: so much has gone that it is written anew; `hasRest`: an end in the midst of that left
   *   parts of it which nobody needs any more
   */
  readIndexNeeds() {
    return this.#database.readSettled((db) => {
      const state = readIndexState(db)
      return {
        waiting: readPending(db, 0, MAX_COUNTED).length,
        deleted: state.deletedCount,
        isWorthMerging: isWorthMerging(state),
        hasRest: hasLeftSegments(db)
      }
    })
  }

  /**
   * Empties the search index, so that it is made anew. Searches read the messages until then.
   *
   * @returns {Promise<void>}
   * @throws {MailError} BUSY, DISK_FULL, NOT_DURABLE
   */
  async emptyIndex() {
    await this.#database.write(distrustIndex, { isLazy: true })
    while (await this.#database.write(resetStep, { isLazy: true })) await setImmediate()
  }

  /** @returns {Promise<number>} bytes of the frames in the `-wal`, those included that are in the file already */
  async readWalBytes() {
    const { frames, pageBytes } = await this.#database.readSettled(readWal)
    return frames * pageBytes
  }

  /**
   * Refreshes the query planner's statistics, in a child that is killed as soon as anybody here wants to write.
   *
   * @param {{ signal?: AbortSignal }} [options]
   * @returns {Promise<{ isDone: boolean }>} false when it was killed
   */
  optimize(options = {}) {
    return this.#runUntilWrite({ kind: 'optimize' }, options)
  }

  /**
   * Gives free pages back in slices, beside whatever goes on.
   *
   * @param {{ signal?: AbortSignal }} [options] - ends it after the slice that is under way
   * @returns {Promise<Release>}
   */
  async releasePages({ signal } = {}) {
    const { closing } = this.#database
    const sign = new StopSign(signal ? [signal, closing] : [closing])
    try {
      const job = { kind: /** @type {const} */ ('release'), shared: sign.shared }
      const release = await this.#threads.run(job, { onProgress: () => this.#noteThread() })
      await this.#afterThread()
      return /** @type {Release} */ (release)
    } finally {
      sign.end()
    }
  }

  /**
   * Writes the file anew, in a child that is killed as soon as anybody here wants to write. Takes memory (or room in the
   * temporary folder) and room on the disk for what is in the file.
   *
   * @param {{ signal?: AbortSignal, onStart?: (pid: number) => void }} [options]
   * @returns {Promise<{ isDone: boolean }>} false when it was killed, and the file is as before
   * @throws {import('../../errors.js').MailError} BUSY, DISK_FULL, ACCOUNT_DAMAGED, NOT_DURABLE
   */
  vacuum(options = {}) {
    return this.#runUntilWrite({ kind: 'vacuum' }, options)
  }

  /**
   * SQLite's quick_check, in a child, so that a large file does not hold up a shutdown.
   *
   * @param {{ signal?: AbortSignal }} [options] - kills it
   * @returns {Promise<string[] | null>} what is wrong with the file's structure; null when it was killed
   */
  async quickCheck({ signal } = {}) {
    const { closing } = this.#database
    const killed = signal ? AbortSignal.any([signal, closing]) : closing
    try {
      const problems = await this.#threads.runInChild({ kind: 'quickCheck' }, { signal: killed })
      return /** @type {string[]} */ (problems)
    } catch (error) {
      if (killed.aborted) return null
      throw error
    }
  }

  /**
   * @param {object} request
   * @param {string} request.specialUse - such as `\Trash`
   * @param {number} request.beforeMs - what came in before goes
   * @param {AbortSignal} [request.signal] - ends it after the page that is under way
   * @returns {Promise<number>} messages that are gone
   */
  async expungeOlder({ specialUse, beforeMs, signal }) {
    const mailboxes = await listMailboxes(this.#database)
    let count = 0
    for (const mailbox of mailboxes.filter((row) => row.specialUse === specialUse)) {
      let afterUid = /** @type {number | null} */ (0)
      while (afterUid !== null && !signal?.aborted) {
        const from = afterUid
        const { uids, nextUid } = await this.#database.read((db) =>
          findOldPage(db, { mailboxId: mailbox.id, beforeMs, afterUid: from })
        )
        const store = { database: this.#database, views: this.#views }
        const request = { mailboxId: mailbox.id, uids, onlyDeleted: false }
        count += (await expungePages(store, request)).length
        afterUid = nextUid
        await setImmediate()
      }
    }
    if (count > 0) this.#housekeeping.noteGarbage()
    return count
  }

  /**
   * @param {object} request
   * @param {number} request.beforeMs - what was expunged before is forgotten
   * @param {AbortSignal} [request.signal] - ends it after the page that is under way
   * @returns {Promise<number>} ranges that are gone
   */
  async pruneExpunged({ beforeMs, signal }) {
    let count = 0
    for (const { id } of await listMailboxes(this.#database)) {
      for (let isMore = true; isMore && !signal?.aborted;) {
        const gone = await this.#pruneOnce(id, beforeMs)
        count += gone
        isMore = !isLastPage(gone)
        await setImmediate()
      }
    }
    return count
  }

  /**
   * For work on the file that goes on after the store is closed.
   *
   * @returns {Uint8Array} a copy of the database key; the caller zeroes it
   */
  copyKey() {
    return new Uint8Array(this.#key).slice()
  }

  /**
   * @param {number} mailboxId
   * @param {number} beforeMs
   */
  async #pruneOnce(mailboxId, beforeMs) {
    const isDue = await this.#database.readSettled((db) => hasOldExpunged(db, mailboxId, beforeMs))
    if (!isDue) return 0
    return await this.#database.write((db) => pruneExpungedPage(db, mailboxId, beforeMs), {
      isLazy: true
    })
  }

  /**
   * @param {import('../thread-job.js').ThreadJob} job
   * @param {{ signal?: AbortSignal, onStart?: (pid: number) => void }} options
   * @returns {Promise<{ isDone: boolean }>}
   */
  async #runUntilWrite(job, { signal, onStart }) {
    // What is left to be written of the last mail must not be what kills it.
    await this.#lateMeta.flush()
    const writing = new AbortController()
    const unwatch = this.#database.use.onWrite(() => writing.abort())
    const signals = signal ? [signal, writing.signal] : [writing.signal]
    const killed = AbortSignal.any([...signals, this.#database.closing])
    try {
      await this.#threads.runInChild(job, { signal: killed, ...(onStart && { onStart }) })
      await this.#afterThread()
      return { isDone: true }
    } catch (error) {
      if (killed.aborted) return { isDone: false }
      throw error
    } finally {
      unwatch()
    }
  }

  #noteThread() {
    this.#afterThread()
  }

  /** What a thread or child has committed goes to the disk, and the `-wal` into the file when it is time. */
  async #afterThread() {
    try {
      await this.#database.settle()
      this.#housekeeping.noteCommit()
    } catch {
      // The file has failed or is being closed: whoever uses it next is told.
    }
  }
}
