/**
 * Keeps the views of an account's mailboxes: loads them in pages, applies to them what is durable, and catches them
 * up by MODSEQ with what other processes have written.
 *
 * A change of our own carries the mailbox's new modseq. If the view is exactly one behind, the change is applied as
 * it is; if it is further behind, somebody else has written in between, and the view reads everything above its own
 * modseq. Applying is idempotent slot by slot, so what arrives both ways does no harm. While a view loads or catches
 * up, changes of our own wait.
 *
 * A view that cannot read (a damaged page, a disk in trouble) says so in its `failure`, and tries again after a while. It
 * fails neither whoever has written, whose change is durable, nor the other views of the account.
 */
import { Slicer } from '../support/slicer.js'
import { applyChange, isMadeBy, updateSlots } from './apply-change.js'
import { MailboxView } from './mailbox-view.js'
import { findMailboxRowById, requireMailboxRow, requireMailboxRowById } from './mailbox-rows.js'
import { readMissedExpunges, sortChanges } from './missed-changes.js'
import { FEW_ROWS } from './pack-views.js'
import { readAllRows, readChangedRows } from './view-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./account-database.js').AccountDatabase} AccountDatabase
 * @typedef {import('./mailbox-rows.js').MailboxRow} MailboxRow
 * @typedef {import('./mailbox-view.js').ViewRow} ViewRow
 * @typedef {import('./mailbox-view.js').ChangeRecord} ChangeRecord
 * @typedef {import('./apply-change.js').ViewChange} ViewChange
 *
 * @typedef {object} Entry
 * @property {MailboxView} view
 * @property {number} references - 0: kept because the mailbox may well be opened again soon
 * @property {boolean} isLoaded
 * @property {Promise<void>} ready - settles when the view is loaded
 * @property {boolean} isReading - whether rows are being read
 * @property {Promise<void>} settled - settles when the last reading is over and what waited for it is applied
 * @property {ViewChange[]} queue - own changes that wait for that
 * @property {Promise<void> | null} again - the reading after that one, where somebody has asked for it
 */

/** What could not be taken in is tried again after so long, milliseconds: a client may send a thousand commands a second. */
const RETRY_MS = 5000

/** The views of an account that are in use, and those that were lately. */
export class ViewKeeper {
  #database
  #keywords
  #idle
  #onManyRows
  /** @type {Map<number, Entry>} */
  #entries = new Map()
  #isClosing = false
  /**
   * When something could not be taken in, monotonic ms; null while all could.
   *
   * @type {number | null}
   */
  #failedAtMs = null

  /**
   * @param {object} parts
   * @param {AccountDatabase} parts.database
   * @param {import('./account-keywords.js').AccountKeywords} parts.keywords
   * @param {import('./idle-views.js').IdleViews} parts.idle - the process's
   * @param {() => void} parts.onManyRows - a mailbox was opened that should be packed for the next time (pack-views.js)
   */
  constructor({ database, keywords, idle, onManyRows }) {
    this.#database = database
    this.#keywords = keywords
    this.#idle = idle
    this.#onManyRows = onManyRows
  }

  /** Gives up the views that nobody uses, now and from now on: the store is being closed. */
  dropIdle() {
    this.#isClosing = true
    for (const [mailboxId, { view, references }] of this.#entries) {
      if (references > 0) continue
      this.#idle.take(view)
      this.#entries.delete(mailboxId)
    }
  }

  /** @returns {number} memory of all views that are kept */
  get bytes() {
    let bytes = 0
    for (const { view } of this.#entries.values()) bytes += view.bytes
    return bytes
  }

  /**
   * @param {string} name
   * @returns {Promise<{ mailbox: MailboxRow, view: MailboxView }>}
   * @throws {MailError} MAILBOX_NOT_FOUND
   */
  async open(name) {
    const mailbox = await this.#database.read((db) => requireMailboxRow(db, name))
    let entry = this.#entries.get(mailbox.id)
    if (!entry) {
      entry = {
        view: new MailboxView(mailbox),
        references: 0,
        isLoaded: false,
        ready: Promise.resolve(),
        isReading: true,
        settled: Promise.resolve(),
        queue: [],
        again: null
      }
      this.#entries.set(mailbox.id, entry)
      entry.ready = entry.settled = this.#load(entry)
    }
    entry.references++
    this.#idle.take(entry.view)
    try {
      await entry.ready
      // Another process has written since somebody looked last.
      if (entry.view.highestModSeq < mailbox.highestModSeq) await this.catchUp(mailbox.id)
    } catch (error) {
      this.#release(entry)
      throw error
    }
    return { mailbox, view: entry.view }
  }

  /**
   * @param {MailboxView} view - of `open`; may be gone from memory when the last user has closed it
   */
  close(view) {
    const entry = this.#entries.get(view.mailboxId)
    if (entry?.view === view) this.#release(entry)
  }

  /**
   * @param {number} nowMs - monotonic
   * @returns {boolean} whether something could not be taken in, and that is a while ago
   */
  isRetryDue(nowMs) {
    return this.#failedAtMs !== null && nowMs - this.#failedAtMs >= RETRY_MS
  }

  /**
   * Applies a durable change of our own and tells the attachments.
   *
   * @param {ViewChange} change
   * @returns {Promise<void> | void} a promise when the view must read first; never rejected, because the change stands
   */
  publish(change) {
    const entry = this.#entries.get(change.mailboxId)
    // Of a deleted mailbox no reading would come as far as the change.
    if (!entry || entry.view.isDeleted) return
    if (entry.isReading) {
      entry.queue.push(change)
      return entry.settled.catch(() => {})
    }
    const { view } = entry
    if (change.modSeq <= view.highestModSeq) return
    if (change.modSeq === view.highestModSeq + 1) {
      applyChange(view, change)
      return
    }
    entry.queue.push(change)
    return this.#catchUp(entry).catch(() => {})
  }

  /**
   * Brings a view up to what the file says now.
   *
   * @param {number} mailboxId
   * @returns {Promise<void>}
   * @throws what is its `failure` then
   */
  async catchUp(mailboxId) {
    const entry = this.#entries.get(mailboxId)
    if (!entry) return
    await entry.ready
    if (!entry.isReading) return await this.#catchUp(entry)
    // That reading may have begun before what the caller has heard of: one more, for all who ask meanwhile.
    entry.again ??= entry.settled
      .catch(() => {})
      .then(() => {
        entry.again = null
        return this.catchUp(mailboxId)
      })
    await entry.again
  }

  /**
   * Brings keywords and all views up to what the file says now, as far as it can be read.
   *
   * @returns {Promise<void>}
   * @throws {MailError} what reading the keywords may throw
   */
  async catchUpAll() {
    const isTooSoon = this.#failedAtMs !== null && !this.isRetryDue(performance.now())
    if (!isTooSoon) this.#failedAtMs = null
    try {
      await this.#keywords.reload()
    } catch (error) {
      this.#failedAtMs = performance.now()
      throw error
    }
    for (const [mailboxId, { view }] of [...this.#entries])
      // To SQLite, a damaged page that was met is a change of the file: that alone must not make it be met again.
      if (!isTooSoon || view.failure === null) await this.catchUp(mailboxId).catch(() => {})
  }

  /**
   * @param {number} mailboxId
   * @param {string} name
   */
  rename(mailboxId, name) {
    const entry = this.#entries.get(mailboxId)
    if (entry) entry.view.name = name
  }

  /** @param {number} mailboxId */
  markDeleted(mailboxId) {
    const entry = this.#entries.get(mailboxId)
    if (!entry || entry.view.isDeleted) return
    entry.view.isDeleted = true
    if (entry.references === 0) {
      this.#idle.take(entry.view)
      this.#entries.delete(mailboxId)
    }
    entry.view.announce()
  }

  /** @param {Entry} entry */
  #release(entry) {
    if (--entry.references > 0) return
    const { mailboxId, isDeleted, failure } = entry.view
    const isOfUse = entry.isLoaded && !isDeleted && failure === null && !this.#isClosing
    if (isOfUse) this.#idle.keep(entry.view, () => this.#entries.delete(mailboxId))
    else this.#entries.delete(mailboxId)
  }

  /** @param {Entry} entry */
  async #load(entry) {
    const { view } = entry
    try {
      // Read again now that changes of our own wait in the queue: none falls between the two.
      const mailbox = await this.#database.read((db) => requireMailboxRowById(db, view.mailboxId))
      view.uidNext = mailbox.uidNext
      view.highestModSeq = mailbox.highestModSeq
      const rowCount = await readAllRows(this.#database, mailbox, view)
      if (rowCount >= FEW_ROWS) this.#onManyRows()
      // As in `#readChanges`.
      await this.#keywords.reload()
      await this.#database.settle()
      // What others wrote during the load is in the view only as far as its pages were read afterwards: a client that learns
      // the newer MODSEQ from these would never ask for the rest.
      await this.#readChanges(entry)
      entry.isLoaded = true
    } finally {
      entry.isReading = false
    }
    await this.#drainQueue(entry)
  }

  /** @param {Entry} entry */
  #catchUp(entry) {
    entry.isReading = true
    const read = this.#readChanges(entry).then(
      () => {
        entry.view.failure = null
      },
      (error) => {
        this.#noteFailure(entry, error)
        throw error
      }
    )
    // Who waits may be nobody, and a fault of the program must not get lost in a `failure`.
    this.#database.supervise(read)
    entry.settled = read
      .finally(() => {
        entry.isReading = false
      })
      .then(() => this.#drainQueue(entry))
    return entry.settled
  }

  /**
   * @param {Entry} entry
   * @param {unknown} error
   */
  #noteFailure(entry, error) {
    const { view, references } = entry
    view.failure = error
    // The next reading finds these changes in the file.
    entry.queue = []
    if (references > 0) {
      this.#failedAtMs = performance.now()
      return
    }
    this.#idle.take(view)
    // It may have gone already, to make room, and somebody have opened the mailbox anew.
    if (this.#entries.get(view.mailboxId) === entry) this.#entries.delete(view.mailboxId)
  }

  /** @param {Entry} entry */
  async #drainQueue(entry) {
    const queue = entry.queue
    entry.queue = []
    for (const change of queue) await this.publish(change)
  }

  /** @param {Entry} entry */
  async #readChanges(entry) {
    const { view } = entry
    const since = view.highestModSeq
    const lastKnown = view.length > 0 ? /** @type {number} */ (view.uids[view.length - 1]) : 0
    const mailbox = await this.#database.read(
      (db) => findMailboxRowById(db, view.mailboxId),
      (row) => !row || row.highestModSeq > since || !isKnown(view, row)
    )
    if (!mailbox) {
      this.markDeleted(view.mailboxId)
      return
    }
    view.name = mailbox.name
    view.uidValidity = mailbox.uidValidity
    if (mailbox.highestModSeq <= since) return
    /** @type {ViewRow[]} */
    const read = []
    await readChangedRows(this.#database, mailbox, since, {
      append: (uid, modSeq, flags, keywords) => read.push({ uid, modSeq, flags, keywords })
    })
    const slicer = new Slicer()
    const expunged = await readMissedExpunges(this.#database, { view, mailbox, since }, slicer)
    // Read after the rows: these may have a keyword that another process has made since anybody looked, and a client that is
    // told of flags without it hears no more of it.
    await this.#keywords.reload()
    await this.#database.settle()
    // What comes into the queue from here on is applied behind this reading.
    const waiting = [...entry.queue]
    const known = {
      lastUid: lastKnown,
      modSeq: mailbox.highestModSeq,
      own: waiting.map(({ modSeq }) => modSeq)
    }
    const { appended, updated, own } = await sortChanges(read, known, slicer)
    applyOwnFlags(view, waiting, own)
    applyChange(view, {
      mailboxId: view.mailboxId,
      modSeq: mailbox.highestModSeq,
      appended,
      updated,
      expunged,
      origin: null
    })
    view.uidNext = Math.max(view.uidNext, mailbox.uidNext)
  }
}

/**
 * Flag changes of our own that waited for a reading: they go before what was read, so that they keep the mark of who made
 * them.
 *
 * @param {MailboxView} view
 * @param {readonly ViewChange[]} waiting
 * @param {ReadonlyMap<number, ViewRow[]>} own - the rows that were read of each, by its modseq
 */
function applyOwnFlags(view, waiting, own) {
  for (const { updated = [], masked: run, masks = run?.masks, modSeq, origin } of waiting) {
    if (!masks) continue
    // A run's masks are for the messages as they were just before it: here its rows were read instead.
    const rows = run ? (own.get(modSeq) ?? []) : updated
    // Where another process has changed the same messages before, whoever made this change does not know all of it.
    const ownRows = rows.filter((row) => isMadeBy(masks, view, row))
    const ownSlots = updateSlots(view, ownRows)
    const others = updateSlots(view, rows)
    /** @type {ChangeRecord[]} */
    const records = []
    if (ownSlots.length > 0) records.push({ kind: 'flags', slots: ownSlots, origin })
    if (others.length > 0) records.push({ kind: 'flags', slots: others, origin: null })
    if (records.length > 0) view.publish(records)
  }
}

/**
 * @param {MailboxView} view
 * @param {MailboxRow} mailbox
 * @returns {boolean} whether what the view says of the mailbox itself is what the row says
 */
const isKnown = (view, mailbox) =>
  view.name === mailbox.name && view.uidValidity === mailbox.uidValidity
