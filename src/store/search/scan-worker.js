/**
 * A thread of scanner.js, as seen from outside.
 */
import { endThread, startThread } from '../../database/endable-thread.js'
import { toMailError } from '../../database/sqlite-error.js'
import { THREAD_LIMITS, toThreadFailure } from '../../database/thread.js'
import { GO_ON, PAUSE } from './scan-request.js'

/**
 * @typedef {import('./scan-request.js').ScanRequest} ScanRequest
 * @typedef {import('./scan-thread.js').ScanReply} ScanReply
 */

const MODULE = new URL('scan-thread.js', import.meta.url)

/** The thread goes after so long without a search, milliseconds. */
const IDLE_MS = 30_000

/** One thread, which may have several searches at a time. */
export class ScanWorker {
  #worker
  /** @type {Map<number, { flag: Int32Array, resolve: (reply: ScanReply) => void }>} */
  #waiting = new Map()
  #lastId = 0
  /** @type {NodeJS.Timeout | undefined} */
  #idleTimer
  /** Whether no search may be given to it any more. */
  isEnding = false

  /**
   * @param {import('./scan-thread.js').ScanThreadData} workerData
   * @param {() => void} onIdle - called when the last search is over
   */
  constructor(workerData, onIdle) {
    const worker = startThread(MODULE, { workerData, resourceLimits: THREAD_LIMITS })
    this.#worker = worker
    worker.on('message', (/** @type {ScanReply} */ reply) => {
      this.#settle(reply)
      if (this.#waiting.size > 0) return
      if (this.isEnding) {
        this.end()
        return
      }
      // An idle thread keeps no process alive.
      worker.unref()
      this.#idleTimer = setTimeout(() => this.end(), IDLE_MS).unref()
      onIdle()
    })
    /** @type {import('../../database/thread.js').ThreadFailure} */
    let failure = { code: 'SHUTTING_DOWN', detail: '' }
    worker.on('error', (error) => {
      failure = toThreadFailure(toMailError(error))
    })
    /** @type {Promise<void>} when it has ended, by itself or not */
    this.ended = new Promise((resolve) => {
      worker.once('exit', () => {
        this.isEnding = true
        clearTimeout(this.#idleTimer)
        for (const id of this.#waiting.keys()) this.#settle({ id, failure })
        resolve()
      })
    })
  }

  /**
   * @param {ScanRequest} request - its arrays are given away
   * @param {SharedArrayBuffer} signal - an int32: GO_ON, STOP or PAUSE
   * @returns {Promise<ScanReply>} a failure too
   */
  ask(request, signal) {
    clearTimeout(this.#idleTimer)
    const { promise, resolve } = /** @type {PromiseWithResolvers<ScanReply>} */ (
      Promise.withResolvers()
    )
    const id = ++this.#lastId
    this.#waiting.set(id, { flag: new Int32Array(signal), resolve })
    this.#worker.ref()
    const { uids, contentIds, verdicts } = request
    const arrays = [uids.buffer, contentIds.buffer, verdicts.buffer]
    this.#worker.postMessage({ id, request, signal }, /** @type {ArrayBuffer[]} */ (arrays))
    return promise
  }

  /**
   * Others are to have their turn: it ends as soon as its searches have given back what they have not looked at.
   *
   * @returns {Promise<void>} when it has ended
   */
  async pause() {
    this.isEnding = true
    for (const { flag } of this.#waiting.values()) Atomics.compareExchange(flag, 0, GO_ON, PAUSE)
    await this.ended
  }

  /** Its connection reads only: nothing is lost however it ends. */
  async end() {
    this.isEnding = true
    clearTimeout(this.#idleTimer)
    await endThread(this.#worker)
  }

  /** @param {ScanReply} reply */
  #settle(reply) {
    this.#waiting.get(reply.id)?.resolve(reply)
    this.#waiting.delete(reply.id)
  }
}
