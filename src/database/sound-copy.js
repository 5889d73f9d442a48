/**
 * Whether a copy is as good as the file that it was made of: it may take that file's place, or outlive it.
 */
import { MailError } from '../errors.js'
import { openEncryptedDatabase } from './open.js'
import { quickCheck } from './sqlite-check.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 *
 * @typedef {object} SourceFile
 * @property {string} path
 * @property {import('./setup-pragma.js').Cipher} cipher
 * @property {Uint8Array} key - 32 bytes
 * @property {boolean} [isReadOnly] - opened for reading alone; by default not
 */

/** @returns {MailError} */
export const copyDiffers = () => new MailError('ACCOUNT_DAMAGED', { detail: 'copy differs' })

/**
 * Reads all of a copy: neither a write that was lost nor a fault of the cipher's library may stay unnoticed.
 *
 * @param {Database} copy
 * @param {SourceFile | null} source - where the copy is damaged, it has to be as well; null: the copy must be sound
 * @throws {MailError} ACCOUNT_DAMAGED
 */
export function requireAsSound(copy, source) {
  if (quickCheck(copy).length === 0) return
  if (source === null) throw copyDiffers()
  const { db } = openEncryptedDatabase({ ...source, isBlocking: true })
  try {
    if (quickCheck(db).length === 0) throw copyDiffers()
  } finally {
    db.close()
  }
}
