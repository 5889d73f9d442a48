/**
 * Copies a database that is in use, as it is at one moment, and gives the copy a key of its own.
 */
import Database from './library.js'
import { openEncryptedDatabase } from './open.js'
import { applyCipher, applyKey, rawKey } from './setup-pragma.js'
import { requireAsSound } from './sound-copy.js'

/**
 * @typedef {import('./setup-pragma.js').Cipher} Cipher
 */

/**
 * VACUUM INTO writes its target in the source's cipher, page by page: no temporary file, nothing in the clear.
 *
 * @param {object} copy
 * @param {string} copy.from
 * @param {string} copy.to - must not exist
 * @param {Cipher} copy.cipher - of both
 * @param {Uint8Array} copy.key - of the database, 32 bytes
 * @param {Uint8Array} copy.nextKey - of the copy, 32 bytes
 * @throws {MailError} ACCOUNT_DAMAGED where the copy is not as the file; else what SQLite throws
 */
export function copyDatabase({ from, to, cipher, key, nextKey }) {
  const { db } = openEncryptedDatabase({
    path: from,
    key,
    cipher,
    isReadOnly: true,
    isBlocking: true
  })
  try {
    db.prepare('VACUUM INTO ?').run(to)
  } finally {
    db.close()
  }
  const copy = new Database(to, { fileMustExist: true })
  const next = rawKey(nextKey)
  try {
    applyKey(copy, cipher, key)
    copy.pragma('temp_store = 2')
    applyCipher(copy, cipher)
    // The copy is not in WAL mode yet, in which SQLite3MC 2.4 would keep the salt of the key before, and earlier versions rekey
    // nothing. A journal would take the file's size once more, for a copy that is useless if this fails; only `unsafe`
    // connections may have none.
    copy.unsafeMode()
    copy.pragma('journal_mode = OFF')
    copy.rekey(next)
    copy.pragma('journal_mode = WAL')
    requireAsSound(copy, { path: from, cipher, key, isReadOnly: true })
  } finally {
    next.fill(0)
    copy.close()
  }
}
