/**
 * Checkpoints in a thread. Done by the connection that writes, a checkpoint stalls the event loop for up to 70 ms
 * (measured); here it costs the writer nothing. One thread serves all mailboxes of the process, one after the other.
 */
import { Worker } from 'node:worker_threads'
import { MailError } from '../errors.js'
import { fromThreadFailure } from './thread.js'

/**
 * @typedef {object} CheckpointJob
 * @property {string} path - of the database
 * @property {SharedArrayBuffer} key - 32 bytes, the owner's
 * @property {import('./setup-pragma.js').Cipher} cipher
 * @property {'PASSIVE' | 'RESTART' | 'TRUNCATE'} mode - PASSIVE waits for nobody; RESTART makes the next commit
 *   begin at the front of the `-wal`; TRUNCATE empties it as well
 * @property {boolean} [withOptimize] - refresh the query planner's statistics first
 *
 * @typedef {object} CheckpointResult
 * @property {number} busy - 1 when somebody stood in the way
 * @property {number} log - frames in the `-wal`
 * @property {number} checkpointed - of these, frames that are in the database now
 */

/** A thread that does nothing else. */
export class Checkpointer {
  /** @type {Worker | null} */
  #worker = null
  /** @type {Map<number, { resolve: (result: CheckpointResult) => void, reject: (error: Error) => void }>} */
  #waiting = new Map()
  #lastId = 0
  #isClosed = false

  /**
   * @param {CheckpointJob} job
   * @returns {Promise<CheckpointResult>}
   * @throws {MailError} DISK_FULL, NOT_DURABLE, ACCOUNT_DAMAGED, BUSY
   */
  run(job) {
    if (this.#isClosed) return Promise.reject(new MailError('SHUTTING_DOWN'))
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId
      this.#waiting.set(id, { resolve, reject })
      this.#worker ??= this.#start()
      // Referenced only while it works: an idle thread keeps no process alive.
      this.#worker.ref()
      this.#worker.postMessage({ ...job, id })
    })
  }

  /** Waits for nothing: a checkpoint that is cut short loses nothing. */
  async close() {
    this.#isClosed = true
    await this.#worker?.terminate()
  }

  /** @returns {Worker} */
  #start() {
    const worker = new Worker(new URL('checkpoint-thread.js', import.meta.url))
    worker.on('message', ({ id, result, failure }) => {
      const waiter = this.#waiting.get(id)
      this.#waiting.delete(id)
      if (this.#waiting.size === 0) worker.unref()
      if (failure) waiter?.reject(fromThreadFailure(failure))
      else waiter?.resolve(result)
    })
    worker.on('error', (error) => this.#end(/** @type {Error} */ (error)))
    worker.on('exit', () => this.#end(new MailError('SHUTTING_DOWN')))
    return worker
  }

  /** @param {Error} error */
  #end(error) {
    this.#worker = null
    for (const { reject } of this.#waiting.values()) reject(error)
    this.#waiting.clear()
  }
}
