/**
 * Gives a database file another cipher or key, or writes it anew without its free pages. All goes into a copy, which
 * then takes the file's place: after a crash the file is the old one or the new one, never something between.
 */
import { constants } from 'node:fs'
import { chmod, copyFile, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { MailError } from '../errors.js'
import { syncFile, syncFolder } from '../support/write-file.js'
import { removeDatabase } from './database-files.js'
import Database from './library.js'
import { openEncryptedDatabase } from './open.js'
import { applyCipher, applyKey, rawKey, verifyFile } from './setup-pragma.js'
import { copyDiffers, requireAsSound } from './sound-copy.js'
import { toMailError } from './sqlite-error.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} DatabaseHandle
 * @typedef {import('./setup-pragma.js').Cipher} Cipher
 * @typedef {{ cipher: Cipher, key: Uint8Array }} Encryption
 * @typedef {import('./sound-copy.js').SourceFile} SourceFile
 */

/** The copy lies beside the file, with this suffix; one that a crash has left is removed at the next try. */
const COPY_SUFFIX = '.next'

/**
 * Takes the room of a second file. Where the ciphers reserve different numbers of bytes on each page, memory grows by the
 * file's size as well: SQLite then makes the file anew in its temporary storage, which must not be on the disk.
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
    await removeDatabase(copy)
    const { db, cipher } = openEncryptedDatabase({ path, ...from, isBlocking: true })
    let counts
    try {
      counts = countRows(db)
    } finally {
      // The last close moves the -wal into the file and removes it.
      db.close()
    }
    await requireNoWal(path)
    await copyFile(path, copy, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL)
    const next = { cipher, ...to }
    encryptAnew(copy, { cipher, key: from.key }, next)
    checkCopy(copy, next, counts, { path, cipher, key: from.key })
    await takePlace(copy, path)
  } catch (error) {
    await removeDatabase(copy)
    throw toMailError(error)
  }
}

/**
 * Writes the file anew without its free pages (VACUUM INTO: encrypted as the file is, in about 63 MB of memory whatever
 * its size). Takes the room of the file's pages in use.
 *
 * @param {string} path - of the database, which nobody has open: the caller holds mail.lock exclusively
 * @param {{ cipher: Cipher | null, key: Uint8Array }} encryption
 * @returns {Promise<{ bytesBefore: number, bytesAfter: number }>} when the new file is durable
 * @throws {MailError} KEY_REJECTED, ACCOUNT_DAMAGED, BUSY (another opener in spite of the lock), DISK_FULL
 */
export async function compactDatabase(path, { cipher: recorded, key }) {
  const copy = path + COPY_SUFFIX
  try {
    await removeDatabase(copy)
    const { db, cipher } = openEncryptedDatabase({ path, key, cipher: recorded, isBlocking: true })
    let counts
    try {
      db.prepare('VACUUM INTO ?').run(copy)
      counts = countRows(db)
    } finally {
      db.close()
    }
    await requireNoWal(path)
    checkCopy(copy, { cipher, key }, counts, null)
    const [before, after] = [await stat(path), await stat(copy)]
    await chmod(copy, before.mode)
    await takePlace(copy, path)
    return { bytesBefore: before.size, bytesAfter: after.size }
  } catch (error) {
    await removeDatabase(copy)
    throw toMailError(error)
  }
}

/**
 * @param {DatabaseHandle} db
 * @returns {Map<string, number>} rows by table
 */
function countRows(db) {
  const names = /** @type {string[]} */ (
    db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0").pluck().all()
  )
  return new Map(
    names.map((name) => [
      name,
      Number(
        db
          .prepare(`SELECT count(*) FROM "${name.replaceAll('"', '""')}"`)
          .pluck()
          .get()
      )
    ])
  )
}

/**
 * Gives the copy the journal mode of the file, reads all of it, and checks that nothing is missing: what it replaces is the
 * only one.
 *
 * @param {string} copy
 * @param {Encryption} encryption
 * @param {Map<string, number>} counts - rows by table
 * @param {SourceFile | null} source - may be written anew as damaged as it is; null: it may not
 * @throws {MailError} ACCOUNT_DAMAGED
 */
function checkCopy(copy, { cipher, key }, counts, source) {
  const db = new Database(copy, { fileMustExist: true })
  try {
    applyKey(db, cipher, key)
    // VACUUM INTO makes the copy without WAL mode.
    db.pragma('journal_mode = WAL')
    verifyFile(db)
    requireAsSound(db, source)
    const copied = countRows(db)
    const isWhole = [...counts].every(([name, rows]) => copied.get(name) === rows)
    if (!isWhole) throw copyDiffers()
  } finally {
    db.close()
  }
}

/**
 * @param {string} copy - whole, closed
 * @param {string} path
 */
async function takePlace(copy, path) {
  await syncFile(copy)
  // Without this sync a crash might keep the rename and bring back the old file's log, removed before, which would spoil the new
  // file.
  await syncFolder(dirname(path))
  await rename(copy, path)
  await syncFolder(dirname(path))
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
    // In WAL mode SQLite3MC 2.4 keeps the salt of the key before, and earlier versions rekey nothing. The journal is encrypted,
    // as the file is.
    db.pragma('journal_mode = DELETE')
    applyCipher(db, to.cipher)
    db.rekey(key)
    db.pragma('journal_mode = WAL')
  } finally {
    key.fill(0)
    db.close()
  }
}

/**
 * Removes what is left of a copy whose maker was killed.
 *
 * @param {string} path - of the database: the caller holds mail.lock exclusively, so nobody makes one now
 * @returns {Promise<boolean>} whether there was one
 */
export async function removeLeftCopy(path) {
  const isThere = await hasLeftCopy(path)
  if (isThere) await removeDatabase(path + COPY_SUFFIX)
  return isThere
}

/**
 * @param {string} path - of the database
 * @returns {Promise<boolean>} whether a copy is being made, or was left behind
 */
export const hasLeftCopy = (path) =>
  stat(path + COPY_SUFFIX).then(
    () => true,
    () => false
  )
