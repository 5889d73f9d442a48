/**
 * Long searches run in a thread, one for each mailbox that has any: it starts with the first and stays for a while,
 * because who has searched searches again.
 */
import { MailError } from '../../errors.js'
import { endThread, startThread } from '../../database/endable-thread.js'
import { toMailError } from '../../database/sqlite-error.js'
import { THREAD_LIMITS, fromThreadFailure, toThreadFailure } from '../../database/thread.js'

/**
 * @typedef {import('./scan-request.js').ScanRequest} ScanRequest
 * @typedef {import('./scan-thread.js').ScanReply} ScanReply
 * @typedef {import('node:worker_threads').Worker} Worker
 * @typedef {Omit<import('./scan-thread.js').ScanThreadData, 'path'>} ScannerSettings
 */

const MODULE = new URL('scan-thread.js', import.meta.url)

/** The thread goes after so long without a search, milliseconds: it holds some 10 MB. */
const IDLE_MS = 30_000

/** The thread for the searches of one open mailbox. */
export class Scanner {
  #database
  #settings
  /** @type {Worker | null} */
  #worker = null
  /** @type {NodeJS.Timeout | null} */
  #idleTimer = null
  /** @type {Map<number, (reply: ScanReply) => void>} */
  #waiting = new Map()
  #lastId = 0
  #isClosed = false

  /**
   * @param {import('../account-database.js').AccountDatabase} database
   * @param {ScannerSettings} settings
   */
  constructor(database, settings) {
    this.#database = database
    this.#settings = settings
  }

  /**
   * @param {ScanRequest} request - its arrays are given away
   * @param {AbortSignal} [signal] - ends the search
   * @returns {Promise<Uint32Array>} UIDs of those that match, in no order
   * @throws {MailError} what the search failed with; SHUTTING_DOWN when the mailbox is being closed
   * @throws the signal's reason
   */
  scan(request, signal) {
    return this.#database.whileOpen(async () => {
      if (this.#isClosed) throw new MailError('SHUTTING_DOWN')
      const abort = new SharedArrayBuffer(4)
      const flag = new Int32Array(abort)
      const stop = () => {
        Atomics.store(flag, 0, 1)
      }
      const signals = [this.#database.closing, ...(signal ? [signal] : [])]
      for (const each of signals) each.addEventListener('abort', stop, { once: true })
      try {
        const { uids, failure } = await this.#ask(request, abort)
        signal?.throwIfAborted()
        if (failure) throw fromThreadFailure(failure)
        return uids ?? new Uint32Array(0)
      } finally {
        for (const each of signals) each.removeEventListener('abort', stop)
      }
    })
  }

  /**
   * Ends the thread, and the searches that are under way with SHUTTING_DOWN. To be called before the store's own
   * connection closes: the last one to close tidies up, which one that only reads cannot do.
   */
  async close() {
    this.#isClosed = true
    if (this.#idleTimer) clearTimeout(this.#idleTimer)
    const worker = this.#worker
    this.#worker = null
    if (worker) await endThread(worker)
  }

  /**
   * @param {ScanRequest} request
   * @param {SharedArrayBuffer} abort
   * @returns {Promise<ScanReply>}
   */
  #ask(request, abort) {
    const { promise, resolve } = /** @type {PromiseWithResolvers<ScanReply>} */ (
      Promise.withResolvers()
    )
    const id = ++this.#lastId
    if (this.#idleTimer) clearTimeout(this.#idleTimer)
    // Where none can be started, nobody waits for its answer.
    this.#worker ??= this.#start()
    this.#waiting.set(id, resolve)
    // Referenced only while it works: an idle thread keeps no process alive.
    this.#worker.ref()
    const { uids, contentIds, verdicts } = request
    const arrays = [uids.buffer, contentIds.buffer, verdicts.buffer]
    this.#worker.postMessage({ id, request, abort }, /** @type {ArrayBuffer[]} */ (arrays))
    return promise
  }

  /** @returns {Worker} */
  #start() {
    const { path } = this.#database
    const worker = startThread(MODULE, {
      workerData: { ...this.#settings, path },
      resourceLimits: THREAD_LIMITS
    })
    worker.on('message', (/** @type {ScanReply} */ reply) => {
      this.#settle(reply)
      if (this.#waiting.size > 0) return
      worker.unref()
      this.#idleTimer = setTimeout(() => this.#endIdle(worker), IDLE_MS).unref()
    })
    /** @type {import('../../database/thread.js').ThreadFailure} */
    let failure = { code: 'SHUTTING_DOWN', detail: '' }
    worker.on('error', (error) => {
      failure = toThreadFailure(toMailError(error))
    })
    worker.on('exit', () => {
      // Another may have begun since this one was idle.
      if (this.#worker !== worker && this.#worker !== null) return
      this.#worker = null
      for (const id of this.#waiting.keys()) this.#settle({ id, failure })
    })
    return worker
  }

  /** @param {Worker} worker */
  #endIdle(worker) {
    if (this.#worker === worker && this.#waiting.size === 0) this.#worker = null
    // Its connection reads only: nothing is lost however it ends.
    endThread(worker).catch(() => {})
  }

  /** @param {ScanReply} reply */
  #settle(reply) {
    this.#waiting.get(reply.id)?.(reply)
    this.#waiting.delete(reply.id)
  }
}
