/**
 * One backup of a host: all accounts, locked or not, without any key.
 *
 *     list the accounts ─► each: spool, mail.db ─► the directory, the keys, the pepper ─► flush ─► the manifest
 *
 * The directory comes after the mailboxes, so that whatever it says of an account was true when or after its mailbox was
 * copied; an account that was made or got another key meanwhile is copied (again) before the directory is taken once
 * more. Until the manifest is there, the run does not exist, and the one before is as it was.
 */
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { auditLimitsOf } from '../accounts/audit-limits.js'
import { openDirectory } from '../accounts/directory.js'
import { mailFile } from '../database/database-files.js'
import { errorCodeOf, toMailError } from '../database/sqlite-error.js'
import { MailError, isMailError } from '../errors.js'
import { backUpAccount } from './account-backup.js'
import { DirectorySnapshot } from '../accounts/directory-snapshot.js'
import { requireDirectoryOfMailboxes } from '../accounts/stranded-mailboxes.js'
import { readEarlierRuns } from './earlier-runs.js'
import { eraseDeletedAccounts } from './erase.js'
import { requireMadeHere } from './host-state.js'
import { forgetDamage } from './last-results.js'
import { removeLeftRestores } from './left-restores.js'
import { PackWriter } from './pack-writer.js'
import { RateLimit } from './rate-limit.js'
import { Repository } from './repository.js'
import { withBackupLock } from './scratch.js'
import { Staging } from './staging.js'
import { storeDirectory, storeKeys, storePepper } from './store-sealed.js'
import { StoredObjects } from './stored-objects.js'

/**
 * @typedef {import('../../config/load.js').Config} Config
 * @typedef {import('../accounts/directory-port.js').Account} Account
 * @typedef {import('../accounts/directory-port.js').DirectoryPort} DirectoryPort
 * @typedef {import('./repository.js').AccountEntry} AccountEntry
 * @typedef {import('./repository.js').Generation} Generation
 *
 * @typedef {object} BackupProgress
 * @property {number} accounts - done
 * @property {number} accountsTotal - grows when some have to be done once more
 * @property {number} bytes - done with: read, or found to be as they were
 * @property {number} bytesTotal - of their mailboxes, as they were before
 * @property {number} bytesRead
 *
 * @typedef {object} BackupSummary
 * @property {string} generation - its name
 * @property {number} accounts
 * @property {{ id: string, address: string, code: string }[]} failed - in the generation as they were before, or not at all
 * @property {number} newBytes - of mailboxes and spools, that were not stored yet
 * @property {number} sharedBytes - that an earlier backup has stored
 * @property {number} storedBytes - written to the target in packs
 * @property {number} durationMs
 *
 * @typedef {object} BackupOptions
 * @property {Config} config
 * @property {import('./targets/target.js').BackupTarget} target - stays open
 * @property {import('../support/clock.js').Clock} clock
 * @property {import('../telemetry/logger.js').Logger} logger
 * @property {(progress: BackupProgress) => void} [onProgress]
 */

/** A run saves how far it has come this often, ms: one that is killed loses no more. */
const SAVE_EVERY_MS = 60_000

/** After so many rounds, accounts that still change their keys are left as failed. */
const MAX_ROUNDS = 5

/** Errors that are not one mailbox's: the run ends. */
const FATAL = new Set(['BACKUP_UNREACHABLE', 'DISK_FULL', 'SHUTTING_DOWN'])

/** One run, under the host's lock. */
class BackupRun {
  /** @type {Map<string, AccountEntry>} of this run, by account */
  #done = new Map()
  /** @type {Map<string, { address: string, code: string }>} */
  #failed = new Map()
  /** @type {Map<string, AccountEntry>} */
  #previous = new Map()
  /** @type {Map<string, AccountEntry>} of a run that died */
  #partial = new Map()
  /** @type {Set<string>} ids of accounts that share nothing with what is stored */
  #damaged = new Set()
  /** @type {Set<string>} packs that the entries of this run refer to */
  #shared = new Set()
  #newBytes = 0
  #sharedBytes = 0
  #savedMs = performance.now()
  #progress = { accounts: 0, accountsTotal: 0, bytes: 0, bytesTotal: 0, bytesRead: 0 }
  /** @type {Map<string, number>} bytes by account */
  #sizes = new Map()

  /**
   * @param {BackupOptions & { repository: Repository, recipient: string, scratchFolder: string, directory: DirectoryPort,
   *   staging: Staging, stored: StoredObjects }} options - `stored`: by earlier runs
   */
  constructor(options) {
    const { target, scratchFolder, config, clock, logger, staging, stored } = options
    this.options = options
    this.startedAtMs = clock.nowMs()
    this.packs = new PackWriter({ target, scratchFolder })
    this.parts = {
      target,
      scratchFolder,
      staging,
      stored,
      clock,
      logger,
      packs: this.packs,
      runFolder: join(config.data, 'run'),
      onRead: (/** @type {number} */ bytes) => {
        this.#progress.bytes += bytes
        this.#progress.bytesRead += bytes
        this.#tell()
      }
    }
  }

  /** @returns {Promise<BackupSummary>} */
  async run() {
    const { directory } = this.options
    await eraseDeletedAccounts(this.options)
    await removeLeftRestores(this.options)
    const earlier = await readEarlierRuns(this.options)
    this.#previous = earlier.previous
    this.#partial = earlier.partial
    this.#damaged = earlier.damaged
    let accounts = await directory.listAccounts()
    for (let round = 1; ; round++) {
      await this.#measure(accounts)
      await this.#backUpAll(accounts)
      const snapshot = await this.#takeDirectory()
      try {
        accounts = await this.#changedSince(snapshot)
        if (accounts.length === 0 || round === MAX_ROUNDS) {
          for (const { id, address } of accounts)
            this.#fail(id, address, new MailError('BUSY', { detail: 'its keys keep changing' }))
          return await this.#finish(snapshot)
        }
      } finally {
        await snapshot.discard()
      }
      this.options.logger.info({ accounts: accounts.length }, 'accounts changed meanwhile')
    }
  }

  /** @param {Account[]} accounts - that are about to be backed up */
  async #measure(accounts) {
    this.#progress.accountsTotal += accounts.length
    for (const { id, folder } of accounts) {
      // What cannot be looked at is counted among the failures when its turn comes.
      const found = await stat(mailFile(folder)).catch(() => null)
      const size = found?.size ?? 0
      this.#sizes.set(id, size)
      this.#progress.bytesTotal += size
    }
    this.#tell()
  }

  #tell() {
    this.options.onProgress?.({ ...this.#progress })
  }

  /**
   * Those that were too busy come once more at the end.
   *
   * @param {Account[]} accounts
   */
  async #backUpAll(accounts) {
    /** @type {Account[]} */
    const busy = []
    for (const account of accounts) {
      const { bytes } = this.#progress
      const error = await this.#backUp(account)
      if (error instanceof MailError && error.code === 'BUSY') {
        busy.push(account)
        this.#progress.bytes = bytes
      } else this.#noteDone(account, error, bytes)
    }
    for (const account of busy) {
      const { bytes } = this.#progress
      this.#noteDone(account, await this.#backUp(account), bytes)
    }
  }

  /**
   * @param {Account} account
   * @param {unknown} error - what it failed with, or null
   * @param {number} bytesBefore - that were done when its turn came
   */
  #noteDone({ id, address }, error, bytesBefore) {
    if (error) this.#fail(id, address, error)
    this.#progress.accounts += 1
    // A mailbox that has not changed is not read, and is done all the same.
    this.#progress.bytes = bytesBefore + (this.#sizes.get(id) ?? 0)
    this.#tell()
  }

  /**
   * @param {Account} account
   * @returns {Promise<unknown>} what it failed with, where that is this account's own affair; null where it did not
   */
  async #backUp(account) {
    const { directory } = this.options
    this.#failed.delete(account.id)
    let copied = account
    try {
      // Asked anew: a rekey may have come since the list was made, and the copy is under the key of this epoch.
      const now = await directory.findAccount(account.id)
      if (!now) return null
      copied = now
      const isAnew = this.#damaged.has(now.id)
      const { entry, packs, newBytes, sharedBytes } = await backUpAccount(this.parts, {
        account: now,
        previous: isAnew ? null : (this.#previous.get(now.id) ?? null),
        partial: isAnew ? null : (this.#partial.get(now.id) ?? null),
        onSave: (part) => this.#save(part)
      })
      this.#done.set(now.id, entry)
      for (const pack of packs) this.#shared.add(pack)
      this.#newBytes += newBytes
      this.#sharedBytes += sharedBytes
      if (performance.now() - this.#savedMs > SAVE_EVERY_MS) await this.#save(null)
      return null
    } catch (cause) {
      const error = toMailError(cause)
      if (FATAL.has(errorCodeOf(error))) throw error
      // A mailbox that was deleted or made anew during the copy has lost its files, and looks like a damaged one.
      const now = await directory.findAccount(copied.id)
      const isOvertaken = now !== null && now.folder !== copied.folder
      if (isOvertaken) return new MailError('BUSY', { detail: 'it was made anew', cause: error })
      return now && error
    }
  }

  /**
   * @param {AccountEntry | null} part - of the account that is under way
   */
  async #save(part) {
    await this.packs.flush()
    const accounts = new Map([...this.#partial, ...this.#done])
    if (part) accounts.set(part.id, part)
    await this.options.repository.writePartial({
      startedAtMs: this.startedAtMs,
      accounts: [...accounts.values()]
    })
    this.#savedMs = performance.now()
  }

  /** After an error: what was stored need not be stored again, unless the target is what failed. */
  async saveIfPossible() {
    if (this.#done.size === 0) return
    try {
      await this.#save(null)
    } catch (err) {
      this.options.logger.warn({ err }, 'what the backup has done so far could not be noted')
    }
  }

  /**
   * @param {string} id
   * @param {string} address
   * @param {unknown} err
   */
  #fail(id, address, err) {
    this.options.logger.error({ err, accountId: id }, 'an account could not be backed up')
    this.#failed.set(id, { address, code: errorCodeOf(err) || 'UNKNOWN' })
  }

  /** @returns {Promise<DirectorySnapshot>} */
  async #takeDirectory() {
    const { directory, config, scratchFolder } = this.options
    await directory.flush()
    const path = join(scratchFolder, 'directory.db')
    return await DirectorySnapshot.take(join(config.data, 'directory.db'), path)
  }

  /**
   * @param {DirectorySnapshot} snapshot
   * @returns {Promise<Account[]>} accounts whose copy the directory's keys would not open, or that have none; those that the
   *   directory itself no longer finds are failed
   */
  async #changedSince(snapshot) {
    const listed = snapshot.accounts()
    const ids = new Set(listed.map(({ id }) => id))
    for (const id of this.#done.keys()) if (!ids.has(id)) this.#done.delete(id)
    for (const id of this.#failed.keys()) if (!ids.has(id)) this.#failed.delete(id)
    for (const { id, address, isWhole } of listed)
      if (!isWhole && !this.#failed.has(id))
        this.#fail(
          id,
          address,
          new MailError('DIRECTORY_DAMAGED', { detail: 'without a seal key' })
        )
    const stale = listed.filter(
      ({ id, keyEpoch }) => !this.#failed.has(id) && this.#done.get(id)?.keyEpoch !== keyEpoch
    )
    const accounts = await Promise.all(
      stale.map(({ id }) => this.options.directory.findAccount(id))
    )
    return accounts.filter((account) => account !== null)
  }

  /**
   * @param {DirectorySnapshot} snapshot
   * @returns {Promise<BackupSummary>}
   */
  async #finish(snapshot) {
    const { repository, clock, target, recipient, scratchFolder, config, stored } = this.options
    await this.packs.flush()
    const name = await repository.newName(this.startedAtMs)
    const sealed = { target, recipient }
    // An account that was copied, and failed when it was copied once more, is one of the failed.
    const done = new Map([...this.#done].filter(([id]) => !this.#failed.has(id)))
    const previous = this.#previous
    const entries = await storeKeys({ ...sealed, snapshot, stored, done, previous })
    const directory = await storeDirectory({ ...sealed, snapshot, name, scratchFolder })
    const pepper = await storePepper({ ...sealed, path: config.auth.pepperFile })
    await requireMadeHere(config.data, repository)
    await stored.requireStill(target, { packs: this.#shared, entries })
    const failed = [...this.#failed].map(([id, { code }]) => ({ id, code }))
    const counts = { newBytes: this.#newBytes, sharedBytes: this.#sharedBytes }
    await repository.writeGeneration({
      name,
      startedAtMs: this.startedAtMs,
      finishedAtMs: clock.nowMs(),
      directory,
      pepper,
      accounts: entries,
      failed,
      counts
    })
    await repository.removePartial()
    await forgetDamage({ data: config.data, target }, { done, entries })
    const summary = {
      generation: name,
      accounts: done.size,
      failed: [...this.#failed].map(([id, failure]) => ({ id, ...failure })),
      ...counts,
      storedBytes: this.packs.bytes,
      durationMs: clock.nowMs() - this.startedAtMs
    }
    const { failed: failures, ...figures } = summary
    this.options.logger.info({ ...figures, failed: failures.length }, 'backup done')
    this.options.directory.audit({
      action: 'backup',
      detail: { ...figures, failed: failures.length, target: target.label }
    })
    return summary
  }
}

/**
 * @param {BackupOptions} options
 * @returns {Promise<BackupSummary>}
 * @throws {MailError} BACKUP_NOT_READY, BACKUP_RUNNING, BACKUP_UNREACHABLE, DIRECTORY_MISSING …; one bad mailbox is in the
 *   summary, and stops nothing
 */
export async function runBackup(options) {
  const { config, target, clock, logger } = options
  const repository = new Repository(target)
  const { recipient } = await requireMadeHere(config.data, repository)
  await requireDirectoryOfMailboxes(config.data)
  return await withBackupLock(config.data, async (scratchFolder) => {
    const { data, defaultDomain } = config
    const where = { path: join(data, 'directory.db'), defaultDomain, audit: auditLimitsOf(config) }
    const directory = openDirectory({ ...where, clock, logger })
    try {
      const limit = new RateLimit(config.backup.diskBytesPerSecond)
      const staging = await Staging.open(join(scratchFolder, 'units'), limit)
      try {
        const stored = await StoredObjects.list(target)
        const parts = { repository, recipient, scratchFolder, directory, staging, stored }
        return await runToItsEnd(new BackupRun({ ...options, ...parts }))
      } finally {
        await staging.close()
      }
    } finally {
      await directory.close()
    }
  })
}

/**
 * @param {BackupRun} run
 * @returns {Promise<BackupSummary>}
 */
async function runToItsEnd(run) {
  try {
    return await run.run()
  } catch (error) {
    // Where another host has taken the backups over meanwhile, this run must not leave its `partial.json` there.
    if (!isMailError(error, 'BACKUP_NOT_READY')) await run.saveIfPossible()
    throw error
  } finally {
    await run.packs.abort()
  }
}
