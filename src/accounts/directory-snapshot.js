/**
 * The account directory as of one moment, in two parts: the database without any wrapped key, and the keys of each
 * account by themselves, so that those of a deleted account can leave every backup.
 */
import { createHash } from 'node:crypto'
import { dirname } from 'node:path'
import {
  credentialFromRow,
  keyRowsFromJson,
  keyRowsToJson,
  sealIdentityFromRow
} from './directory-rows.js'
import { removeDatabase } from '../database/database-files.js'
import Database from '../database/library.js'
import { openPlainDatabase } from '../database/open.js'
import { quickCheck } from '../database/sqlite-check.js'
import { toMailError } from '../database/sqlite-error.js'
import { runTransaction } from '../database/transaction.js'
import { MailError } from '../errors.js'

/**
 * @typedef {import('./directory-port.js').KeyRows} KeyRows
 *
 * @typedef {object} AccountKeys - everything of an account that a credential opens, or that a rekey has begun
 * @property {KeyRows} rows
 * @property {{ wrappedNextKey: string, nextRows: string, startedAtMs: number } | null} rekey - base64, JSON
 *
 * @typedef {object} DirectoryAccount
 * @property {string} id
 * @property {number} keyEpoch
 * @property {string} folder - as stored: relative to the data folder
 * @property {string} address
 * @property {boolean} isWhole - false: the key that mail is sealed to has gone; nobody finds such an account
 */

/** Tables of wrapped keys: the sealed directory has no row of them. */
const KEY_TABLES = ['credentials', 'seal_identities', 'rekeys']

/**
 * All pages are copied in one step, about a second for 200 MB, by a process that serves nobody: between two steps SQLite lets go of
 * its snapshot, and begins anew once another process has written. Workers that write each 0.4 s would let no large copy end.
 */
const ALL_PAGES = 0x7fffffff

/**
 * @param {import('better-sqlite3-multiple-ciphers').Database} db
 * @throws {MailError} DIRECTORY_DAMAGED
 */
function requireSound(db) {
  const [problem] = quickCheck(db)
  if (problem === undefined) return
  throw new MailError('DIRECTORY_DAMAGED', {
    detail: `directory.db: ${problem}; the last backup is kept: put a sound one in its place (docs/backup.md, “The directory alone”)`
  })
}

/** A copy of the directory in a scratch file. */
export class DirectorySnapshot {
  #db

  /**
   * @param {import('better-sqlite3-multiple-ciphers').Database} db
   * @param {string} path
   */
  constructor(db, path) {
    this.#db = db
    this.path = path
  }

  /**
   * @param {string} directoryPath - directory.db, which others may have open
   * @param {string} path - of the copy; must not exist
   * @returns {Promise<DirectorySnapshot>}
   * @throws {MailError} DISK_FULL …; DIRECTORY_DAMAGED: what is restored from such a copy would be as damaged
   */
  static async take(directoryPath, path) {
    const source = openPlainDatabase(directoryPath, { isReadOnly: true })
    try {
      await source.backup(path, { progress: () => ALL_PAGES })
    } catch (error) {
      throw toMailError(error, dirname(path))
    } finally {
      source.close()
    }
    const db = openPlainDatabase(path)
    try {
      requireSound(db)
    } catch (error) {
      db.close()
      throw error
    }
    return new DirectorySnapshot(db, path)
  }

  /** @returns {DirectoryAccount[]} */
  accounts() {
    const rows = /** @type {any[]} */ (
      this.#db
        .prepare(
          `SELECT id, key_epoch, folder, address,
             EXISTS (SELECT 1 FROM account_seals WHERE account_id = id) AS is_whole
           FROM accounts ORDER BY id`
        )
        .all()
    )
    return rows.map((row) => ({
      id: row.id,
      keyEpoch: row.key_epoch,
      folder: row.folder,
      address: row.address,
      isWhole: row.is_whole === 1
    }))
  }

  /**
   * @param {string} accountId
   * @returns {string} JSON; the same as long as no credential changes (when each was last used is left out)
   */
  keysOf(accountId) {
    const all = (/** @type {string} */ sql) =>
      /** @type {any[]} */ (this.#db.prepare(sql).all(accountId))
    const [account] = all(
      `SELECT a.key_epoch, s.recipient, s.public_key
       FROM accounts a JOIN account_seals s ON s.account_id = a.id WHERE a.id = ?`
    )
    const [rekey] = all('SELECT * FROM rekeys WHERE account_id = ?')
    const rows = keyRowsToJson({
      keyEpoch: account.key_epoch,
      sealRecipient: account.recipient,
      sealPublicKey: account.public_key,
      credentials: all('SELECT * FROM credentials WHERE account_id = ? ORDER BY id').map((row) => ({
        ...credentialFromRow(row),
        lastUsedAtMs: null
      })),
      sealIdentities: all('SELECT * FROM seal_identities WHERE account_id = ? ORDER BY number').map(
        sealIdentityFromRow
      )
    })
    return JSON.stringify({
      rows: JSON.parse(rows),
      rekey: rekey
        ? {
            wrappedNextKey: rekey.wrapped_next_key.toString('base64'),
            nextRows: rekey.next_rows,
            startedAtMs: rekey.started_at_ms
          }
        : null
    })
  }

  /** Removes every wrapped key from the copy, and closes it: one file then, without a `-wal`. */
  strip() {
    runTransaction(this.#db, () => {
      for (const table of KEY_TABLES) this.#db.prepare(`DELETE FROM ${table}`).run()
    })
    this.#db.pragma('wal_checkpoint(TRUNCATE)')
    this.#db.pragma('journal_mode = DELETE')
    this.#db.exec('VACUUM')
    this.#db.close()
  }

  /** Removes the copy. */
  async discard() {
    if (this.#db.open) this.#db.close()
    await removeDatabase(this.path)
  }
}

/**
 * @param {string} keys - JSON of `keysOf`
 * @returns {string} the name of their object: the same keys are stored once. It tells nothing: the keys in it are random.
 */
export const keysName = (keys) => createHash('sha256').update(keys).digest('hex').slice(0, 32)

/**
 * @param {Buffer} json - of `keysOf`
 * @returns {AccountKeys}
 * @throws {MailError} BACKUP_DAMAGED
 */
export function parseKeys(json) {
  const keys = readKeys(json)
  // The host that was backed up had lost the credentials: nobody could open the mailbox.
  if (keys.rows.credentials.length === 0)
    throw new MailError('BACKUP_DAMAGED', { detail: 'an account without credentials' })
  return keys
}

/**
 * @param {Buffer} json - of `keysOf`
 * @returns {AccountKeys}
 * @throws {MailError} BACKUP_DAMAGED
 */
function readKeys(json) {
  try {
    const { rows, rekey } = JSON.parse(json.toString('utf8'))
    return { rows: keyRowsFromJson(JSON.stringify(rows)), rekey }
  } catch (cause) {
    throw new MailError('BACKUP_DAMAGED', { detail: 'the keys of an account', cause })
  }
}

/**
 * Makes a directory that came out of a backup one that can be opened as usual. Whoever can write the backups can seal a directory
 * of their own making, and nothing in it may act by itself: a trigger could list folders of others to be removed.
 *
 * @param {string} path
 * @throws {MailError} BACKUP_DAMAGED where the file has anything that no directory of this program has
 */
export function prepareRestoredDirectory(path) {
  const db = new Database(path, { fileMustExist: true })
  try {
    const isForged = (/** @type {string} */ condition) => db.prepare(condition).pluck().get() === 1
    if (isForged("SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type IN ('trigger', 'view'))"))
      throw new MailError('BACKUP_DAMAGED', { detail: 'a directory with triggers or views' })
    // Names of folders are made of account ids.
    if (isForged(`SELECT EXISTS (SELECT 1 FROM accounts WHERE id GLOB '*[^0-9a-f]*')`))
      throw new MailError('BACKUP_DAMAGED', { detail: 'an account whose id is none' })
    db.pragma('journal_mode = WAL')
  } finally {
    db.close()
  }
}
