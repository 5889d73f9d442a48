/**
 * The port that sessions, delivery and import see: one account's mail. Everything is asynchronous and takes and
 * returns plain data, so that the same port may one day run behind a pipe to the process that owns the account.
 *
 * Invariants: every method is atomic unless it says otherwise; a mutating method resolves when its change is on the
 * disk and all views have been told; no transaction, statement or key leaves the store.
 */
import { MailError } from '../errors.js'
import { Checkpointer } from '../database/checkpoint.js'
import { BUSY_TIMEOUT_MS, DEFAULT_CACHE_BYTES } from '../database/setup-pragma.js'
import { errorCodeOf } from '../database/sqlite-error.js'
import { AccountDatabase } from './account-database.js'
import { AccountKeywords } from './account-keywords.js'
import { appendRows, forgetDrainedRow, hasImportKey, isDrained, listDrainedRows } from './append.js'
import { changeFlags } from './change-flags.js'
import { readContentRange } from './content-reader.js'
import { ContentWriter } from './content-writer.js'
import { expungeMessages } from './expunge.js'
import { CHECKPOINT_BYTES, Housekeeping } from './housekeeping.js'
import { normalizeMailboxName } from './mailbox-name.js'
import {
  claimRecentRows,
  countRecent,
  listMailboxRows,
  readExpungedRanges,
  readUsage,
  requireMailboxRow,
  requireMailboxRowById
} from './mailbox-rows.js'
import {
  createMailboxRow,
  deleteMailboxRow,
  listSubscriptionRows,
  renameMailboxRows,
  setSubscription
} from './mailboxes.js'
import { createMailFile, openMailFile } from './open-store.js'
import { findUidsOfContent, sumDeletedPage } from './message-queries.js'
import { readPreview } from './preview.js'
import { requireQuota } from './quota.js'
import { readMessageRecords } from './read-messages.js'
import { readPage } from './read-page.js'
import { SearchIndexer } from './search/indexer.js'
import { Scanner } from './search/scanner.js'
import { StoreThreads } from './store-threads.js'
import { Transfers } from './transfers.js'
import { ViewKeeper } from './views.js'

/**
 * @typedef {import('./append.js').AppendedMessage} AppendedMessage
 * @typedef {import('./change-flags.js').FlagOutcome} FlagOutcome
 * @typedef {import('./change-flags.js').FlagRequest} FlagRequest
 * @typedef {import('./flags.js').FlagBit} FlagBit
 * @typedef {import('./flags.js').KeywordTable} KeywordTable
 * @typedef {import('./mailbox-rows.js').MailboxRow} MailboxRow
 * @typedef {import('./mailbox-view.js').MailboxView} MailboxView
 * @typedef {import('./read-messages.js').MessageNeeds} MessageNeeds
 * @typedef {import('./read-messages.js').MessageRecord} MessageRecord
 * @typedef {import('./read-page.js').MessagePage} MessagePage
 * @typedef {import('./read-page.js').PageNeed} PageNeed
 * @typedef {import('./verify.js').VerifyProgress} VerifyProgress
 * @typedef {import('./verify.js').VerifyReport} VerifyReport
 * @typedef {import('./housekeeping.js').Usage} Usage
 * @typedef {import('./quota.js').Quota} Quota
 * @typedef {import('./transfers.js').TransferOutcome} TransferOutcome
 * @typedef {import('./transfers.js').TransferRequest} TransferRequest
 *
 * @typedef {object} StoreConfig
 * @property {import('../database/temp-store.js').TempStoreChoice} [tempStore] - default memory
 * @property {string} [tempFolder] - what `auto` and `disk` are about; default: the account's folder
 * @property {number} [cacheBytes] - page cache; default 2 MiB
 * @property {'ON' | 'FAST'} [secureDelete] - default ON
 * @property {number} [maxMessageBytes] - default 50 MiB
 * @property {number | null} [quotaBytes] - default null: no limit
 * @property {number | null} [quotaMessages] - default null: no limit
 * @property {number} [checkpointBytes] - what may wait in the `-wal` before a thread moves it; default 4 MiB
 * @property {number} [busyTimeoutMs] - how long a taken lock is waited for; default 30,000
 *
 * @typedef {object} StoreOptions
 * @property {string} folder - the account's folder
 * @property {Uint8Array} key - the raw database key, 32 bytes; copied, the caller zeroes its own
 * @property {import('../database/setup-pragma.js').Cipher | null} [cipher] - as recorded for the account; null for a
 *   file brought from elsewhere: then `store.cipher` says what it was. Default chacha20
 * @property {boolean} [isReadOnly] - default false
 * @property {StoreConfig} [config]
 * @property {import('../support/clock.js').Clock} clock
 * @property {{ warn: (fields: object, text: string) => void }} [logger]
 * @property {(usage: Usage) => void} [onUsage] - within a second of a change, and at close
 * @property {(alert: import('./account-database.js').Alert) => void} [onAlert] - what an operator must look at
 * @property {Checkpointer} [checkpointer] - the process's; default: one of the store's own
 * @property {import('../database/pool.js').CachePool} [cachePool] - the process's; default: `config.cacheBytes` for this
 *   file alone
 * @property {Partial<import('../database/durability.js').SyncCalls>} [syncCalls] - to observe what reaches the disk
 */

const DEFAULT_MAX_MESSAGE_BYTES = 50 * 1024 * 1024

/** For changes that nobody waits for; see WriteOptions. */
const LAZY = Object.freeze({ isLazy: true })

/**
 * @param {StoreOptions} options
 * @returns {import('./open-store.js').FileOptions}
 */
function fileOptions({ folder, key, cipher = 'chacha20', isReadOnly = false, config = {}, clock }) {
  return {
    folder,
    key,
    cipher,
    isReadOnly,
    clock,
    tempStore: config.tempStore ?? 'memory',
    tempFolder: config.tempFolder ?? folder,
    secureDelete: config.secureDelete ?? 'ON',
    cacheBytes: config.cacheBytes ?? DEFAULT_CACHE_BYTES,
    busyTimeoutMs: config.busyTimeoutMs ?? BUSY_TIMEOUT_MS
  }
}

/**
 * Opens an account's mail.
 *
 * @param {StoreOptions} options
 * @returns {Promise<AccountStore>}
 * @throws {MailError} KEY_REJECTED, ACCOUNT_NOT_FOUND, ACCOUNT_DAMAGED, FILE_TOO_NEW, SCHEMA_MISMATCH, BUSY
 */
export async function openAccountStore(options) {
  const files = fileOptions(options)
  const file = await openMailFile(files)
  // Shared memory, so that threads use this copy and make none of their own.
  const key = new SharedArrayBuffer(32)
  new Uint8Array(key).set(options.key)
  try {
    return new AccountStore(options, files, file, key)
  } catch (error) {
    new Uint8Array(key).fill(0)
    file.db.close()
    file.lock.release()
    throw error
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
export class AccountStore {
  #database
  #views
  #keywords
  #housekeeping
  #threads
  #transfers
  #indexer
  #scanner
  #lock
  #key
  #checkpointer
  #ownsCheckpointer
  #maxMessageBytes
  #leavePool
  /** @type {Quota} */
  #quota
  /** @type {Promise<void> | null} */
  #closing = null

  /**
   * @param {StoreOptions} options
   * @param {import('./open-store.js').FileOptions} files
   * @param {import('./open-store.js').OpenFile} file
   * @param {SharedArrayBuffer} key - taken over, zeroed at close
   */
  constructor(options, files, { db, cipher, lock, tempStore }, key) {
    const { config = {}, clock, onUsage = () => {}, onAlert = () => {} } = options
    const { folder, isReadOnly, busyTimeoutMs, secureDelete } = files
    this.folder = folder
    this.isReadOnly = isReadOnly
    /** The file's cipher. */
    this.cipher = cipher
    this.#lock = lock
    this.#key = key
    this.#maxMessageBytes = config.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES
    this.#quota = { bytes: config.quotaBytes ?? null, messages: config.quotaMessages ?? null }
    this.#ownsCheckpointer = options.checkpointer === undefined
    this.#checkpointer = options.checkpointer ?? new Checkpointer()
    const database = new AccountDatabase({
      db,
      folder,
      isReadOnly,
      clock,
      busyTimeoutMs,
      onAlert: (alert) => {
        options.logger?.warn(alert, 'mailbox trouble')
        onAlert(alert)
      },
      // Opening it anew goes through SQLite's recovery; until then every call answers with the failure.
      onFailure: () => {
        this.close().catch((error) => {
          onAlert({ code: 'ACCOUNT_DAMAGED', detail: `close: ${errorCodeOf(error)}` })
        })
      },
      onCommit: () => {
        this.#housekeeping.noteCommit()
        this.#indexer.noteWrite()
      },
      ...(options.syncCalls && { syncCalls: options.syncCalls })
    })
    this.#database = database
    this.#housekeeping = new Housekeeping({
      database,
      checkpointer: this.#checkpointer,
      key,
      cipher,
      checkpointBytes: config.checkpointBytes ?? CHECKPOINT_BYTES,
      onUsage
    })
    this.#views = new ViewKeeper(database)
    this.#keywords = new AccountKeywords(database)
    this.#threads = new StoreThreads(database, { key, cipher, tempStore, secureDelete })
    this.#scanner = new Scanner(database, { key, cipher, tempStore })
    this.#transfers = new Transfers({
      database,
      views: this.#views,
      threads: this.#threads,
      quota: this.#quota,
      noteCommit: () => this.#housekeeping.noteCommit()
    })
    this.#indexer = new SearchIndexer({
      database,
      threads: this.#threads,
      noteCommit: () => this.#housekeeping.noteCommit()
    })
    /** For src/store/search alone: the index, and the thread for long searches. */
    this.searchAccess = Object.freeze({ database, scanner: this.#scanner })
    this.#leavePool = options.cachePool?.join(db)
    this.#housekeeping.noteGarbage()
    // What the last opener did not come to.
    this.#indexer.noteWrite()
  }

  /** @returns {boolean} whether the store has given its file up: every call fails until it is opened anew */
  get hasFailed() {
    return this.#database.hasFailed
  }

  // Flags

  /** @returns {KeywordTable} the account's keywords; look it up each time, it is replaced when it grows */
  get keywords() {
    return this.#keywords.table
  }

  /**
   * @param {string} name - a system flag or keyword
   * @returns {FlagBit | null} null for a keyword that no message can have
   */
  findFlag(name) {
    return this.#keywords.table.find(name)
  }

  // Mailboxes

  /** @returns {Promise<MailboxRow[]>} by name */
  listMailboxes() {
    return this.#database.read(listMailboxRows)
  }

  /** @returns {Promise<string[]>} names, which need not have a mailbox; by name */
  listSubscriptions() {
    return this.#database.read(listSubscriptionRows)
  }

  /**
   * @param {string} name - a trailing '/' is dropped
   * @param {{ specialUse?: string | null }} [options]
   * @returns {Promise<MailboxRow>}
   * @throws {MailError} MAILBOX_EXISTS, CANNOT (no such name may be), LIMIT, READ_ONLY
   */
  createMailbox(name, { specialUse = null } = {}) {
    const nowMs = this.#database.clock.nowMs()
    return this.#database.write((db) => createMailboxRow(db, name, { specialUse, nowMs }))
  }

  /**
   * Mailboxes below it stay, and so does its subscription.
   *
   * @param {string} name
   * @returns {Promise<void>}
   * @throws {MailError} MAILBOX_NOT_FOUND, MAILBOX_HAS_CHILDREN (it is no mailbox, only a level of names), CANNOT
   *   (INBOX), READ_ONLY
   */
  async deleteMailbox(name) {
    await this.#database.write(
      (db) => deleteMailboxRow(db, name),
      (id) => this.#views.markDeleted(id)
    )
    this.#housekeeping.noteGarbage()
  }

  /**
   * Renames a mailbox and those below it. Renaming INBOX moves its messages into a new mailbox.
   *
   * @param {string} from
   * @param {string} to
   * @returns {Promise<void>}
   * @throws {MailError} MAILBOX_NOT_FOUND, MAILBOX_EXISTS, CANNOT, LIMIT, READ_ONLY
   */
  async renameMailbox(from, to) {
    if (normalizeMailboxName(from) === 'INBOX') return await this.#transfers.renameInbox(to)
    await this.#database.write(
      (db) => renameMailboxRows(db, from, to),
      (renamed) => renamed.forEach(({ id, name }) => this.#views.rename(id, name))
    )
  }

  /**
   * @param {string} name - its mailbox need not exist
   * @param {boolean} isSubscribed
   * @returns {Promise<void>}
   * @throws {MailError} CANNOT, LIMIT, READ_ONLY
   */
  async setSubscribed(name, isSubscribed) {
    await this.#database.write((db) => setSubscription(db, name, isSubscribed))
  }

  /**
   * @param {string} name
   * @returns {Promise<MailboxRow & { recentCount: number }>} `recentCount`: messages that are \Recent for the next
   *   session that selects
   * @throws {MailError} MAILBOX_NOT_FOUND
   */
  mailboxStatus(name) {
    return this.#database.read((db) => {
      const mailbox = requireMailboxRow(db, name)
      return { ...mailbox, recentCount: countRecent(db, mailbox) }
    })
  }

  // Views

  /**
   * @param {string} name
   * @returns {Promise<{ mailbox: MailboxRow, view: MailboxView }>} close the view when it is no longer needed
   * @throws {MailError} MAILBOX_NOT_FOUND
   */
  openView(name) {
    return this.#views.open(name)
  }

  /** @param {MailboxView} view - once for each `openView` */
  closeView(view) {
    this.#views.close(view)
  }

  /**
   * Messages from this UID on are \Recent for the caller, and no longer for anybody after it (RFC 3501 §2.3.2).
   *
   * @param {MailboxView} view
   * @returns {Promise<{ fromUid: number }>}
   * @throws {MailError} MAILBOX_NOT_FOUND
   */
  async claimRecent({ mailboxId }) {
    const { recentFromUid, uidNext } = await this.#database.read((db) =>
      requireMailboxRowById(db, mailboxId)
    )
    if (this.isReadOnly || recentFromUid === uidNext) return { fromUid: recentFromUid }
    // Lazy: lost in a crash, a message is \Recent twice, which harms nobody.
    return await this.#database.write((db) => claimRecentRows(db, mailboxId), undefined, LAZY)
  }

  // Messages in

  /**
   * Asked before the first byte of a message is taken.
   *
   * @param {{ mailboxName: string, sizeBytes: number, isQuotaExempt?: boolean }} message
   * @returns {Promise<void>}
   * @throws {MailError} MAILBOX_NOT_FOUND, TOO_BIG, OVER_QUOTA, READ_ONLY
   */
  async checkAppend({ mailboxName, sizeBytes, isQuotaExempt = false }) {
    this.#database.requireWritable()
    await this.#database.readSettled((db) => {
      requireMailboxRow(db, mailboxName)
      if (sizeBytes > this.#maxMessageBytes) throw new MailError('TOO_BIG')
      if (!isQuotaExempt) requireQuota(db, this.#quota, { bytes: sizeBytes, messages: 1 })
    })
  }

  /**
   * @param {{ sizeHint?: number }} [options] - bytes that are expected
   * @returns {Promise<ContentWriter>} takes the message's bytes; `abort` it when it comes to nothing
   * @throws {MailError} READ_ONLY
   */
  async stageContent(options = {}) {
    this.#database.requireWritable()
    return new ContentWriter({
      ...options,
      database: this.#database,
      maxBytes: this.#maxMessageBytes
    })
  }

  /**
   * Adds messages, all or none.
   *
   * @param {string} mailboxName
   * @param {readonly AppendedMessage[]} messages - `content` of a ContentWriter's `finish`
   * @param {{ origin?: unknown, isQuotaExempt?: boolean }} [options]
   * @returns {Promise<{ mailboxId: number, uidValidity: number, uids: number[] }>} a UID of 0: that spool file or
   *   import key is in already, and nothing was added for it
   * @throws {MailError} MAILBOX_NOT_FOUND, OVER_QUOTA, LIMIT, CANNOT, READ_ONLY, DISK_FULL, NOT_DURABLE
   */
  async appendMessages(mailboxName, messages, { origin = null, isQuotaExempt = false } = {}) {
    const nowMs = this.#database.clock.nowMs()
    const quota = isQuotaExempt ? null : this.#quota
    const { mailboxId, uidValidity, uids } = await this.#database.write(
      (db) => appendRows(db, { mailboxName, messages, keywords: this.keywords, quota, nowMs }),
      ({ mailboxId, modSeq, rows: appended, keywords }) => {
        this.#keywords.adopt(keywords)
        if (appended.length > 0) return this.#views.publish({ mailboxId, modSeq, appended, origin })
      }
    )
    return { mailboxId, uidValidity, uids }
  }

  /**
   * @param {Buffer} key - as given with an appended message
   * @returns {Promise<boolean>}
   */
  hasImportKey(key) {
    return this.#database.read((db) => hasImportKey(db, key))
  }

  /**
   * @param {string} spoolName
   * @returns {Promise<boolean>} whether the message of that spool file is in, and on the disk
   */
  isDrained(spoolName) {
    return this.#database.read((db) => isDrained(db, spoolName))
  }

  /**
   * To be called when the spool file is gone for good.
   *
   * @param {string} spoolName
   * @returns {Promise<void>}
   */
  async forgetDrained(spoolName) {
    // Lazy: remembered for longer than needed, it does no harm.
    await this.#database.write((db) => forgetDrainedRow(db, spoolName), undefined, LAZY)
  }

  /** @returns {Promise<string[]>} spool files that are in and not forgotten: a crash may have left them behind */
  listDrained() {
    return this.#database.read(listDrainedRows)
  }

  // Messages out

  /**
   * @param {number} mailboxId
   * @param {readonly number[]} uids - up to 500, ascending
   * @param {MessageNeeds} needs
   * @returns {Promise<MessageRecord[]>} by UID; those that are gone are left out
   */
  readMessages(mailboxId, uids, needs) {
    return readMessageRecords(this.#database, mailboxId, uids, needs)
  }

  /**
   * What FETCH asks for most, of all messages of a range of UIDs, in few large pieces.
   *
   * @param {number} mailboxId
   * @param {{ firstUid: number, lastUid: number }} range - of up to 500 messages
   * @param {PageNeed} need
   * @returns {Promise<MessagePage | null>} null when they must be read by `readMessages`
   */
  readPage(mailboxId, range, need) {
    return this.#database.readSettled((db) => readPage(db, mailboxId, range, need))
  }

  /**
   * The exact bytes of a message, or a range of them. Only the chunks that the range touches are read.
   *
   * @param {number} contentId
   * @param {number} [start] - first byte
   * @param {number} [end] - exclusive; what lies beyond the content's end is left out
   * @returns {AsyncGenerator<Buffer, void, undefined>} pieces of up to 128 KiB
   * @throws {MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
   */
  readContent(contentId, start = 0, end = Infinity) {
    return readContentRange(this.#database, contentId, start, end)
  }

  /**
   * The first words of a message (RFC 8970); made and kept when they are first asked for.
   *
   * @param {MessageRecord} record - read with `partTree`
   * @param {{ isLazy: boolean }} options - `isLazy`: only what is there already
   * @returns {Promise<string | null>} '' when there is nothing to show; null when it is not there
   * @throws {MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
   */
  readPreview(record, options) {
    return readPreview(this.#database, record, options)
  }

  // Changes

  /**
   * Atomic for each page of 2,000 messages.
   *
   * @param {FlagRequest} request
   * @returns {Promise<FlagOutcome>}
   * @throws {MailError} MAILBOX_NOT_FOUND, LIMIT (no keyword left), CANNOT, READ_ONLY
   */
  changeFlags(request) {
    const store = { database: this.#database, views: this.#views, keywords: this.#keywords }
    return changeFlags(store, request)
  }

  /**
   * Copies messages, all or none.
   *
   * @param {TransferRequest} request
   * @returns {Promise<TransferOutcome>}
   * @throws {MailError} MAILBOX_NOT_FOUND, OVER_QUOTA, LIMIT, READ_ONLY
   */
  copyMessages(request) {
    return this.#transfers.transfer(request, { isMove: false })
  }

  /**
   * Moves messages, all or none (RFC 6851 §3.3).
   *
   * @param {TransferRequest} request
   * @returns {Promise<TransferOutcome>}
   * @throws {MailError} MAILBOX_NOT_FOUND, LIMIT, READ_ONLY
   */
  moveMessages(request) {
    return this.#transfers.transfer(request, { isMove: true })
  }

  /**
   * Deletes messages that have \Deleted. Atomic for each page of 400 messages.
   *
   * @param {object} request
   * @param {MailboxView} request.view
   * @param {ReadonlyArray<number> | null} request.uids - only among these (ascending); null: all
   * @param {unknown} [request.origin] - comes back in the change record
   * @returns {Promise<number[]>} UIDs that are gone by it, ascending
   * @throws {MailError} MAILBOX_NOT_FOUND, READ_ONLY
   */
  async expunge(request) {
    const gone = await expungeMessages({ database: this.#database, views: this.#views }, request)
    if (gone.length > 0) this.#housekeeping.noteGarbage()
    return gone
  }

  /**
   * What has been expunged since a mod-sequence, for QRESYNC (RFC 7162 §3.2.5.1).
   *
   * @param {number} mailboxId
   * @param {number} sinceModSeq
   * @returns {Promise<{ isComplete: boolean, ranges: { first: number, last: number }[] }>} `isComplete` is false when
   *   the log does not reach back so far: then every UID that is not there must be told
   * @throws {MailError} MAILBOX_NOT_FOUND
   */
  readExpunged(mailboxId, sinceModSeq) {
    return this.#database.read((db) => readExpungedRanges(db, mailboxId, sinceModSeq))
  }

  /**
   * @param {number} mailboxId
   * @returns {Promise<number>} bytes of the messages with \Deleted, read in pages: not of one moment
   */
  async deletedBytes(mailboxId) {
    let sum = 0
    for (let fromUid = /** @type {number | null} */ (0); fromUid !== null;) {
      const from = fromUid
      const page = await this.#database.read((db) => sumDeletedPage(db, mailboxId, from))
      sum += page.bytes
      fromUid = page.nextUid
    }
    return sum
  }

  /**
   * @param {number} mailboxId
   * @param {number} contentId
   * @returns {Promise<number[]>} UIDs of the messages with that content, ascending
   */
  findByContent(mailboxId, contentId) {
    return this.#database.read((db) => findUidsOfContent(db, mailboxId, contentId))
  }

  // The whole account

  /** @returns {Quota} what the account may hold */
  get quota() {
    return this.#quota
  }

  /** @returns {Promise<Usage>} each copy of a message counts */
  usage() {
    return this.#database.read(readUsage)
  }

  /** @returns {Promise<void>} when everything that is visible now is on the disk */
  sync() {
    return this.#database.settle()
  }

  /**
   * Takes in what other processes have written since the last call; cheap when nothing was.
   *
   * @returns {Promise<void>}
   */
  async pollOtherProcesses() {
    const hasNews = await this.#database.readSettled(() => this.#database.takeForeignNews())
    if (!hasNews) return
    await this.#keywords.reload()
    await this.#views.catchUpAll()
  }

  /**
   * Deletes what no message refers to any more, now instead of little by little.
   *
   * @returns {Promise<void>}
   */
  sweep() {
    return this.#housekeeping.sweep()
  }

  /**
   * Brings the search index up to date now, instead of a while after the last change.
   *
   * @returns {Promise<void>}
   * @throws {MailError} SHUTTING_DOWN, BUSY, DISK_FULL, NOT_DURABLE
   */
  indexSearch() {
    return this.#indexer.run()
  }

  /**
   * Moves the `-wal` into the file, in a thread, as far as nobody stands in the way.
   *
   * @returns {Promise<void>}
   */
  checkpoint() {
    return this.#housekeeping.checkpoint()
  }

  /** @returns {Promise<string[]>} what is wrong with the file's structure; empty if nothing is */
  async quickCheck() {
    return /** @type {string[]} */ (await this.#threads.run({ kind: 'quickCheck' }))
  }

  /**
   * Checks the structure, the figures and every content against its hash, in a thread.
   *
   * @param {(progress: VerifyProgress) => void} [onProgress]
   * @returns {Promise<VerifyReport>}
   */
  async verify(onProgress) {
    const report = await this.#threads.run(
      { kind: 'verify' },
      { onProgress: (value) => onProgress?.(/** @type {VerifyProgress} */ (value)) }
    )
    return /** @type {VerifyReport} */ (report)
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
      await this.#indexer.close()
      if (this.#database.hasFailed) this.#housekeeping.stop()
      else await this.#housekeeping.close()
    } finally {
      this.#leavePool?.()
      await this.#scanner.close()
      await this.#database.close()
      if (this.#ownsCheckpointer) await this.#checkpointer.close()
      new Uint8Array(this.#key).fill(0)
      this.#lock.release()
    }
  }
}
