/**
 * SQLite's own check of the directory, and ours: whether each account has a credential, and whether the two forms of the key
 * that mail is sealed to agree, because SQLite's file has no checksums. In a thread with a connection of its own: the check
 * cannot be sliced, and takes some tens of milliseconds for each thousand accounts.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { isRecipientOf } from '../crypto/age.js'
import { openPlainDatabase } from '../database/open.js'
import { quickCheck } from '../database/sqlite-check.js'
import { isMailError } from '../errors.js'
import { toMailError } from '../database/sqlite-error.js'
import { toThreadFailure } from '../database/thread.js'
import { keylessAccounts } from './keyless-accounts.js'

/** @typedef {import('../database/thread.js').ThreadMessage} ThreadMessage */

/**
 * @param {import('better-sqlite3-multiple-ciphers').Database} db
 * @returns {string[]} ids of accounts
 */
function findMisfits(db) {
  const rows =
    /** @type {IterableIterator<{ id: string, recipient: string | null, key: Buffer }>} */ (
      db
        .prepare(
          `SELECT a.id, s.recipient, s.public_key AS key
           FROM accounts a LEFT JOIN account_seals s ON s.account_id = a.id`
        )
        .iterate()
    )
  const misfits = []
  for (const { id, recipient, key } of rows)
    if (recipient === null || !isRecipientOf(recipient, key)) misfits.push(id)
  return misfits
}

/** @returns {ThreadMessage} */
function check() {
  try {
    const db = openPlainDatabase(workerData.path, { isReadOnly: true })
    try {
      const problems = quickCheck(db)
      const isSound = problems.length === 0
      const misfits = isSound ? findMisfits(db) : []
      const keyless = isSound ? keylessAccounts(db) : []
      return { kind: 'done', value: { problems, misfits, keyless } }
    } finally {
      db.close()
    }
  } catch (cause) {
    const error = toMailError(cause)
    // A file too damaged to be checked is the check's answer, not a failure.
    if (isMailError(error, 'ACCOUNT_DAMAGED')) {
      const problems = [error.detail ?? error.message]
      return { kind: 'done', value: { problems, misfits: [], keyless: [] } }
    }
    return { kind: 'failed', failure: toThreadFailure(error) }
  }
}

parentPort?.postMessage(check())
