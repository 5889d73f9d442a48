/**
 * Starts file-jobs.js: work on the file of a mailbox that is closed.
 */
import { ChildPool } from '../database/child.js'

/**
 * @typedef {import('./file-jobs.js').FileJob} FileJob
 * @typedef {{ bytesBefore: number, bytesAfter: number }} Compaction
 */

const MODULE = new URL('file-jobs.js', import.meta.url)

/**
 * @param {FileJob} job
 * @param {object} options
 * @param {Uint8Array} options.key - 32 bytes, the database key; the caller zeroes it
 * @param {AbortSignal} [options.signal] - kills the process: the file is then the old one, or the new one whole
 * @param {(pid: number) => void} [options.onStart]
 * @returns {Promise<unknown>}
 * @throws {import('../errors.js').MailError} BUSY while somebody has it open, ACCOUNT_DAMAGED, DISK_FULL, KEY_REJECTED,
 *   SHUTTING_DOWN when it was killed
 */
export async function runFileJob(job, { key, signal, onStart }) {
  const shared = new SharedArrayBuffer(key.length)
  new Uint8Array(shared).set(key)
  const children = new ChildPool()
  try {
    return await children.run(MODULE, {
      data: job,
      key: shared,
      ...(signal && { signal }),
      ...(onStart && { onStart })
    })
  } finally {
    children.close()
    new Uint8Array(shared).fill(0)
  }
}
