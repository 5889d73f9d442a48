/**
 * Opens database files: the directory (plain) and mailboxes (encrypted). A returned handle has its key accepted,
 * its settings in effect and its file verified; whatever fails on the way closes it again.
 */
import { existsSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { MailError, isMailError } from '../errors.js'
import Database from './library.js'
import { requireReadableLog } from './readable-log.js'
import {
  BUSY_TIMEOUT_MS,
  DEFAULT_CACHE_BYTES,
  applyKey,
  pageSizeFor,
  setupConnection,
  setupNewFile,
  verifyFile
} from './setup-pragma.js'
import { errorCodeOf, toMailError } from './sqlite-error.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} DatabaseHandle
 * @typedef {import('./setup-pragma.js').Cipher} Cipher
 *
 * @typedef {object} OpenOptions
 * @property {string} path
 * @property {Uint8Array} key - 32 bytes; not kept
 * @property {Cipher | null} cipher - as recorded for this account; null for a file brought from elsewhere, whose
 *   cipher is found out
 * @property {boolean} [isNew] - make the file, without waiting for the disk: the caller syncs it once it is whole; default
 *   false: it must exist
 * @property {boolean} [isReadOnly] - default false
 * @property {boolean} [isBlocking] - true for threads and the CLI, which may wait inside a statement and
 *   checkpoint at commit; default false: a taken lock answers BUSY at once, and somebody else checkpoints
 * @property {import('./temp-store.js').TempStore} [tempStore] - default memory
 * @property {string} [tempFolder] - for the temporary store `disk`
 * @property {'ON' | 'FAST'} [secureDelete] - default ON
 * @property {number} [cacheBytes] - default 2 MiB
 * @property {boolean} [mayEndEarly] - for a salvage: reads a file whose end is missing as far as it goes; default false: such a
 *   file is damaged as a whole
 */

/**
 * @param {string} path
 * @returns {number | undefined} bytes; undefined: there is no such file
 */
const sizeOf = (path) =>
  // stat opens nothing, so it drops no POSIX lock of this process.
  statSync(path, { throwIfNoEntry: false })?.size

/**
 * @param {DatabaseHandle} db
 * @returns {boolean} whether the file is unfinished: another process is making it at this moment, or was killed while it did
 */
function isHalfMade(db) {
  if (db.pragma('journal_mode', { simple: true }) === 'wal') return false
  return db.prepare('SELECT count(*) FROM sqlite_schema').pluck().get() === 0
}

/**
 * Opens an unencrypted database in WAL mode with synchronous=FULL: the account directory, which writes little
 * and needs each commit on the disk. Its secure_delete is ON, because wrapped keys that were revoked must go.
 *
 * @param {string} path
 * @param {{ isReadOnly?: boolean, timeoutMs?: number }} [options] - `timeoutMs`: how long a statement waits for a
 *   lock, blocking; default 5,000
 * @returns {DatabaseHandle}
 * @throws {MailError} ACCOUNT_DAMAGED, DISK_FULL, NOT_DURABLE when the disk fails, BUSY, SCHEMA_MISMATCH
 */
export function openPlainDatabase(path, { isReadOnly = false, timeoutMs = 5000 } = {}) {
  // A new file of SQLite has no bytes yet.
  const isNew = !sizeOf(path)
  return openWith(path, { isReadOnly, isNew, timeoutMs }, (db) => {
    if (!isReadOnly && (isNew || isHalfMade(db))) setupNewFile(db, 4096)
    setupConnection(db, {
      isReadOnly,
      tempStore: 'memory',
      secureDelete: 'ON',
      cacheBytes: DEFAULT_CACHE_BYTES,
      hasOwnCheckpoints: false,
      synchronous: 'FULL'
    })
    verifyFile(db)
  })
}

/**
 * @template T
 * @param {string} path
 * @param {{ isReadOnly: boolean, isNew: boolean, timeoutMs: number }} options
 * @param {(db: DatabaseHandle) => T} setup
 * @returns {DatabaseHandle}
 */
function openWith(path, { isReadOnly, isNew, timeoutMs }, setup) {
  let db
  try {
    requireReadableLog(path)
    db = new Database(path, { timeout: timeoutMs, readonly: isReadOnly, fileMustExist: !isNew })
    setup(db)
    return db
  } catch (error) {
    // Mapped before the close, which frees a descriptor: afterwards nobody could tell that none had been left.
    const mapped = isFolderGone(error, path) ? folderGone(error) : toMailError(error, dirname(path))
    db?.close()
    throw mapped
  }
}

/**
 * @param {unknown} error
 * @param {string} path - of the file
 * @returns {boolean} whether the folder is gone: the library has no code for that
 */
const isFolderGone = (error, path) => error instanceof TypeError && !existsSync(dirname(path))

/** @param {unknown} cause */
const folderGone = (cause) => new MailError('ACCOUNT_DAMAGED', { detail: 'no folder', cause })

/**
 * The last close moves the `-wal` into the file, each page as the key deciphers it. Where pages have no MAC, a wrong key goes
 * unnoticed and destroys the mailbox: with such a cipher, the key is tried first on a connection that may not write.
 *
 * @param {Cipher} cipher
 * @returns {boolean}
 */
const mayMoveGarbage = (cipher) => cipher === 'aes256cbc'

/**
 * @param {OpenOptions} options
 * @param {Cipher} cipher
 * @returns {DatabaseHandle}
 */
function openWithCipher(options, cipher) {
  const { path, key, isNew = false, isReadOnly = false, isBlocking = false } = options
  const timeoutMs = isBlocking ? BUSY_TIMEOUT_MS : 0
  // A crash of the machine, or a copy onto a full disk, may leave an empty file. SQLite would make a new database of it, in its
  // own layout.
  if (!isNew && sizeOf(path) === 0) throw new MailError('ACCOUNT_DAMAGED', { detail: 'empty file' })
  if (mayMoveGarbage(cipher) && !isNew && !isReadOnly)
    openWithCipher({ ...options, isReadOnly: true }, cipher).close()
  return openWith(path, { isReadOnly, isNew, timeoutMs }, (db) => {
    applyKey(db, cipher, key)
    if (options.mayEndEarly) allowMissingEnd(db)
    if (isNew) {
      db.pragma('synchronous = OFF')
      setupNewFile(db, pageSizeFor(cipher))
    }
    verifyWithKey(db)
    setupConnection(db, {
      isReadOnly,
      tempStore: options.tempStore ?? 'memory',
      ...(options.tempFolder !== undefined && { tempFolder: options.tempFolder }),
      secureDelete: options.secureDelete ?? 'ON',
      cacheBytes: options.cacheBytes ?? DEFAULT_CACHE_BYTES,
      hasOwnCheckpoints: !isBlocking,
      synchronous: isNew ? 'OFF' : 'NORMAL'
    })
  })
}

/**
 * SQLite refuses a file that is shorter than its first page says, unless the list of tables may be written.
 *
 * @param {DatabaseHandle} db - not read yet
 */
function allowMissingEnd(db) {
  const unsafe = /** @type {{ unsafeMode: () => void }} */ (/** @type {unknown} */ (db))
  unsafe.unsafeMode()
  db.pragma('writable_schema = ON')
}

/**
 * Reads for the first time, which is where a wrong key shows.
 *
 * @param {DatabaseHandle} db
 */
function verifyWithKey(db) {
  try {
    verifyFile(db)
  } catch (error) {
    if (errorCodeOf(error).startsWith('SQLITE_NOTADB'))
      throw new MailError('KEY_REJECTED', { detail: 'SQLITE_NOTADB', cause: error })
    throw error
  }
}

/** Tried in this order: the first is the default, the last one that an unfinished conversion may have left. */
const CIPHERS = /** @type {const} */ (['chacha20', 'aes256cbc', 'aegis-256'])

/**
 * Opens a mailbox file. A damaged first page answers like a wrong key, so where the cipher is recorded nothing
 * is guessed; only with an unrecorded one (null) each is tried.
 *
 * @param {OpenOptions} options
 * @returns {{ db: DatabaseHandle, cipher: Cipher }}
 * @throws {MailError} KEY_REJECTED, ACCOUNT_DAMAGED, BUSY, DISK_FULL, NOT_DURABLE when the disk fails, SCHEMA_MISMATCH
 */
export function openEncryptedDatabase(options) {
  const mayGuess = options.cipher === null && !options.isNew
  const ciphers = mayGuess ? CIPHERS : [options.cipher ?? 'chacha20']
  /** @type {unknown} */
  let refusal
  for (const cipher of ciphers) {
    try {
      return { db: openWithCipher(options, cipher), cipher }
    } catch (error) {
      if (!isMailError(error, 'KEY_REJECTED')) throw error
      refusal = error
    }
  }
  throw refusal
}
