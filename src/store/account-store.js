/**
 * The port that sessions, delivery and import see: one account's mail. Everything is asynchronous and takes and
 * returns plain data, so that the same port may one day run behind a pipe to the process that owns the account.
 *
 * Invariants: every method is atomic unless it says otherwise; a mutating method resolves when its change is on the
 * disk and all views have been told; no transaction, statement or key leaves the store.
 *
 * The methods for mailboxes, for messages in and out and for changes stand in files of their own (`port/`), each a class
 * above the other; what is about the whole account is here.
 */
import { Checkpointer } from '../database/checkpoint.js'
import { ChildPool } from '../database/child.js'
import { toMailError } from '../database/sqlite-error.js'
import { readUsage } from './mailbox-rows.js'
import { MovingIn } from './moving-in/moving-in.js'
import { createMailFile, openMailFile } from './mail-file.js'
import { ChangeMethods } from './port/change-methods.js'
import { fileOptions } from './port/options.js'
import { makeStoreParts } from './port/parts.js'
import { Upkeep } from './upkeep/upkeep.js'

/**
 * @typedef {import('./mailbox-rows.js').MailboxRow} MailboxRow
 * @typedef {import('./mailbox-view.js').MailboxView} MailboxView
 * @typedef {import('./read-messages.js').MessageNeeds} MessageNeeds
 * @typedef {import('./read-messages.js').MessageRecord} MessageRecord
 * @typedef {import('./verify.js').VerifyProgress} VerifyProgress
 * @typedef {import('./verify.js').VerifyReport} VerifyReport
 * @typedef {import('./housekeeping.js').Usage} Usage
 * @typedef {import('./quota.js').Quota} Quota
 * @typedef {import('./port/options.js').StoreConfig} StoreConfig
 * @typedef {import('./port/options.js').StoreOptions} StoreOptions
 */

/**
 * Opens an account's mail.
 *
 * @param {StoreOptions} options
 * @returns {Promise<AccountStore>}
 * @throws {MailError} KEY_REJECTED, ACCOUNT_DAMAGED, FILE_TOO_NEW, SCHEMA_MISMATCH, BUSY
 */
export async function openAccountStore(options) {
  const files = fileOptions(options)
  const file = await openMailFile(files)
  // Shared memory, so that threads use this copy and make none of their own.
  const key = new SharedArrayBuffer(32)
  new Uint8Array(key).set(options.key)
  try {
    return new AccountStore({ options, files, file, key })
  } catch (error) {
    new Uint8Array(key).fill(0)
    // It may have joined before something else failed.
    options.cachePool?.leave(file.db)
    file.db.close()
    file.lock.release()
    throw toMailError(error)
  }
}

/**
 * Makes a new account's file with the usual folders, and opens it.
 *
 * @param {StoreOptions} options - whose folder is made if it is missing
 * @returns {Promise<AccountStore>}
 * @throws {MailError} ACCOUNT_EXISTS, DISK_FULL
 */
export async function createAccountStore(options) {
  await createMailFile(fileOptions(options))
  return await openAccountStore(options)
}

/** One account's mail, open. Made by `openAccountStore`. */
export class AccountStore extends ChangeMethods {
  #parts
  #lock
  #key
  #checkpointer
  #ownsCheckpointer
  /** @type {ChildPool | null} */
  #ownChildren
  #leaveFiles
  /** @type {Promise<void> | null} */
  #closing = null
  /** @type {Promise<void> | null} */
  #polling = null
  /** When other processes' writes were last looked for, monotonic ms. */
  #lookedAtMs = -Infinity

  /**
   * @param {object} input
   * @param {StoreOptions} input.options
   * @param {import('./mail-file.js').FileOptions} input.files
   * @param {import('./mail-file.js').OpenFile} input.file
   * @param {SharedArrayBuffer} input.key - taken over, zeroed at close
   */
  constructor({ options, files, file, key }) {
    const checkpointer = options.checkpointer ?? new Checkpointer()
    const children = options.children ?? new ChildPool()
    const close = () => this.close()
    const parts = makeStoreParts({ options, files, file, key, checkpointer, children, close })
    super(parts)
    this.#parts = parts
    this.folder = files.folder
    this.isReadOnly = files.isReadOnly
    /** The file's cipher. */
    this.cipher = file.cipher
    this.#lock = file.lock
    this.#key = key
    this.#ownsCheckpointer = options.checkpointer === undefined
    this.#ownChildren = options.children === undefined ? children : null
    this.#checkpointer = checkpointer
    const { database, scanner, indexer } = parts
    /** For src/store/search and src/store/sort alone: the file, the index, and the thread for long searches. */
    this.searchAccess = Object.freeze({ database, scanner, indexer })
    /** For the import from other IMAP servers alone. */
    this.movingIn = new MovingIn(parts)
    /** For maintenance alone. */
    this.upkeep = new Upkeep(parts, { key, tempStore: file.tempStore })
    this.#leaveFiles = options.openFiles?.join(database)
    parts.housekeeping.noteGarbage()
    // What the last opener did not come to.
    parts.indexer.noteWork()
  }

  /** @returns {boolean} whether the store has given its file up: every call fails until it is opened anew */
  get hasFailed() {
    return this.#parts.database.hasFailed
  }

  /** @returns {boolean} whether the file is closed until somebody reads or writes; the store is open all the same */
  get isAsleep() {
    return this.#parts.database.isAsleep
  }

  /** @returns {number} memory of its mailboxes' views */
  get viewBytes() {
    return this.#parts.views.bytes
  }

  /** @returns {number} size of the `-wal` as of the last sync */
  get walBytes() {
    return this.#parts.database.walBytes
  }

  /** @returns {Quota} what the account may hold */
  get quota() {
    return this.#parts.quota
  }

  /** @returns {Promise<Usage>} each copy of a message counts */
  usage() {
    return this.#parts.database.read(readUsage)
  }

  /** @returns {Promise<void>} when everything that is visible now is on the disk */
  sync() {
    return this.#parts.database.settle()
  }

  /**
   * Takes in what other processes have written since the last call. That is cheap where they wrote nothing; but where each
   * command begins with cold caches, even this is a tenth of the time of a short one: hence `maxAgeMs`.
   *
   * @param {number} [maxAgeMs] - a look that is no older will do
   * @returns {Promise<void> | null} null: the last look will do, and there is nothing to wait for
   * @throws {MailError} ACCOUNT_DAMAGED, BUSY, and what a read may throw; what this call could not take in, a later one
   *   does. A view that cannot be brought up to date fails only those who use it (`MailboxView.failure`)
   */
  pollOtherProcesses(maxAgeMs = 0) {
    const nowMs = performance.now()
    const isYoung = nowMs - this.#lookedAtMs < maxAgeMs
    const { database, views } = this.#parts
    const isDue = !isYoung || database.hasForeignNews || views.isRetryDue(nowMs)
    return isDue ? this.#poll(nowMs) : this.#polling
  }

  /** @param {number} nowMs - monotonic */
  async #poll(nowMs) {
    const { database, views } = this.#parts
    const hasNews = await database.takeForeignNews()
    this.#lookedAtMs = nowMs
    if (hasNews || views.isRetryDue(nowMs)) {
      const before = this.#polling
      const takeIn = async () => {
        // Whoever began the one before is told of its failure; here everything is read in any case.
        await before?.catch(() => {})
        await views.catchUpAll()
      }
      const polling = takeIn().finally(() => {
        if (this.#polling === polling) this.#polling = null
      })
      this.#polling = polling
    }
    // `takeForeignNews` tells each piece of news once: whoever asks after that waits here as well until it is taken in.
    await this.#polling
  }

  /**
   * Brings the search index up to date now, instead of a while after the last change.
   *
   * @returns {Promise<void>}
   * @throws {MailError} SHUTTING_DOWN, BUSY, DISK_FULL, NOT_DURABLE
   */
  indexSearch() {
    return this.#parts.indexer.run()
  }

  /**
   * Moves the `-wal` into the file, in a thread, as far as nobody stands in the way.
   *
   * @returns {Promise<void>}
   */
  checkpoint() {
    return this.#parts.housekeeping.checkpoint()
  }

  /**
   * Keeps `mail.db` as it is for a backup, while the mailbox is used as ever. The hold outlives the store.
   *
   * @param {import('../database/freeze.js').Freezer} freezer - the process's
   * @param {{ token: string, forMs: number }} request
   * @returns {Promise<void>} when it is held
   * @throws {MailError} BUSY where readers or writers left no moment for it
   */
  holdStill(freezer, { token, forMs }) {
    const { folder, cipher } = this
    return this.#parts.database.whileOpen(() =>
      freezer.hold({ token, folder, cipher, key: this.#key, forMs })
    )
  }

  /**
   * To be called once after an older copy has taken the mailbox's place, before anybody reads it: no UID, MODSEQ or id
   * of before comes again.
   *
   * @param {{ lifts?: number }} [options] - of the mailbox in all, this one included; default: one more than the copy has
   * @returns {Promise<number>} lifts that it has now, not fewer
   * @throws {MailError} BUSY, DISK_FULL, READ_ONLY
   */
  async liftRestored({ lifts = 0 } = {}) {
    const { database, threads } = this.#parts
    database.requireWritable()
    const request = { nowMs: database.clock.nowMs(), lifts }
    const now = await threads.run({ kind: 'liftRestored', request })
    await database.settle()
    return /** @type {number} */ (now)
  }

  /**
   * Checks the structure, the figures and every content against its hash, in a thread.
   *
   * @param {(progress: VerifyProgress) => void} [onProgress]
   * @returns {Promise<VerifyReport>}
   */
  async verify(onProgress) {
    const report = await this.#parts.threads.run(
      { kind: 'verify' },
      { onProgress: (value) => onProgress?.(/** @type {VerifyProgress} */ (value)) }
    )
    return /** @type {VerifyReport} */ (report)
  }

  /** As of now no lock of another process is waited for: the store will be closed soon. */
  stopWaiting() {
    this.#parts.database.stopWaiting()
  }

  /**
   * Waits for what is under way, tells the usage, closes the file and zeroes the key.
   *
   * @returns {Promise<void>}
   */
  close() {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close() {
    try {
      await this.#endWork()
    } finally {
      this.#leaveFiles?.()
      await this.#closeFile().finally(() => {
        new Uint8Array(this.#key).fill(0)
        this.#lock.release()
      })
    }
  }

  async #closeFile() {
    const { database, scanner, views } = this.#parts
    views.dropIdle()
    try {
      await scanner.close()
    } finally {
      await database.close()
      if (this.#ownsCheckpointer) await this.#checkpointer.close()
      this.#ownChildren?.close()
    }
  }

  /** Ends what the store does by itself, while the file is still open. */
  async #endWork() {
    const { indexer, database, housekeeping, lateMeta } = this.#parts
    try {
      await indexer.close()
      if (!database.hasFailed) await lateMeta.flushLast()
    } finally {
      lateMeta.leave()
      if (database.hasFailed) housekeeping.stop()
      else await housekeeping.close()
    }
  }
}
