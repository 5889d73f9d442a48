/**
 * Work on the file of a mailbox that nobody has open, for a process of its own (database/child.js): it takes the lock
 * itself, so that it is alone with the file even if whoever started it is gone.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { mailFile } from '../database/database-files.js'
import { withExclusiveLock } from '../database/lock.js'
import { compactDatabase } from '../database/rewrite.js'
import { toMailError } from '../database/sqlite-error.js'
import { toThreadFailure } from '../database/thread.js'
import { freeKeywords } from './free-keywords.js'
import { convertCipher } from './mail-file.js'

/**
 * @typedef {import('../database/setup-pragma.js').Cipher} Cipher
 *
 * @typedef {object} FileFacts
 * @property {string} folder - the account's
 * @property {Cipher | null} cipher - of the file; null: find out
 * @property {number} timeoutMs - how long to wait for the last opener to go
 *
 * @typedef {FileFacts & ({ kind: 'compact' | 'keywords' } | { kind: 'convert', nextCipher: Cipher })} FileJob
 */

/**
 * @param {FileJob} job
 * @param {Uint8Array} key
 * @returns {Promise<unknown>}
 */
function runFileJob(job, key) {
  const { folder, cipher, timeoutMs } = job
  if (job.kind === 'convert') return convertCipher({ ...job, key })
  /** @type {(path: string, encryption: { cipher: Cipher | null, key: Uint8Array }) => unknown} */
  const work = job.kind === 'compact' ? compactDatabase : freeKeywords
  return withExclusiveLock(folder, { timeoutMs }, () => work(mailFile(folder), { cipher, key }))
}

const { key, ...job } = /** @type {FileJob & { key: SharedArrayBuffer }} */ (workerData)
try {
  const value = (await runFileJob(job, new Uint8Array(key))) ?? null
  parentPort?.postMessage({ kind: 'done', value })
} catch (error) {
  parentPort?.postMessage({ kind: 'failed', failure: toThreadFailure(toMailError(error)) })
}
