/**
 * Who reads a long message piece by piece finds the next chunks ready: a thread decrypts and unpacks them while the
 * client takes what it has got and asks for more.
 */
import { chunkRowId } from './row-ids.js'
import { CLAIM_FREE, CLAIM_SESSION, CLAIM_THREAD } from './read-ahead-job.js'

/** @typedef {import('./read-ahead-job.js').ChunkAhead} ChunkAhead */

/** How far the thread may be ahead, bytes: some 5 ms of its work. */
const AHEAD_BYTES = 1024 * 1024

/** With fewer bytes to come, it may go on. */
const LOW_BYTES = AHEAD_BYTES / 2

/** One of up to this has been read before a thread would be of use, bytes. */
const SHORT_BYTES = 896 * 1024

/** What a thread has been asked for: all that comes, a few chunks at a time. */
class Run {
  /** @type {Set<number>} chunks that came */
  #arrived = new Set()
  /** @type {Map<number, (bytes: Buffer | null) => void>} */
  #waiting = new Map()
  isUnderWay = true

  /**
   * @param {number} contentId
   * @param {number} first - number of the first chunk
   * @param {object} content
   * @param {number} content.size - bytes
   * @param {number} content.chunkSize - of each chunk but the last, bytes
   */
  constructor(contentId, first, { size, chunkSize }) {
    this.contentId = contentId
    this.first = first
    /** Behind the content's last one. */
    this.end = Math.ceil(size / chunkSize)
    this.aheadChunks = AHEAD_BYTES / chunkSize
    this.lowChunks = LOW_BYTES / chunkSize
    this.claims = new SharedArrayBuffer((this.end - first) * Int32Array.BYTES_PER_ELEMENT)
    this.owners = new Int32Array(this.claims)
    this.limit = new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT)
    this.limits = new Int32Array(this.limit)
  }

  /** @returns {number} number of the first chunk that has not been asked for yet */
  get asked() {
    return this.first + Atomics.load(this.limits, 0)
  }

  /** @param {number} next - number of the chunk that the reader wants next */
  goOn(next) {
    if (this.asked - next >= this.lowChunks) return
    Atomics.store(this.limits, 0, Math.min(next + this.aheadChunks, this.end) - this.first)
    Atomics.notify(this.limits, 0)
  }

  /**
   * @param {number} contentId
   * @param {number} sequence
   * @returns {Promise<Buffer | null> | null} the chunk when it has come; null: the caller has to read it
   */
  wait(contentId, sequence) {
    // Two sessions that read the same side by side: the second one reads it itself.
    if (this.claim(contentId, sequence) || this.#waiting.has(sequence)) return null
    return new Promise((resolve) => this.#waiting.set(sequence, resolve))
  }

  /**
   * @param {number} contentId
   * @param {number} sequence
   * @returns {boolean} whether the caller has to read the chunk, which the thread no longer does; false: it is coming
   */
  claim(contentId, sequence) {
    if (contentId !== this.contentId || sequence < this.first || sequence >= this.end) return true
    const index = sequence - this.first
    const owner = Atomics.compareExchange(this.owners, index, CLAIM_FREE, CLAIM_SESSION)
    return owner !== CLAIM_THREAD || !this.isUnderWay || this.#arrived.has(sequence)
  }

  /**
   * @param {number} sequence
   * @param {Buffer} bytes
   * @returns {boolean} whether somebody waited for it
   */
  arrive(sequence, bytes) {
    this.#arrived.add(sequence)
    const resolve = this.#waiting.get(sequence)
    this.#waiting.delete(sequence)
    resolve?.(bytes)
    return resolve !== undefined
  }

  /** The thread has done what it could. What it was asked for as it left is to be asked for again. */
  settle() {
    this.isUnderWay = false
    const unread = this.owners.indexOf(CLAIM_FREE)
    if (unread !== -1) this.limits[0] = unread
    for (const resolve of this.#waiting.values()) resolve(null)
    this.#waiting.clear()
  }
}

/** Of one open store. */
export class ReadAhead {
  #threads
  #chunks
  /** Where the last piece ended: who begins there reads on. */
  #last = { contentId: 0, end: 0 }
  /** @type {Run | null} the last one */
  #run = null

  /**
   * @param {Pick<import('./store-threads.js').StoreThreads, 'run'>} threads
   * @param {import('./chunk-cache.js').ChunkShare} chunks - where what was read ahead waits, and what was read in part
   */
  constructor(threads, chunks) {
    this.#threads = threads
    this.#chunks = chunks
  }

  /**
   * @param {number} contentId
   * @param {number} sequence
   * @returns {Buffer | Promise<Buffer | null> | null} the raw bytes of the chunk, the caller's from now on, with the
   *   memory that they lie in; null: the caller has to read it
   */
  take(contentId, sequence) {
    return (
      this.#chunks.take(chunkRowId(contentId, sequence)) ??
      this.#run?.wait(contentId, sequence) ??
      null
    )
  }

  /**
   * @param {number} contentId
   * @param {number} sequence
   * @returns {boolean} whether the caller has to read the chunk, which the thread no longer does; false: it is here, or coming
   */
  claim(contentId, sequence) {
    if (this.#chunks.has(chunkRowId(contentId, sequence))) return false
    return this.#run?.claim(contentId, sequence) ?? true
  }

  /**
   * @param {number} contentId
   * @param {number} sequence
   * @param {Buffer} bytes - of the whole chunk, of which more may be asked for; nobody else's, nor the memory that it
   *   lies in
   */
  keep(contentId, sequence, bytes) {
    this.#chunks.keep(chunkRowId(contentId, sequence), bytes)
  }

  /**
   * Has what comes next read, where a client asks for one piece after the other. Of what is read in one go the next chunk
   * is wanted at once, and a thread would only be a way round.
   *
   * @param {{ contentId: number, start: number, end: number }} piece - that is about to be read; `end` is exclusive
   * @param {{ size: number, chunkSize: number }} content
   */
  noteRead({ contentId, start, end }, content) {
    const { size, chunkSize } = content
    const isNext = this.#last.contentId === contentId && this.#last.end === start
    this.#last = { contentId, end }
    const isLarge = end - start > LOW_BYTES
    if (!isNext || isLarge || size <= SHORT_BYTES) return
    // The chunk of which this piece is the beginning is kept when it has been read.
    const next = Math.ceil(end / chunkSize)
    const run = this.#run?.contentId === contentId ? this.#run : null
    // Where the reader has gone back, or on by itself, what was asked for is not what it needs now.
    const isAhead = run !== null && run.asked >= next && run.asked <= next + run.aheadChunks
    if (this.#run?.isUnderWay === true) {
      if (isAhead) run.goOn(next)
      return
    }
    const first = isAhead ? run.asked : next
    const isSoonRead = (first - next) * chunkSize < LOW_BYTES
    if (isSoonRead && first * chunkSize < size)
      this.#start(new Run(contentId, first, content), next)
  }

  /**
   * @param {Run} run
   * @param {number} next - number of the chunk that the reader wants next
   */
  #start(run, next) {
    if (!this.#chunks.reserve(AHEAD_BYTES)) return
    this.#run = run
    const { contentId, first, limit, claims } = run
    run.goOn(next)
    const onProgress = (/** @type {unknown} */ value) => {
      const { sequence, bytes: raw } = /** @type {ChunkAhead} */ (value)
      const chunk = Buffer.from(raw.buffer, raw.byteOffset, raw.length)
      if (!run.arrive(sequence, chunk)) this.keep(contentId, sequence, chunk)
    }
    this.#threads
      .run({ kind: 'readAhead', request: { contentId, first, limit, claims } }, { onProgress })
      // Who wants the chunk then reads it and meets the same trouble, where it can be told.
      .catch(() => {})
      .finally(() => {
        run.settle()
        this.#chunks.release(AHEAD_BYTES)
      })
  }
}
