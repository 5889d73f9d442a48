/**
 * Checkpoints in a thread. Done by the connection that writes, a checkpoint stalls the event loop for up to 70 ms
 * (measured); here it costs the writer nothing. One thread serves all mailboxes of the process, one after the other.
 */
import { ServedThread } from './served-thread.js'

/**
 * @typedef {object} CheckpointJob
 * @property {string} path - of the database
 * @property {SharedArrayBuffer} key - 32 bytes, the owner's
 * @property {import('./setup-pragma.js').Cipher} cipher
 * @property {'RESTART' | 'TRUNCATE'} mode - RESTART makes the next commit begin at the front of the `-wal`; TRUNCATE
 *   empties it as well
 * @property {boolean} mayWait - true: readers are waited for, with the write lock held; false: as many frames are moved as
 *   readers allow
 * @property {boolean} [withOptimize] - refresh the query planner's statistics first
 *
 * @typedef {object} CheckpointResult
 * @property {number} busy - 1 where a reader or writer stood in the way, else 0
 * @property {number} log - frames in the `-wal`
 * @property {number} checkpointed - of these, frames that are in the database now
 */

/** The thread for the checkpoints of a process. */
export class Checkpointer {
  /** @type {ServedThread<CheckpointJob, CheckpointResult>} */
  #thread = new ServedThread(new URL('checkpoint-thread.js', import.meta.url))

  /**
   * @param {CheckpointJob} job
   * @returns {Promise<CheckpointResult>}
   * @throws {import('../errors.js').MailError} DISK_FULL, NOT_DURABLE, ACCOUNT_DAMAGED, BUSY
   */
  run(job) {
    return this.#thread.run(job)
  }

  /** Ends the thread without waiting for a checkpoint: one that is cut short loses nothing. */
  async close() {
    await this.#thread.close()
  }
}
