/**
 * Keeps the search index behind the mail: a while after the last commit it takes in what has come, little in slices on
 * the event loop, much in a thread. An APPEND never waits for it, and SEARCH looks at what is not indexed yet.
 *
 * Invariants: what is on the list (pending-rows.js) is in the transaction that brought the mail, what is indexed is taken
 * off in the transaction that indexes it; so it may stop anywhere, and goes on at the next open.
 */
import { setImmediate } from 'node:timers/promises'
import { MailError, isMailError } from '../../errors.js'
import { LoopLoad } from '../../support/loop-load.js'
import { Slicer } from '../../support/slicer.js'
import { countPackable, packLists } from '../pack-lists.js'
import { hasPackableViews } from '../pack-views.js'
import { isWorthMerging, readTextOf, toIndexed } from './index-job.js'
import { isOfNewer, readIndexState, resetStep, writeBatch } from './index-rows.js'
import { INDEX_VERSION } from './index-text.js'
import { IndexTurns } from './index-turns.js'
import { asOnlyIndexer } from './only-indexer.js'
import { hasPending, readPending, sumPending } from './pending-rows.js'
import { SegmentBatch } from './segment-batch.js'
import { readQueue } from '../shared-parts/part-rows.js'
import { chooseMerge, mergeSegments } from './segment-merge.js'
import { hasLeftSegments, readSegments } from './segment-rows.js'

/** Mail comes in bursts: indexed together it costs a quarter. Milliseconds after the last commit, if nobody is at work … */
const QUIET_MS = 1000

/**
 * … or so many where somebody is, or little has come, which a search reads in passing. Two hundred users at work each
 * make pauses of a second: indexed in those, their mail took a tenth of the event loop (measured) …
 */
const LITTLE_QUIET_MS = 10_000

/**
 * … but not later than this after the first. Users who are at work make no such pause: after a minute all who had come at
 * nine o'clock were indexed at once, and two hundred of them got a third less done meanwhile (measured) …
 */
const MAX_DELAY_MS = 5 * 60_000

/** … and not when so many contents wait, or when a search has had to read what the index does not know … */
const MANY_CONTENTS = 500

/** … or when so many bytes wait, these for as long as little waits for a pause: one large APPEND shall be over first. */
const MANY_BYTES = 8 * 1024 * 1024

/**
 * Whether many wait is found by counting, while more comes at most once in so many milliseconds: every second, for each of two
 * hundred users at work, it took 3 % of the event loop (measured).
 */
const COUNT_MS = 5000

/** After so many ms the list is looked at again, where another process indexes the mailbox or something else is in the way. */
const AGAIN_MS = 5000

/**
 * More than this is a thread's work, contents. To start one costs as much processor time as to index a few hundred here;
 * but where so much comes, more does, from this mailbox or from others, and the thread stays for that.
 */
const INLINE_CONTENTS = 32

/**
 * At most so many bytes are little: a search that reads them in passing takes some tens of milliseconds longer. Where one long
 * message in thirty made much of a little, each pause of a second had a thread for some of two hundred users at work
 * (measured).
 */
const LITTLE_BYTES = 512 * 1024

/** Contents that are written in one transaction on the event loop: some milliseconds. */
const INLINE_BATCH = 20

/** Postings, or tokens if these are more, in one such transaction: some ten milliseconds, however strange the text. */
const INLINE_POSTINGS = 12_000

/** A merge of more contents than this is a thread's work, too. */
const INLINE_MERGED = 64

/** And so is packing more blocks than this, each of 32 messages. */
const INLINE_BLOCKS = 4

/**
 * Attachments that other messages may have too are looked for only in a thread. It is started for more contents than this, or
 * more bytes.
 */
const INLINE_QUEUE = 100
const INLINE_QUEUE_BYTES = 1024 * 1024

/** A content of more bytes is a thread's work, too: decoding its text might hold up the event loop. */
const INLINE_BYTES = 48 * 1024

/**
 * @typedef {object} IndexerOptions
 * @property {import('../account-database.js').AccountDatabase} database
 * @property {import('../store-threads.js').StoreThreads} threads
 * @property {() => void} noteCommit - to be called when a thread has committed and that is on the disk
 */

/** The indexer of one open mailbox. */
export class SearchIndexer {
  #database
  #turns
  /** @type {NodeJS.Timeout | null} */
  #timer = null
  /** When the first commit came that is waited on, milliseconds; 0 for none. */
  #firstMs = 0
  /** @type {Promise<void> | null} */
  #running = null
  #isClosed
  /** Whether somebody waits for what is not indexed. */
  #isWanted = false
  /** Whether a thread has left merging for later. */
  #isMergeDue = false
  #stop = new AbortController()
  /** When the last commit came. */
  #lastMs = 0
  #load = new LoopLoad()
  /** When what waits was last counted. */
  #countedMs = -Infinity
  /** `#lastMs` when what waited was found to be little: without another commit it still is. */
  #littleSinceMs = -1

  /** @param {IndexerOptions} options */
  constructor({ database, threads, noteCommit }) {
    this.#database = database
    this.#turns = new IndexTurns({
      folder: database.folder,
      threads,
      // The sync tells how large the -wal is, and the checkpoints follow from that.
      settle: () => database.settle().then(noteCommit, () => {})
    })
    this.#isClosed = database.isReadOnly
  }

  /** To be called after each commit, and when there is something to be packed. */
  noteWork() {
    if (this.#isClosed) return
    const nowMs = performance.now()
    if (this.#firstMs === 0) this.#firstMs = nowMs
    // One timer for a burst: it looks at the clock when it fires.
    this.#lastMs = nowMs
    this.#lookIn(QUIET_MS)
  }

  /**
   * To be called by a search that has to read texts: the next one shall find them in the index.
   *
   * @returns {Promise<void>}
   * @throws {MailError} BUSY, SHUTTING_DOWN, ACCOUNT_DAMAGED
   */
  async want() {
    if (this.#isClosed) return
    const [hasAny, hasMany] = await this.#database.readSettled((db) => [
      hasPending(db, 1),
      hasPending(db, INLINE_CONTENTS + 1)
    ])
    // Some texts are read although they are indexed: those that the index says too little of.
    if (!hasAny) return
    this.#isWanted = true
    if (hasMany) this.#turns.want()
    // Another process may have brought them, and have ended before they were indexed: nothing has been noted of it here.
    this.#lookIn(QUIET_MS)
  }

  /**
   * Takes in all that is on the list now.
   *
   * @returns {Promise<void>}
   * @throws {MailError} SHUTTING_DOWN, BUSY, DISK_FULL, NOT_DURABLE
   */
  async run() {
    // Of several who wait for one run, the first to go on begins the next.
    while (this.#running) await this.#running.catch(() => {})
    if (this.#isClosed) return
    this.#running = this.#index().finally(() => {
      this.#running = null
    })
    await this.#running
  }

  /** Ends what is under way at its next step; the thread is ended by the closing of the file. */
  async close() {
    this.#isClosed = true
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    this.#stop.abort(new MailError('SHUTTING_DOWN'))
    await this.#running?.catch(() => {})
  }

  /** @param {number} ms */
  #lookIn(ms) {
    if (this.#isClosed || this.#timer !== null) return
    this.#load.begin()
    this.#timer = setTimeout(() => {
      // What is on the list stays there for the next time.
      this.#database.supervise(this.#look())
    }, ms).unref()
  }

  async #look() {
    const isTime = await this.#isTime().finally(() => {
      this.#timer = null
    })
    if (this.#isClosed || this.#database.hasFailed) return
    if (!isTime || this.#running) {
      const quietMs = performance.now() - this.#lastMs
      this.#lookIn(quietMs < QUIET_MS ? QUIET_MS - quietMs : QUIET_MS)
      return
    }
    this.#firstMs = 0
    this.#isWanted = false
    this.#isMergeDue = false
    try {
      await this.run()
    } catch (error) {
      if (isMailError(error, 'BUSY')) this.#lookIn(AGAIN_MS)
      throw error
    }
  }

  /** @returns {Promise<boolean>} whether more mail is no longer waited for */
  async #isTime() {
    const nowMs = performance.now()
    const quietMs = nowMs - this.#lastMs
    const isLate = quietMs >= LITTLE_QUIET_MS || nowMs - this.#firstMs >= MAX_DELAY_MS
    if (this.#isClosed || isLate || this.#isWanted) return true
    if (quietMs < QUIET_MS) {
      if (nowMs - this.#countedMs < COUNT_MS) return false
      this.#countedMs = nowMs
      const { count, bytes } = await this.#database.readSettled((db) =>
        sumPending(db, MANY_CONTENTS)
      )
      const hasMuchForLong = bytes >= MANY_BYTES && nowMs - this.#firstMs >= LITTLE_QUIET_MS
      return count >= MANY_CONTENTS || hasMuchForLong
    }
    if (this.#load.isBusy) return false
    if (this.#isMergeDue) return true
    const lastMs = this.#lastMs
    if (this.#littleSinceMs === lastMs) return false
    if (!isLittle(await this.#database.readSettled(readSomePending))) return true
    this.#littleSinceMs = lastMs
    return false
  }

  async #index() {
    const { state, pending, segments, hasRest, packable, hasViews, queue } =
      await this.#database.readSettled((db) => ({
        state: readIndexState(db),
        hasRest: hasLeftSegments(db),
        segments: readSegments(db),
        packable: countPackable(db, INLINE_BLOCKS + 1),
        hasViews: hasPackableViews(db),
        queue: readQueue(db, INLINE_QUEUE + 1),
        pending: readSomePending(db)
      }))
    if (isOfNewer(state)) return
    const isNew = state.textVersion < INDEX_VERSION
    const isOld = isNew && state.indexedCount > 0
    const isLong = isWorthMerging(state) || isMuch(chooseMerge(segments))
    const isPacking = packable > INLINE_BLOCKS || hasViews
    if (isOld || !isInline(pending) || hasRest || isLong || isPacking || isMuchToShare(queue))
      return await this.#indexInThread()
    /** @type {import('../pack-lists.js').PackPort} */
    const port = {
      read: async (work) => {
        await setImmediate()
        return await this.#database.readSettled(work)
      },
      write: (work) => this.#write(work)
    }
    const indexAll = async () => {
      if (isNew) while (await this.#write(resetStep));
      // Another process may have indexed some of `pending` since it was read.
      const left = new Set((await this.#database.readSettled(readSomePending)).map(({ id }) => id))
      const ours = pending.filter(({ id }) => left.has(id))
      for (let at = 0; at < ours.length;) {
        const count = await this.#indexHere(port, ours.slice(at, at + INLINE_BATCH))
        if (count === null || this.#isClosed) return false
        at += count
      }
      return true
    }
    const isToIndex = isNew || pending.length > 0
    if (!isToIndex || (await asOnlyIndexer(this.#database.folder, indexAll))) await packLists(port)
  }

  /**
   * @param {import('../pack-lists.js').PackPort} port
   * @param {readonly { id: number }[]} pending - not empty
   * @returns {Promise<number | null>} how many of them it has taken; null: the index is another program's by now
   */
  async #indexHere(port, pending) {
    const batch = new SegmentBatch()
    /** @type {import('./index-rows.js').IndexedContent[]} */
    const contents = []
    let count = 0
    const slicer = new Slicer()
    // Longer contents are not indexed here at all.
    const pace = { breathe: () => slicer.breathe(), maxHeaderBytes: INLINE_BYTES }
    for (const { id } of pending) {
      if (batch.size > INLINE_POSTINGS || !batch.hasRoomFor(id)) break
      const text = await readTextOf(this.#database, id, batch.tokens, pace)
      count++
      if (text !== undefined) contents.push(toIndexed(id, text))
      if (text) batch.add(id, text.tokens)
      await setImmediate()
      slicer.begin()
      if (this.#isClosed) return count
    }
    if (contents.length === 0) return count
    const segment = await batch.toSegment(setImmediate)
    if (this.#isClosed) return count
    if (!(await port.write((db) => writeBatch(db, { segment, contents })))) return null
    await mergeSegments(port, { maxContents: INLINE_MERGED })
    return count
  }

  /**
   * @template T
   * @param {(db: import('better-sqlite3-multiple-ciphers').Database) => T} work
   * @returns {Promise<T>}
   */
  #write(work) {
    return this.#database.write(work, { isLazy: true })
  }

  async #indexInThread() {
    this.#isMergeDue = !(await this.#turns.run(this.#stop.signal))
    if (this.#isMergeDue) this.#lookIn(QUIET_MS)
  }
}

/** @param {import('better-sqlite3-multiple-ciphers').Database} db */
const readSomePending = (db) => readPending(db, 0, INLINE_CONTENTS + 1)

/**
 * @param {readonly { size: number }[]} pending - of `readSomePending`
 * @returns {boolean} whether more is waited for
 */
const isLittle = (pending) =>
  pending.length <= INLINE_CONTENTS &&
  pending.reduce((sum, { size }) => sum + size, 0) <= LITTLE_BYTES

/**
 * @param {readonly { size: number }[]} pending - of `readSomePending`
 * @returns {boolean} whether that is no thread's work
 */
const isInline = (pending) =>
  pending.length <= INLINE_CONTENTS && pending.every(({ size }) => size <= INLINE_BYTES)

/**
 * @param {readonly { size: number }[]} queue - of contents with attachments, by `readQueue`
 * @returns {boolean}
 */
const isMuchToShare = (queue) =>
  queue.length > INLINE_QUEUE || queue.reduce((sum, { size }) => sum + size, 0) > INLINE_QUEUE_BYTES

/**
 * @param {readonly { contentCount: number }[]} segments - that are to be merged
 * @returns {boolean} whether that is a thread's work
 */
const isMuch = (segments) =>
  segments.reduce((sum, { contentCount }) => sum + contentCount, 0) > INLINE_MERGED
