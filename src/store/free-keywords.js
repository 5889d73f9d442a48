/**
 * Removes the names of keywords that no message has.
 */
import { openEncryptedDatabase } from '../database/open.js'
import { runTransaction } from '../database/transaction.js'
import { keywordBit } from './flags.js'
import { readKeywords } from './keyword-rows.js'

/** @typedef {{ before: number, after: number }} FreedKeywords - how many the account has */

/**
 * Each row of the mailbox is looked at: for a process of its own.
 *
 * @param {string} path - of a mailbox that nobody has open, because whoever has it open knows keywords by their numbers: the
 *   caller holds mail.lock exclusively
 * @param {{ cipher: import('../database/setup-pragma.js').Cipher | null, key: Uint8Array }} encryption
 * @returns {FreedKeywords} when that is durable
 * @throws {import('../errors.js').MailError} KEY_REJECTED, ACCOUNT_DAMAGED, BUSY, DISK_FULL
 */
export function freeKeywords(path, { cipher, key }) {
  const { db } = openEncryptedDatabase({ path, key, cipher, isBlocking: true })
  try {
    return runTransaction(db, () => {
      const used = { flags: 0, keywords: 0 }
      const states = db.prepare('SELECT flags, keywords FROM messages').raw()
      for (const row of states.iterate()) {
        const [flags, keywords] = /** @type {[number, number]} */ (row)
        used.flags |= flags
        used.keywords |= keywords
      }
      const rows = readKeywords(db)
      const unused = rows.filter(({ number }) => {
        const { word, mask } = keywordBit(number)
        return (used[word] & mask) === 0
      })
      const remove = db.prepare('DELETE FROM keywords WHERE number = ?')
      for (const { number } of unused) remove.run(number)
      return { before: rows.length, after: rows.length - unused.length }
    })
  } finally {
    // The last close moves the -wal into the file.
    db.close()
  }
}
