/**
 * Makes and opens an account's mailbox file: lock, key, schema.
 */
import { mkdirSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { MailError, isMailError } from '../errors.js'
import { syncFile, syncFolder } from '../support/write-file.js'
import { mailFile } from '../database/database-files.js'
import { lockShared, withExclusiveLock } from '../database/lock.js'
import { migrate, pendingMigrations, readMigrations } from '../database/migrate.js'
import { openEncryptedDatabase } from '../database/open.js'
import { rewriteDatabase } from '../database/rewrite.js'
import { BUSY_TIMEOUT_MS } from '../database/setup-pragma.js'
import { toMailError } from '../database/sqlite-error.js'
import { decideTempStore } from '../database/temp-store.js'
import { retryWhileBusy, runTransaction } from '../database/transaction.js'
import { insertUsualMailboxes } from './usual-mailboxes.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('../database/setup-pragma.js').Cipher} Cipher
 * @typedef {import('../database/lock.js').MailLock} MailLock
 * @typedef {import('../support/clock.js').Clock} Clock
 *
 * @typedef {object} FileOptions
 * @property {string} folder - the account's folder
 * @property {Uint8Array} key - 32 bytes
 * @property {Cipher | null} cipher - as recorded; null: find out
 * @property {boolean} isReadOnly
 * @property {import('../database/temp-store.js').TempStoreChoice} tempStore
 * @property {string} tempFolder - what `disk` and `auto` are about
 * @property {'ON' | 'FAST'} secureDelete
 * @property {number} cacheBytes
 * @property {Clock} clock
 * @property {number} busyTimeoutMs
 *
 * @typedef {object} OpenFile
 * @property {Database} db
 * @property {Cipher} cipher
 * @property {MailLock} lock - shared
 * @property {import('../database/temp-store.js').TempStore} tempStore
 */

/** The schema of a mailbox file. */
export const ACCOUNT_MIGRATIONS = new URL('../../migrations/account/', import.meta.url)

/** @type {ReturnType<typeof readMigrations> | null} */
let knownMigrations = null

/**
 * Read once, not at each open. It also keeps a process on the schema of its own code while a newer one is being installed.
 *
 * @returns {ReturnType<typeof readMigrations>}
 */
const accountMigrations = () => (knownMigrations ??= readMigrations(ACCOUNT_MIGRATIONS))

/** How long a migration waits for others to close before it looks again whether one of them has done it. */
const MIGRATE_TRY_MS = 100

/**
 * @param {FileOptions} options
 * @param {{ isNew?: boolean, isReadOnly?: boolean, isBlocking?: boolean }} how
 * @returns {{ db: Database, cipher: Cipher }}
 */
function openFile(options, how) {
  const { folder, key, cipher, secureDelete, cacheBytes, tempFolder } = options
  const tempStore = decideTempStore(options.tempStore, tempFolder)
  return openEncryptedDatabase({
    path: mailFile(folder),
    key,
    cipher,
    secureDelete,
    cacheBytes,
    tempStore,
    tempFolder,
    ...how
  })
}

/**
 * @param {FileOptions} options
 * @returns {Promise<OpenFile | null>} null where the schema must be brought up to date first: nothing is open or locked then
 * @throws {MailError} as `openMailFile`
 */
async function openUpToDate(options) {
  const lock = await lockShared(options.folder, { timeoutMs: BUSY_TIMEOUT_MS })
  /** @type {Database | null} */
  let db = null
  try {
    const migrations = accountMigrations()
    const opened = await retryWhileBusy(
      () => openFile(options, { isReadOnly: options.isReadOnly }),
      options
    )
    db = opened.db
    const handle = db
    const pending = await retryWhileBusy(() => pendingMigrations(handle, migrations), options)
    if (pending.length === 0) {
      const tempStore = decideTempStore(options.tempStore, options.tempFolder)
      return { ...opened, lock, tempStore }
    }
    db.close()
    lock.release()
    return null
  } catch (error) {
    db?.close()
    lock.release()
    throw toMailError(error)
  }
}

/**
 * Opens the file and brings its schema up to date, which needs the mailbox alone for a moment.
 *
 * @param {FileOptions} options
 * @returns {Promise<OpenFile>}
 * @throws {MailError} KEY_REJECTED, ACCOUNT_DAMAGED, FILE_REFUSED, FILE_TOO_NEW, SCHEMA_MISMATCH, BUSY, OVERLOADED
 */
export async function openMailFile(options) {
  // Whoever gets here has an account: its disk may not be mounted, and SQLite would make a file.
  if (!isThere(mailFile(options.folder)))
    throw new MailError('ACCOUNT_DAMAGED', { detail: 'no mail.db in the folder' })
  const startedMs = performance.now()
  for (;;) {
    const file = await openUpToDate(options)
    if (file !== null) return file
    try {
      await migrateAlone(options)
    } catch (error) {
      // Somebody else may have migrated the file and have it open now: then the next try finds nothing left to do.
      if (!isMailError(error, 'BUSY') || performance.now() - startedMs > BUSY_TIMEOUT_MS)
        throw toMailError(error)
    }
  }
}

/**
 * @param {string} path
 * @returns {boolean}
 * @throws {MailError} FILE_REFUSED
 */
function isThere(path) {
  try {
    return statSync(path, { throwIfNoEntry: false }) !== undefined
  } catch (error) {
    throw toMailError(error)
  }
}

/**
 * Opens the file once more. The caller holds its lock, and knows that its schema is up to date.
 *
 * @param {FileOptions} options - whose key is zeroed here
 * @returns {Database}
 * @throws {Error} of SQLite when it is locked; MailError KEY_REJECTED, ACCOUNT_DAMAGED
 */
export function reopenMailFile(options) {
  try {
    return openFile(options, { isReadOnly: options.isReadOnly }).db
  } finally {
    options.key.fill(0)
  }
}

/**
 * Gives an account's file another cipher, for instance one that was brought from elsewhere in AES-256-CBC, which does
 * not authenticate its pages. Record the new cipher when it resolves.
 *
 * @param {object} options
 * @param {string} options.folder - the account's folder, whose file nobody has open
 * @param {Uint8Array} options.key - 32 bytes, stays the key
 * @param {Cipher | null} options.cipher - as recorded; null: find out
 * @param {Cipher} options.nextCipher
 * @param {number} options.timeoutMs - how long to wait for the last opener to go
 * @returns {Promise<void>}
 * @throws {MailError} BUSY, KEY_REJECTED, ACCOUNT_DAMAGED, DISK_FULL
 */
export function convertCipher({ folder, key, cipher, nextCipher, timeoutMs }) {
  return withExclusiveLock(folder, { timeoutMs }, () =>
    rewriteDatabase(mailFile(folder), { from: { cipher, key }, to: { cipher: nextCipher, key } })
  )
}

/**
 * @param {FileOptions} options
 * @returns {Promise<void>}
 */
function migrateAlone(options) {
  return withExclusiveLock(options.folder, { timeoutMs: MIGRATE_TRY_MS }, async () => {
    const { db } = openFile(options, { isBlocking: true })
    try {
      db.pragma('synchronous = FULL')
      migrate(db, accountMigrations(), { clock: options.clock })
    } finally {
      db.close()
    }
    await syncFolder(options.folder)
  })
}

/**
 * Makes a mailbox file with the usual folders; durable, entry in the folder included, when it resolves.
 *
 * @param {FileOptions} options - whose `cipher` must be named; the folder is made if it is missing (0700)
 * @returns {Promise<void>}
 * @throws {MailError} ACCOUNT_EXISTS, DISK_FULL, NOT_DURABLE
 */
export async function createMailFile(options) {
  const { folder, clock } = options
  const requireNone = () => {
    if (statSync(mailFile(folder), { throwIfNoEntry: false }))
      throw new MailError('ACCOUNT_EXISTS', { detail: 'mail.db is there already' })
  }
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  requireNone()
  await withExclusiveLock(folder, { timeoutMs: BUSY_TIMEOUT_MS }, async () => {
    requireNone()
    const { db } = openFile(options, { isNew: true, isBlocking: true })
    try {
      migrate(db, accountMigrations(), { clock })
      runTransaction(db, () => insertUsualMailboxes(db, clock.nowMs()))
      db.pragma('wal_checkpoint(TRUNCATE)')
    } catch (error) {
      throw toMailError(error)
    } finally {
      db.close()
    }
    try {
      // No account has it before that: one sync does for the thirty that SQLite would make of the schema.
      await syncFile(mailFile(folder))
      await syncFolder(folder)
      await syncFolder(dirname(folder))
    } catch (error) {
      throw toMailError(error)
    }
  })
}
