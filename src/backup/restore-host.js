/**
 * A whole host onto an empty data folder: every mailbox, the spools, the directory with all credentials, the pepper.
 *
 *     restoring.json ─► mail/…, each whole or absent ─► pepper ─► backup.json ─► directory.db
 *
 * Without directory.db there is no host; it takes its place last of all, by a rename. A run that was killed goes on when
 * it is repeated.
 */
import { mkdir, readFile, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { DirectoryConnection } from '../accounts/directory-connection.js'
import { writeKeyRows } from '../accounts/directory-keys.js'
import { UNFINISHED_RESTORE as MARK } from '../accounts/services.js'
import { MailError } from '../errors.js'
import { isThere } from '../support/is-there.js'
import { syncFolder, writeFileDurably } from '../support/write-file.js'
import { prepareRestoredDirectory } from './directory-snapshot.js'
import { writeHostState } from './host-state.js'
import { materialize } from './materialize.js'
import { openKeys, openSealedObject } from './sealed-directory.js'
import { readSnapshot } from './snapshot-store.js'

/**
 * @typedef {import('./repository.js').AccountEntry} AccountEntry
 * @typedef {import('./repository.js').Generation} Generation
 *
 * @typedef {object} HostRestoreOptions
 * @property {import('../../config/load.js').Config} config - of the new host
 * @property {import('./repository.js').Repository} repository
 * @property {Generation} generation
 * @property {import('./sealed.js').RecoveryKey} recoveryKey
 * @property {import('../support/clock.js').Clock} clock
 * @property {import('../telemetry/logger.js').Logger} logger
 * @property {(progress: { accounts: number, accountsTotal: number, bytes: number, bytesTotal: number }) => void} [onProgress]
 *
 * @typedef {object} HostRestoreSummary
 * @property {number} accounts - restored
 * @property {{ address: string, code: string }[]} missing - in the directory, and not in the backup or damaged there
 */

const DIRECTORY = 'directory.db'
const STAGED_DIRECTORY = 'restoring-directory.db'

/** What may lie in an empty data folder: the mark of a restore that is to go on, and what it has made. */
const OWN = new Set([
  MARK,
  ...['', '-wal', '-shm'].map((suffix) => STAGED_DIRECTORY + suffix),
  ...['mail', 'run', 'tmp', 'pepper', 'backup', 'backup.json']
])

/** One restore of a host. */
class HostRestore {
  #progress = { accounts: 0, accountsTotal: 0, bytes: 0, bytesTotal: 0 }

  /** @param {HostRestoreOptions} options */
  constructor(options) {
    this.options = options
    this.data = options.config.data
    this.target = options.repository.target
  }

  /** @returns {Promise<HostRestoreSummary>} */
  async run() {
    const { generation, recoveryKey, repository, config } = this.options
    const marker = await repository.readMarker()
    if (!marker) throw new MailError('BACKUP_MISSING')
    // Both are asked before anything is written: the key is the operator's only copy, and may be mistyped.
    const directory = await openSealedObject(this.target, generation.directory, recoveryKey)
    const pepper = await openSealedObject(this.target, generation.pepper, recoveryKey)
    // All but the removal of the mark was done.
    if ((await this.#requireEmpty()) === 'placed') return await this.#finish()
    await writeFileDurably(join(this.data, MARK), JSON.stringify({ generation: generation.name }))

    const staged = join(this.data, STAGED_DIRECTORY)
    for (const suffix of ['', '-wal', '-shm']) await rm(staged + suffix, { force: true })
    await writeFileDurably(staged, directory)
    const summary = await this.#restoreAccounts(staged)
    await this.#placePepper(config.auth.pepperFile, pepper)
    const { recipient } = recoveryKey
    await writeHostState(this.data, { repositoryId: marker.repositoryId, recipient })
    await rename(staged, join(this.data, DIRECTORY))
    await syncFolder(this.data)
    await this.#finish()
    return summary
  }

  /** @returns {Promise<HostRestoreSummary>} of what stands in the directory */
  async #finish() {
    await rm(join(this.data, MARK))
    const { clock, logger } = this.options
    const path = join(this.data, DIRECTORY)
    const connection = new DirectoryConnection({ path, clock, logger })
    try {
      const { count } = connection.prepare('SELECT count(*) AS count FROM accounts').get()
      return { accounts: count, missing: [] }
    } finally {
      connection.close()
    }
  }

  /**
   * @returns {Promise<'empty' | 'placed'>} `placed`: an earlier run was killed when all was in its place
   * @throws {MailError} RESTORE_REFUSED: never over live data
   */
  async #requireEmpty() {
    await mkdir(this.data, { recursive: true, mode: 0o700 })
    const names = await readdir(this.data)
    const { generation } = this.options
    const mark = names.includes(MARK)
      ? JSON.parse(await readFile(join(this.data, MARK), 'utf8'))
      : null
    if (mark && mark.generation !== generation.name)
      throw new MailError('RESTORE_REFUSED', {
        detail: `a restore of ${mark.generation} was begun there: finish it, or empty the folder`
      })
    if (mark && names.includes(DIRECTORY)) return 'placed'
    const isOurs = mark
      ? names.every((name) => OWN.has(name))
      : names.every((name) => ['backup', 'run', 'tmp'].includes(name))
    if (!isOurs) throw new MailError('RESTORE_REFUSED', { detail: `${this.data} is not empty` })
    return 'empty'
  }

  /**
   * @param {string} staged - the directory
   * @returns {Promise<HostRestoreSummary>}
   */
  async #restoreAccounts(staged) {
    const { generation, clock, logger } = this.options
    prepareRestoredDirectory(staged)
    const connection = new DirectoryConnection({ path: staged, clock, logger })
    try {
      const rows = /** @type {{ id: string, address: string, folder: string }[]} */ (
        connection.prepare('SELECT id, address, folder FROM accounts ORDER BY id').all()
      )
      const entries = new Map(generation.accounts.map((entry) => [entry.id, entry]))
      this.#progress.accountsTotal = rows.length
      this.#progress.bytesTotal = generation.accounts.reduce((sum, { bytes }) => sum + bytes, 0)
      /** @type {HostRestoreSummary} */
      const summary = { accounts: 0, missing: [] }
      for (const { id, address, folder } of rows) {
        const code = await this.#restoreOne(connection, entries.get(id), folder)
        if (code === null) summary.accounts += 1
        else {
          summary.missing.push({ address, code })
          dropAccount(connection, id)
        }
        this.#progress.accounts += 1
        this.#tell()
      }
      // Folders that were to be removed there are not here.
      connection.prepare('DELETE FROM removals').run()
      connection.db.pragma('wal_checkpoint(TRUNCATE)')
      return summary
    } finally {
      connection.close()
    }
  }

  /**
   * @param {DirectoryConnection} connection
   * @param {AccountEntry | undefined} entry
   * @param {string} stored - the account's folder within the data folder
   * @returns {Promise<string | null>} why it is not there; null where it is
   */
  async #restoreOne(connection, entry, stored) {
    const { recoveryKey, logger } = this.options
    if (!entry) return 'BACKUP_MISSING'
    try {
      const keys = await openKeys(this.target, entry, recoveryKey)
      if (!keys) return 'ERASED'
      const snapshot = await readSnapshot(this.target, entry.snapshot)
      const folder = join(this.data, stored)
      if (!(await isThere(folder))) {
        const onRead = (/** @type {number} */ bytes) => {
          this.#progress.bytes += bytes
          this.#tell()
        }
        await materialize({ target: this.target, snapshot, folder: `${folder}.part`, onRead })
        await rename(`${folder}.part`, folder)
        await syncFolder(dirname(folder))
      } else this.#progress.bytes += entry.bytes
      await this.#writeRows(connection, entry, keys, snapshot.cipher)
      return null
    } catch (err) {
      if (!(err instanceof MailError) || err.code !== 'BACKUP_DAMAGED') throw err
      logger.error({ err, accountId: entry.id }, 'an account could not be restored')
      await rm(`${join(this.data, stored)}.part`, { recursive: true, force: true })
      return err.code
    }
  }

  /**
   * @param {DirectoryConnection} connection
   * @param {AccountEntry} entry
   * @param {import('./directory-snapshot.js').AccountKeys} keys
   * @param {string | null} cipher
   */
  async #writeRows(connection, { id }, { rows, rekey }, cipher) {
    const { clock, generation } = this.options
    await connection.write(() => {
      writeKeyRows(connection, id, rows)
      connection.prepare('UPDATE accounts SET cipher = ? WHERE id = ?').run(cipher, id)
      if (rekey)
        connection
          .prepare(
            'INSERT INTO rekeys (account_id, wrapped_next_key, next_rows, started_at_ms) VALUES (?, ?, ?, ?)'
          )
          .run(id, Buffer.from(rekey.wrappedNextKey, 'base64'), rekey.nextRows, rekey.startedAtMs)
      connection
        .prepare(
          `INSERT OR REPLACE INTO restores (account_id, generation, state, cipher, requested_at_ms)
           VALUES (?, ?, 'lift', ?, ?)`
        )
        .run(id, generation.name, cipher, clock.nowMs())
    })
  }

  /**
   * @param {string} path
   * @param {Buffer} pepper
   */
  async #placePepper(path, pepper) {
    try {
      const present = (await isThere(path)) ? await readFile(path) : null
      if (present && !present.equals(pepper))
        throw new MailError('RESTORE_REFUSED', { detail: `${path} holds another pepper` })
      present?.fill(0)
      if (!present) await writeFileDurably(path, pepper)
    } finally {
      pepper.fill(0)
    }
  }

  #tell() {
    this.options.onProgress?.({ ...this.#progress })
  }
}

/**
 * An account without a mailbox would be one whose mail bounces into nothing.
 *
 * @param {DirectoryConnection} connection
 * @param {string} id
 */
function dropAccount(connection, id) {
  connection.prepare('DELETE FROM addresses WHERE account_id = ?').run(id)
  connection.prepare('DELETE FROM accounts WHERE id = ?').run(id)
}

/**
 * @param {HostRestoreOptions} options
 * @returns {Promise<HostRestoreSummary>}
 * @throws {MailError} RESTORE_REFUSED where the data folder is not empty; RECOVERY_KEY_REJECTED, BACKUP_MISSING,
 *   BACKUP_DAMAGED, BACKUP_UNREACHABLE, DISK_FULL
 */
export function restoreHost(options) {
  return new HostRestore(options).run()
}
