/**
 * A whole host onto an empty data folder: every mailbox, the spools, the directory with all credentials, the pepper.
 *
 *     restoring.json ─► mail/…, each whole or absent ─► pepper ─► backup.json ─► directory.db
 *
 * Without directory.db there is no host; it takes its place last of all, by a rename. A run that was killed goes on when
 * it is repeated; one that still runs has the host's lock of backups.
 */
import { randomBytes } from 'node:crypto'
import { readFile, readdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { auditLimitsOf } from '../accounts/audit-limits.js'
import { openDirectory } from '../accounts/directory.js'
import { RestoredDirectory, requireEveryCredential } from '../accounts/directory-restored.js'
import { UNFINISHED_RESTORE as MARK } from '../accounts/services.js'
import { UNFINISHED } from '../accounts/stranded-mailboxes.js'
import { filesOfDatabase, removeDatabase } from '../database/database-files.js'
import { MailError, isMailError } from '../errors.js'
import { isThere } from '../support/is-there.js'
import {
  makeFolderDurably,
  syncFolder,
  unfinishedFile,
  writeFileDurably
} from '../support/write-file.js'
import { writeHostState } from './host-state.js'
import { materialize } from './materialize.js'
import { withBackupLock } from './scratch.js'
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
 *
 * @typedef {object} Mark - what lies in the data folder until all is in its place
 * @property {string} generation
 * @property {HostRestoreSummary['missing']} [missing] - once it is known
 */

const DIRECTORY = 'directory.db'
const STAGED_DIRECTORY = 'restoring-directory.db'

/** What may lie in an empty data folder: the mark of a restore that is to go on, and what it has made. */
const OWN = new Set([
  MARK,
  ...filesOfDatabase(STAGED_DIRECTORY),
  ...['mail', 'run', 'tmp', 'pepper', 'backup', 'backup.json']
])

/**
 * What a server never makes there: the folder may be a disk of its own, and is the home of the server's user, whose
 * credentials for the object storage (`.aws`) must be there before anything can be restored from it.
 */
const FOREIGN = /^(\.|lost\+found$)/

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
    const { generation, recoveryKey, repository } = this.options
    const marker = await repository.readMarker()
    if (!marker) throw new MailError('BACKUP_MISSING')
    // Both are asked before anything is written: the key is the operator's only copy, and may be mistyped.
    const directory = await openSealedObject(this.target, generation.directory, recoveryKey)
    const pepper = await openSealedObject(this.target, generation.pepper, recoveryKey)
    try {
      // So is the pepper file, which would stand in the way only at the end.
      await isPepperThere(this.options.config.auth.pepperFile, pepper)
      // Before the lock, which makes folders: somebody else's folder is to be spared them.
      await this.#look()
      return await withBackupLock(this.data, () => this.#place({ directory, pepper, marker }))
    } finally {
      pepper.fill(0)
    }
  }

  /**
   * @param {object} opened
   * @param {Buffer} opened.directory
   * @param {Buffer} opened.pepper
   * @param {import('./repository.js').RepositoryMarker} opened.marker
   * @returns {Promise<HostRestoreSummary>}
   */
  async #place({ directory, pepper, marker }) {
    const { generation, recoveryKey, config } = this.options
    const { pepperFile } = config.auth
    const { mark, isPlaced, unfinished } = await this.#look()
    // An earlier run has done everything but the removal of the mark.
    if (mark && isPlaced) return await this.#finish(mark)
    for (const name of unfinished) await rm(join(this.data, name))
    await this.#writeMark({ generation: generation.name })
    const staged = join(this.data, STAGED_DIRECTORY)
    await removeDatabase(staged)
    await writeFileDurably(staged, directory)
    const summary = await this.#restoreAccounts(staged)
    requireEveryCredential(staged)
    if (!(await isPepperThere(pepperFile, pepper))) await writeFileDurably(pepperFile, pepper)
    const { recipient } = recoveryKey
    // The backups stay the other host's, which may still be in use, until somebody says otherwise.
    const hostId = randomBytes(16).toString('hex')
    await writeHostState(this.data, { repositoryId: marker.repositoryId, recipient, hostId })
    // Nothing in the directory says what was left out of it, and a run that goes on must.
    await this.#writeMark({ generation: generation.name, missing: summary.missing })
    await rename(staged, join(this.data, DIRECTORY))
    await syncFolder(this.data)
    await rm(join(this.data, MARK))
    return summary
  }

  /** @param {Mark} mark */
  async #writeMark(mark) {
    await writeFileDurably(join(this.data, MARK), JSON.stringify(mark))
  }

  /**
   * @param {Mark} mark
   * @returns {Promise<HostRestoreSummary>} of what stands in the directory
   */
  async #finish({ missing = [] }) {
    const { config, clock, logger } = this.options
    const path = join(this.data, DIRECTORY)
    const directory = openDirectory({ path, clock, logger, audit: auditLimitsOf(config) })
    try {
      const { accounts } = await directory.totals()
      await rm(join(this.data, MARK))
      return { accounts, missing }
    } finally {
      await directory.close()
    }
  }

  /**
   * @returns {Promise<{ mark: Mark | null, isPlaced: boolean, unfinished: string[] }>} `mark`: of an earlier run that was killed;
   *   `isPlaced`: when all was in its place; `unfinished`: files that it was writing
   * @throws {MailError} RESTORE_REFUSED: never over live data
   */
  async #look() {
    await makeFolderDurably(this.data)
    const names = await readdir(this.data)
    const { generation } = this.options
    /** @type {Mark | null} */
    const mark = names.includes(MARK)
      ? JSON.parse(await readFile(join(this.data, MARK), 'utf8'))
      : null
    if (mark && mark.generation !== generation.name)
      throw new MailError('RESTORE_REFUSED', {
        detail: `a restore of ${mark.generation} was begun there: finish it, or empty the folder`
      })
    if (mark && names.includes(DIRECTORY)) return { mark, isPlaced: true, unfinished: [] }
    // A run that was killed while it wrote one of its files has left that under another name.
    const unfinished = names.filter((name) => OWN.has(unfinishedFile(name) ?? ''))
    const isOurs = (/** @type {string} */ name) =>
      mark ? OWN.has(name) : ['backup', 'run', 'tmp'].includes(name)
    const mayStay = (/** @type {string} */ name) =>
      FOREIGN.test(name) || unfinished.includes(name) || isOurs(name)
    if (!names.every(mayStay))
      throw new MailError('RESTORE_REFUSED', { detail: `${this.data} is not empty` })
    return { mark, isPlaced: false, unfinished }
  }

  /**
   * @param {string} staged - the directory
   * @returns {Promise<HostRestoreSummary>}
   */
  async #restoreAccounts(staged) {
    const { generation, clock, logger } = this.options
    const directory = new RestoredDirectory({ path: staged, clock, logger })
    try {
      const rows = directory.listAccounts()
      const entries = new Map(generation.accounts.map((entry) => [entry.id, entry]))
      this.#progress.accountsTotal = rows.length
      this.#progress.bytesTotal = generation.accounts.reduce((sum, { bytes }) => sum + bytes, 0)
      /** @type {HostRestoreSummary} */
      const summary = { accounts: 0, missing: [] }
      for (const { id, address, folder } of rows) {
        const code = await this.#restoreOne(directory, entries.get(id), folder)
        if (code === null) summary.accounts += 1
        else {
          summary.missing.push({ address, code })
          directory.dropAccount(id)
        }
        this.#progress.accounts += 1
        this.#tell()
      }
      directory.finish()
      return summary
    } finally {
      directory.close()
    }
  }

  /**
   * @param {RestoredDirectory} directory
   * @param {AccountEntry | undefined} entry
   * @param {string} stored - the account's folder within the data folder
   * @returns {Promise<string | null>} why it is not there; null where it is
   */
  async #restoreOne(directory, entry, stored) {
    const { recoveryKey, generation, logger } = this.options
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
        await materialize({ target: this.target, snapshot, folder: folder + UNFINISHED, onRead })
        await rename(folder + UNFINISHED, folder)
        await syncFolder(dirname(folder))
      } else this.#progress.bytes += entry.bytes
      const { cipher } = snapshot
      const { id, copiedAtMs } = entry
      await directory.completeAccount(id, { keys, cipher, copiedAtMs, generation: generation.name })
      return null
    } catch (err) {
      // The recovery key has opened the directory: if it does not open the account's keys, the trouble is theirs.
      if (!isMailError(err, 'BACKUP_DAMAGED') && !isMailError(err, 'RECOVERY_KEY_REJECTED'))
        throw err
      logger.error({ err, accountId: entry.id }, 'an account could not be restored')
      await rm(join(this.data, stored) + UNFINISHED, { recursive: true, force: true })
      return err.code
    }
  }

  #tell() {
    this.options.onProgress?.({ ...this.#progress })
  }
}

/**
 * @param {string} path
 * @param {Buffer} pepper
 * @returns {Promise<boolean>} false where there is none
 * @throws {MailError} RESTORE_REFUSED where it is another
 */
async function isPepperThere(path, pepper) {
  if (!(await isThere(path))) return false
  const present = await readFile(path)
  const isSame = present.equals(pepper)
  present.fill(0)
  if (!isSame) throw new MailError('RESTORE_REFUSED', { detail: `${path} holds another pepper` })
  return true
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
