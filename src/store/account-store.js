/**
 * The port that sessions, delivery and import see: one account's mail. Everything is asynchronous and takes and
 * returns plain data, so that the same port may one day run behind a pipe to the process that owns the account.
 *
 * Invariants: every method is atomic unless it says otherwise; a mutating method resolves when its change is on the
 * disk and all views have been told; no transaction, statement or key leaves the store.
 */
import { setImmediate } from 'node:timers/promises'
import { MailError } from '../errors.js'
import { Checkpointer } from '../database/checkpoint.js'
import { BUSY_TIMEOUT_MS, DEFAULT_CACHE_BYTES } from '../database/setup-pragma.js'
import { prepared } from '../database/statement.js'
import { runThread } from '../database/thread.js'
import { AccountDatabase } from './account-database.js'
import { appendRows, hasImportKey, isDrained } from './append.js'
import { FLAG_PAGE, changeFlagRows } from './change-flags.js'
import { readChunk, requireContent } from './content-rows.js'
import { ContentWriter } from './content-writer.js'
import { COPY_INLINE, copyRows } from './copy-move.js'
import { EXPUNGE_PAGE, expungeRows } from './expunge.js'
import { DELETED, KeywordTable } from './flags.js'
import { Housekeeping } from './housekeeping.js'
import { readKeywords } from './keyword-rows.js'
import { normalizeMailboxName } from './mailbox-name.js'
import {
  listMailboxRows,
  readUsage,
  requireMailboxRow,
  requireMailboxRowById
} from './mailbox-rows.js'
import {
  createMailboxRow,
  deleteMailboxRow,
  listSubscriptionRows,
  renameInbox,
  renameMailboxRows,
  setSubscription
} from './mailboxes.js'
import { messageRowId } from './message-id.js'
import { createMailFile, openMailFile } from './open-store.js'
import { requireQuota } from './quota.js'
import { readMessageRecords } from './read-messages.js'
import { ViewKeeper } from './views.js'

/**
 * @typedef {import('./append.js').AppendedMessage} AppendedMessage
 * @typedef {import('./content-writer.js').StagedContent} StagedContent
 * @typedef {import('./flags.js').FlagBit} FlagBit
 * @typedef {import('./mailbox-rows.js').MailboxRow} MailboxRow
 * @typedef {import('./mailbox-view.js').MailboxView} MailboxView
 * @typedef {import('./read-messages.js').MessageNeeds} MessageNeeds
 * @typedef {import('./read-messages.js').MessageRecord} MessageRecord
 * @typedef {import('./verify.js').VerifyProgress} VerifyProgress
 * @typedef {import('./verify.js').VerifyReport} VerifyReport
 * @typedef {import('./housekeeping.js').Usage} Usage
 * @typedef {import('./quota.js').Quota} Quota
 *
 * @typedef {object} StoreConfig
 * @property {import('../database/temp-store.js').TempStoreChoice} [tempStore] - default memory
 * @property {string} [tempFolder] - what `auto` and `disk` are about; default: the account's folder
 * @property {number} [cacheBytes] - page cache; default 2 MiB
 * @property {'ON' | 'FAST'} [secureDelete] - default ON
 * @property {number} [maxMessageBytes] - default 50 MiB
 * @property {number | null} [quotaBytes] - default null: no limit
 * @property {number | null} [quotaMessages] - default null: no limit
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
 * @property {Partial<import('../database/durability.js').SyncCalls>} [syncCalls] - to observe what reaches the disk
 *
 * @typedef {object} CopyOutcome
 * @property {number} uidValidity - of the target
 * @property {number[]} sourceUids - ascending; those that were gone already are left out
 * @property {number[]} uids - in the target, in the same order
 */

const DEFAULT_MAX_MESSAGE_BYTES = 50 * 1024 * 1024

const THREAD = new URL('thread-jobs.js', import.meta.url)

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
  #housekeeping
  #lock
  #key
  #files
  #tempStore
  #checkpointer
  #ownsCheckpointer
  #maxMessageBytes
  /** @type {Quota} */
  #quota
  #keywords = new KeywordTable()
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
    this.folder = files.folder
    /** The file's cipher. */
    this.cipher = cipher
    this.isReadOnly = files.isReadOnly
    this.#files = files
    this.#tempStore = tempStore
    this.#lock = lock
    this.#key = key
    this.#maxMessageBytes = config.maxMessageBytes ?? DEFAULT_MAX_MESSAGE_BYTES
    this.#quota = { bytes: config.quotaBytes ?? null, messages: config.quotaMessages ?? null }
    this.#ownsCheckpointer = options.checkpointer === undefined
    this.#checkpointer = options.checkpointer ?? new Checkpointer()
    this.#database = new AccountDatabase({
      db,
      folder: files.folder,
      isReadOnly: files.isReadOnly,
      clock,
      busyTimeoutMs: files.busyTimeoutMs,
      onAlert: (alert) => {
        options.logger?.warn({ code: alert.code, detail: alert.detail }, 'mailbox trouble')
        onAlert(alert)
      },
      onCommit: () => this.#housekeeping.noteCommit(),
      ...(options.syncCalls && { syncCalls: options.syncCalls })
    })
    this.#housekeeping = new Housekeeping({
      database: this.#database,
      checkpointer: this.#checkpointer,
      key,
      cipher,
      onUsage
    })
    this.#views = new ViewKeeper(this.#database)
    this.#keywords.load(readKeywords(db))
    this.#housekeeping.noteGarbage()
  }

  // Flags

  /** @returns {KeywordTable} the account's keywords; look it up each time, it is replaced when it grows */
  get keywords() {
    return this.#keywords
  }

  /**
   * @param {string} name - a system flag or keyword
   * @returns {FlagBit | null} null for a keyword that no message can have
   */
  findFlag(name) {
    return this.#keywords.find(name)
  }

  /**
   * @param {number} flags
   * @param {number} keywords
   * @returns {string[]}
   */
  flagNames(flags, keywords) {
    return this.#keywords.flagNames(flags, keywords)
  }

  /**
   * @param {number} flags
   * @param {number} keywords
   * @returns {string} the names with spaces between, as they stand in a response
   */
  flagsWire(flags, keywords) {
    return this.#keywords.flagsWire(flags, keywords)
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
    const nowMs = this.#nowMs()
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
    if (normalizeMailboxName(from) === 'INBOX') return await this.#renameInbox(to)
    await this.#database.write(
      (db) => renameMailboxRows(db, from, to),
      (renamed) => {
        for (const { id, name } of renamed) this.#views.rename(id, name)
      }
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
      const { id, recentFromUid, uidNext, messageCount } = mailbox
      if (recentFromUid >= uidNext) return { ...mailbox, recentCount: 0 }
      if (recentFromUid === 1) return { ...mailbox, recentCount: messageCount }
      const count = prepared(
        db,
        'SELECT count(*) FROM messages WHERE id >= ? AND id < ?',
        'value'
      ).get(messageRowId(id, recentFromUid), messageRowId(id + 1, 0))
      return { ...mailbox, recentCount: /** @type {number} */ (count) }
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
  async claimRecent(view) {
    const find = (/** @type {import('better-sqlite3-multiple-ciphers').Database} */ db) =>
      requireMailboxRowById(db, view.mailboxId)
    const mailbox = await this.#database.read(find)
    if (this.isReadOnly || mailbox.recentFromUid === mailbox.uidNext)
      return { fromUid: mailbox.recentFromUid }
    // Lazy: lost in a crash, a message is \Recent twice, which harms nobody.
    return await this.#database.write(
      (db) => {
        const { recentFromUid, uidNext } = find(db)
        prepared(db, 'UPDATE mailboxes SET recent_from_uid = ? WHERE id = ?').run(
          uidNext,
          view.mailboxId
        )
        return { fromUid: recentFromUid }
      },
      undefined,
      { isLazy: true }
    )
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
    if (this.isReadOnly) throw new MailError('READ_ONLY')
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
  async stageContent({ sizeHint } = {}) {
    if (this.isReadOnly) throw new MailError('READ_ONLY')
    return new ContentWriter({
      database: this.#database,
      maxBytes: this.#maxMessageBytes,
      ...(sizeHint !== undefined && { sizeHint })
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
    const nowMs = this.#nowMs()
    const quota = isQuotaExempt ? null : this.#quota
    const { mailboxId, uidValidity, uids } = await this.#database.write(
      (db) => appendRows(db, { mailboxName, messages, keywords: this.#keywords, quota, nowMs }),
      (result) => {
        this.#adoptKeywords(result.keywords)
        const { mailboxId, modSeq, rows } = result
        if (rows.length > 0)
          return this.#views.publish({ mailboxId, modSeq, appended: rows, origin })
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
   * @returns {Promise<boolean>} whether the message of that spool file is in
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
    await this.#database.write(
      (db) => prepared(db, 'DELETE FROM drained WHERE spool_name = ?').run(spoolName),
      undefined,
      { isLazy: true }
    )
  }

  /** @returns {Promise<string[]>} spool files that are in and may be left over from a crash */
  listDrained() {
    return this.#database.read(
      (db) =>
        /** @type {string[]} */ (
          prepared(db, 'SELECT spool_name FROM drained ORDER BY spool_name', 'value').all()
        )
    )
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
   * The exact bytes of a message, or a range of them. Only the chunks that the range touches are read.
   *
   * @param {number} contentId
   * @param {number} [start] - first byte
   * @param {number} [end] - exclusive; what lies beyond the end is left out
   * @returns {AsyncGenerator<Buffer, void, undefined>} pieces of up to 128 KiB
   * @throws {MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
   */
  async *readContent(contentId, start = 0, end = Infinity) {
    const { size, chunkSize } = await this.#database.readSettled((db) =>
      requireContent(db, contentId)
    )
    const last = Math.min(end, size)
    for (let offset = start; offset < last;) {
      const sequence = Math.floor(offset / chunkSize)
      const chunk = await this.#database.readSettled((db) =>
        readChunk(db, contentId, sequence, chunkSize)
      )
      const base = sequence * chunkSize
      yield chunk.subarray(offset - base, Math.min(last - base, chunk.length))
      offset = base + chunkSize
    }
  }

  // Changes

  /**
   * Atomic for each page of 2,000 messages.
   *
   * @param {object} request
   * @param {MailboxView} request.view
   * @param {readonly number[]} request.uids - ascending; those that are gone are left out
   * @param {'set' | 'add' | 'remove'} request.action
   * @param {readonly string[]} request.flags
   * @param {number | null} [request.unchangedSince] - RFC 7162 §3.1.3
   * @param {unknown} [request.origin] - comes back in the change record
   * @param {boolean} [request.isLazy] - for an implicit \Seen: resolves after COMMIT. The views are told, as always,
   *   when it is on the disk
   * @returns {Promise<{ changedUids: number[], failedUids: number[], modSeq: number }>} `modSeq`: the mailbox's
   * @throws {MailError} MAILBOX_NOT_FOUND, LIMIT (no keyword left), CANNOT, READ_ONLY
   */
  async changeFlags({
    view,
    uids,
    action,
    flags,
    unchangedSince = null,
    origin = null,
    isLazy = false
  }) {
    const { mailboxId } = view
    const outcome = {
      changedUids: /** @type {number[]} */ ([]),
      failedUids: /** @type {number[]} */ ([]),
      modSeq: view.highestModSeq
    }
    for (let start = 0; start < uids.length; start += FLAG_PAGE) {
      if (start > 0) await setImmediate()
      const page = uids.slice(start, start + FLAG_PAGE)
      const { changedUids, failedUids, modSeq } = await this.#database.write(
        (db) =>
          changeFlagRows(db, {
            mailboxId,
            uids: page,
            action,
            flags,
            unchangedSince,
            keywords: this.#keywords
          }),
        (result) => {
          this.#adoptKeywords(result.keywords)
          if (result.rows.length > 0)
            return this.#views.publish({
              mailboxId,
              modSeq: result.modSeq,
              updated: result.rows,
              origin
            })
        },
        { isLazy }
      )
      for (const uid of changedUids) outcome.changedUids.push(uid)
      for (const uid of failedUids) outcome.failedUids.push(uid)
      outcome.modSeq = modSeq
    }
    return outcome
  }

  /**
   * Copies messages, all or none.
   *
   * @param {object} request
   * @param {MailboxView} request.from
   * @param {readonly number[]} request.uids - ascending
   * @param {string} request.toMailbox
   * @param {unknown} [request.origin]
   * @returns {Promise<CopyOutcome>}
   * @throws {MailError} MAILBOX_NOT_FOUND, OVER_QUOTA, LIMIT, READ_ONLY
   */
  copyMessages(request) {
    return this.#transfer(request, false)
  }

  /**
   * Moves messages, all or none (RFC 6851 §3.3).
   *
   * @param {object} request
   * @param {MailboxView} request.from
   * @param {readonly number[]} request.uids - ascending
   * @param {string} request.toMailbox
   * @param {unknown} [request.origin]
   * @returns {Promise<CopyOutcome>}
   * @throws {MailError} MAILBOX_NOT_FOUND, LIMIT, READ_ONLY
   */
  moveMessages(request) {
    return this.#transfer(request, true)
  }

  /**
   * Deletes messages that have \Deleted. Atomic for each page of 1,000 messages.
   *
   * @param {object} request
   * @param {MailboxView} request.view
   * @param {ReadonlyArray<number> | null} request.uids - only among these (ascending); null: all
   * @param {unknown} [request.origin]
   * @returns {Promise<number[]>} UIDs that are gone by it, ascending
   * @throws {MailError} MAILBOX_NOT_FOUND, READ_ONLY
   */
  async expunge({ view, uids, origin = null }) {
    if (this.isReadOnly) throw new MailError('READ_ONLY')
    const { mailboxId } = view
    const candidates = uids ?? deletedUids(view)
    const nowMs = this.#nowMs()
    const gone = []
    for (let start = 0; start < candidates.length; start += EXPUNGE_PAGE) {
      if (start > 0) await setImmediate()
      const page = candidates.slice(start, start + EXPUNGE_PAGE)
      const result = await this.#database.write(
        (db) => expungeRows(db, { mailboxId, uids: page, onlyDeleted: true, nowMs }),
        ({ uids: expunged, modSeq }) => {
          if (expunged.length > 0)
            return this.#views.publish({ mailboxId, modSeq, expunged, origin })
        }
      )
      for (const uid of result.uids) gone.push(uid)
    }
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
   */
  readExpunged(mailboxId, sinceModSeq) {
    return this.#database.read((db) => {
      const { expungedFloor } = requireMailboxRowById(db, mailboxId)
      const ranges = /** @type {{ first: number, last: number }[]} */ (
        prepared(
          db,
          `SELECT first_uid AS first, last_uid AS last FROM expunged WHERE mailbox_id = ? AND modseq > ?
           ORDER BY first_uid`
        ).all(mailboxId, sinceModSeq)
      )
      return { isComplete: sinceModSeq >= expungedFloor, ranges }
    })
  }

  // The whole account

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
    await this.#reloadKeywords()
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
   * Moves the `-wal` into the file, in a thread, as far as nobody stands in the way.
   *
   * @returns {Promise<void>}
   */
  checkpoint() {
    return this.#housekeeping.checkpoint()
  }

  /** @returns {Promise<string[]>} what is wrong with the file's structure; empty if nothing is */
  async quickCheck() {
    return /** @type {string[]} */ (await this.#inThread({ kind: 'quickCheck' }))
  }

  /**
   * Checks the structure, the figures and every content against its hash, in a thread.
   *
   * @param {(progress: VerifyProgress) => void} [onProgress]
   * @returns {Promise<VerifyReport>}
   */
  async verify(onProgress) {
    const report = await this.#inThread({ kind: 'verify' }, (value) =>
      onProgress?.(/** @type {VerifyProgress} */ (value))
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
      // In the thread, so that closing the last connection finds nothing left to move.
      if (!this.#database.hasFailed && !this.isReadOnly) await this.checkpoint()
      await this.#housekeeping.close()
    } finally {
      await this.#database.close()
      if (this.#ownsCheckpointer) await this.#checkpointer.close()
      new Uint8Array(this.#key).fill(0)
      this.#lock.release()
    }
  }

  #nowMs() {
    return this.#database.clock.nowMs()
  }

  /** @param {KeywordTable} table - as of a transaction of ours */
  #adoptKeywords(table) {
    // Keywords only become more; the larger table is the newer.
    if (table.names.length > this.#keywords.names.length) this.#keywords = table
  }

  async #reloadKeywords() {
    const rows = await this.#database.read(readKeywords)
    if (rows.length === this.#keywords.names.length) return
    const table = new KeywordTable()
    table.load(rows)
    this.#adoptKeywords(table)
  }

  /**
   * @param {{ from: MailboxView, uids: ReadonlyArray<number>, toMailbox: string, origin?: unknown }} request
   * @param {boolean} isMove
   * @returns {Promise<CopyOutcome>}
   */
  async #transfer({ from, uids, toMailbox, origin = null }, isMove) {
    if (this.isReadOnly) throw new MailError('READ_ONLY')
    const request = {
      fromMailboxId: from.mailboxId,
      toMailbox,
      uids,
      isMove,
      quota: this.#quota,
      nowMs: this.#nowMs()
    }
    const publish = (/** @type {import('./copy-move.js').CopyResult} */ result) =>
      this.#publishTransfer(from.mailboxId, result, isMove, origin)
    const isLong = uids.length > COPY_INLINE
    const result = isLong
      ? await this.#writeInThread({ kind: 'copy', request }, publish)
      : await this.#database.write((db) => copyRows(db, request), publish)
    const { uidValidity, sourceUids } = result
    return { uidValidity, sourceUids, uids: result.uids }
  }

  /** @param {string} to */
  async #renameInbox(to) {
    if (this.isReadOnly) throw new MailError('READ_ONLY')
    const request = { to, nowMs: this.#nowMs() }
    const { messageCount } = await this.mailboxStatus('INBOX')
    const publish = (/** @type {ReturnType<typeof renameInbox>} */ { inboxId, result }) =>
      this.#publishTransfer(inboxId, result, true, null)
    if (messageCount > COPY_INLINE)
      await this.#writeInThread({ kind: 'renameInbox', request }, publish)
    else await this.#database.write((db) => renameInbox(db, request), publish)
  }

  /**
   * @param {number} fromMailboxId
   * @param {import('./copy-move.js').CopyResult} result
   * @param {boolean} isMove
   * @param {unknown} origin
   */
  async #publishTransfer(fromMailboxId, result, isMove, origin) {
    const { toMailboxId, rows, targetModSeq, sourceModSeq, sourceUids } = result
    if (rows.length === 0) return
    const appended = { mailboxId: toMailboxId, modSeq: targetModSeq, appended: rows, origin }
    const expunged = {
      mailboxId: fromMailboxId,
      modSeq: sourceModSeq,
      expunged: sourceUids,
      origin
    }
    // Both in the same turn, before anything else can be published.
    const told = [this.#views.publish(appended), isMove && this.#views.publish(expunged)]
    await Promise.all(told)
  }

  /**
   * @template T
   * @param {import('./thread-jobs.js').ThreadJob} job - that commits
   * @param {(result: T) => Promise<void>} publish
   * @returns {Promise<T>}
   */
  async #writeInThread(job, publish) {
    const result = /** @type {T} */ (await this.#inThread(job))
    await this.#database.settle()
    this.#housekeeping.noteCommit()
    await publish(result)
    return result
  }

  /**
   * @param {import('./thread-jobs.js').ThreadJob} job
   * @param {(value: unknown) => void} [onProgress]
   * @returns {Promise<unknown>}
   */
  #inThread(job, onProgress) {
    const { secureDelete, isReadOnly } = this.#files
    return this.#database.whileOpen(() =>
      runThread(THREAD, {
        data: {
          path: this.#database.path,
          key: this.#key,
          cipher: this.cipher,
          tempStore: this.#tempStore,
          secureDelete,
          isReadOnly,
          job
        },
        signal: this.#database.closing,
        ...(onProgress && { onProgress })
      })
    )
  }
}

/**
 * @param {MailboxView} view
 * @returns {number[]} UIDs that have \Deleted, ascending
 */
function deletedUids(view) {
  const uids = []
  for (let slot = 0; slot < view.length; slot++) {
    const isDeleted = ((view.flags[slot] ?? 0) & DELETED) !== 0
    if (isDeleted && !view.isExpunged(slot)) uids.push(/** @type {number} */ (view.uids[slot]))
  }
  return uids
}
