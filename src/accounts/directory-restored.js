/**
 * The directory of a lost host, as it came out of a backup: without keys, and about to become the directory of a new host.
 * Nobody serves from it yet.
 */
import { deleteAccountRows } from './directory-accounts.js'
import { DirectoryConnection } from './directory-connection.js'
import { writeKeyRows } from './directory-keys.js'
import { countLifts } from './directory-restores.js'
import { prepareRestoredDirectory } from './directory-snapshot.js'
import { keylessAccounts } from './keyless-accounts.js'
import { openPlainDatabase } from '../database/open.js'
import { MailError } from '../errors.js'
import { counted } from '../support/format.js'

/**
 * @typedef {object} RestoredAccount
 * @property {string} id
 * @property {string} address - primary
 * @property {string} folder - relative to the data folder
 */

const HOUR_MS = 60 * 60 * 1000

/**
 * The directory of a backup knows nothing of restores that came after it: of mailboxes, and of the whole host from that same
 * backup. So their number is taken from its age. It grows ever more slowly, because ids of mailboxes end after 2,048 lifts and
 * UIDs after 4,096: 16 in the first hour, 75 in a day, 152 in a month; a backup that is restored again gets more once it has
 * become a twentieth older.
 *
 * @param {number} ageMs - of the backup
 * @returns {number} lifts that its mailboxes may have had since, this one included
 */
const liftsSince = (ageMs) => Math.ceil(16 * Math.log2(Math.max(2, 1 + ageMs / HOUR_MS)))

/** A directory that is being completed. */
export class RestoredDirectory {
  #connection
  #clock

  /**
   * @param {object} options
   * @param {string} options.path - of the file
   * @param {import('../support/clock.js').Clock} options.clock
   * @param {import('../telemetry/logger.js').Logger} options.logger
   * @throws {import('../errors.js').MailError} FILE_TOO_NEW, SCHEMA_MISMATCH, DIRECTORY_DAMAGED
   */
  constructor({ path, clock, logger }) {
    prepareRestoredDirectory(path)
    this.#connection = new DirectoryConnection({ path, clock, logger })
    this.#clock = clock
  }

  /**
   * @returns {RestoredAccount[]} by id
   * @throws {MailError} BACKUP_DAMAGED where a folder is outside the data folder: whoever can write the backups can seal a
   *   directory of their own making, and no mailbox is written elsewhere for them
   */
  listAccounts() {
    const rows = /** @type {RestoredAccount[]} */ (
      this.#connection.prepare('SELECT id, address, folder FROM accounts ORDER BY id').all()
    )
    for (const { folder } of rows) {
      if (!/^mail[\\/]/.test(folder) || folder.split(/[\\/]/).includes('..'))
        throw new MailError('BACKUP_DAMAGED', { detail: 'a mailbox outside the data folder' })
    }
    return rows
  }

  /**
   * Gives an account its keys back, and marks its mailbox as one whose UIDs and MODSEQs are to be lifted at the first
   * unlock.
   *
   * @param {string} accountId
   * @param {object} restored
   * @param {import('./directory-snapshot.js').AccountKeys} restored.keys
   * @param {string | null} restored.cipher - of the mailbox file that was restored
   * @param {string} restored.generation - of the backup
   * @param {number} restored.copiedAtMs - the mailbox as of this time
   */
  async completeAccount(accountId, { keys: { rows, rekey }, cipher, generation, copiedAtMs }) {
    const connection = this.#connection
    const nowMs = this.#clock.nowMs()
    await connection.write(() => {
      writeKeyRows(connection, accountId, rows)
      connection.prepare('UPDATE accounts SET cipher = ? WHERE id = ?').run(cipher, accountId)
      if (rekey)
        connection
          .prepare(
            'INSERT INTO rekeys (account_id, wrapped_next_key, next_rows, started_at_ms) VALUES (?, ?, ?, ?)'
          )
          .run(
            accountId,
            Buffer.from(rekey.wrappedNextKey, 'base64'),
            rekey.nextRows,
            rekey.startedAtMs
          )
      connection
        .prepare(
          `INSERT OR REPLACE INTO restores (account_id, generation, state, cipher, requested_at_ms)
           VALUES (?, ?, 'lift', ?, ?)`
        )
        .run(accountId, generation, cipher, nowMs)
      countLifts(connection, accountId, liftsSince(nowMs - copiedAtMs))
    })
  }

  /**
   * Removes an account of which there is no mailbox: mail for it would have nowhere to go.
   *
   * @param {string} accountId
   */
  dropAccount(accountId) {
    const connection = this.#connection
    deleteAccountRows(connection, accountId)
  }

  /** To be called when all accounts are complete or dropped: leaves one file, without a `-wal`, which can be renamed. */
  finish() {
    // Folders that were to be removed on the lost host do not exist on this one.
    for (const table of ['removals', 'planned_folders'])
      this.#connection.prepare(`DELETE FROM ${table}`).run()
    this.#connection.db.pragma('wal_checkpoint(TRUNCATE)')
  }

  /** Closes the file. */
  close() {
    this.#connection.close()
  }
}

/**
 * To be called last of all: whatever has happened to the file meanwhile, no host may begin whose users could not log in.
 *
 * @param {string} path - of a directory that nobody has open
 * @throws {MailError} DIRECTORY_DAMAGED
 */
export function requireEveryCredential(path) {
  // Opened for writing: a read-only handle would leave a write-ahead log beside the file.
  const db = openPlainDatabase(path)
  try {
    const { length } = keylessAccounts(db)
    if (length === 0) return
    throw new MailError('DIRECTORY_DAMAGED', {
      detail: `${counted(length, 'account has', 'accounts have')} no credential`
    })
  } finally {
    db.close()
  }
}
