/**
 * Gives a database file another cipher or key. SQLite3MC encrypts the pages anew in a copy, which then takes the
 * file's place: after a crash the file is the old one or the new one, never something between.
 */
import { constants } from 'node:fs'
import { copyFile, open, rename, rm, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import Database from 'better-sqlite3-multiple-ciphers'
import { MailError } from '../errors.js'
import { syncFolder } from './durability.js'
import { openEncryptedDatabase } from './open.js'
import { applyCipher, applyKey, rawKey } from './setup-pragma.js'
import { toMailError } from './sqlite-error.js'

/**
 * @typedef {import('./setup-pragma.js').Cipher} Cipher
 * @typedef {{ cipher: Cipher, key: Uint8Array }} Encryption
 */

/** Beside the file: what a crash leaves of it is removed at the next try. */
const COPY_SUFFIX = '.next'

/**
 * Takes the room of a second file. Where the ciphers differ in what they keep on each page, memory grows by the file's
 * size as well: SQLite then makes the file anew in its temporary storage, which must not be on the disk.
 *
 * @param {string} path - of the database, which nobody has open: the caller holds mail.lock exclusively
 * @param {{ from: { cipher: Cipher | null, key: Uint8Array }, to: { cipher?: Cipher, key: Uint8Array } }} change - the
 *   cipher stays where none is named
 * @returns {Promise<void>} when the new file is durable
 * @throws {MailError} KEY_REJECTED, ACCOUNT_DAMAGED, BUSY (another opener in spite of the lock), DISK_FULL
 */
export async function rewriteDatabase(path, { from, to }) {
  const copy = path + COPY_SUFFIX
  try {
    await removeCopy(copy)
    // The last close moves the -wal into the file and removes it.
    const { db, cipher } = openEncryptedDatabase({ path, ...from, isBlocking: true })
    db.close()
    await requireNoWal(path)
    await copyFile(path, copy, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL)
    encryptAnew(copy, { cipher, key: from.key }, { cipher, ...to })
    const handle = await open(copy, 'r')
    await handle.sync().finally(() => handle.close())
    await rename(copy, path)
    await syncFolder(dirname(path))
  } catch (error) {
    await removeCopy(copy)
    throw toMailError(error)
  }
}

/** @param {string} path */
async function requireNoWal(path) {
  const isThere = await stat(`${path}-wal`).then(
    () => true,
    (error) => {
      if (error.code === 'ENOENT') return false
      throw error
    }
  )
  if (isThere) throw new MailError('BUSY', { detail: 'the -wal file is still there' })
}

/**
 * @param {string} path
 * @param {Encryption} from
 * @param {Encryption} to
 */
function encryptAnew(path, from, to) {
  const db = new Database(path, { fileMustExist: true })
  const key = rawKey(to.key)
  try {
    applyKey(db, from.cipher, from.key)
    db.pragma('temp_store = 2')
    // SQLite3MC rekeys no file in WAL mode. The journal is encrypted, as the file is.
    db.pragma('journal_mode = DELETE')
    applyCipher(db, to.cipher)
    db.rekey(key)
    db.pragma('journal_mode = WAL')
  } finally {
    key.fill(0)
    db.close()
  }
}

/** @param {string} copy */
async function removeCopy(copy) {
  for (const suffix of ['', '-journal', '-wal', '-shm']) await rm(copy + suffix, { force: true })
}
