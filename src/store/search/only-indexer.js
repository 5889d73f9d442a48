/**
 * Of several processes that have a mailbox open, one at a time makes its index. Two at once lose nothing, but each would read
 * every text that the other reads, and throw away the merges of the other: twice the work, and half as large again a file.
 */
import { tryReserve } from '../../database/lock.js'
import { MailError } from '../../errors.js'

/**
 * @template T
 * @param {string} folder - the account's
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 * @throws {MailError} BUSY where another opener is indexing; its lock goes when it ends, however it ends
 */
export async function asOnlyIndexer(folder, work) {
  const lock = tryReserve(folder)
  if (lock === null) throw new MailError('BUSY', { detail: 'another process indexes this mailbox' })
  try {
    return await work()
  } finally {
    lock.release()
  }
}
