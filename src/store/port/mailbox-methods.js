/**
 * The port's methods for mailboxes, subscriptions, flags' names and views.
 */
import { listMailboxes, listSubscriptions } from '../list-mailboxes.js'
import { normalizeMailboxName } from '../mailbox-name.js'
import {
  claimRecentRows,
  countRecent,
  findMailboxRow,
  requireMailboxRow,
  requireMailboxRowById
} from '../mailbox-rows.js'
import {
  createMailboxRow,
  deleteMailboxRow,
  hasMoreBelow,
  setSubscription,
  usualUse
} from '../mailboxes.js'
import { hasLongLog, isLastPage, pruneExpungedPage } from '../upkeep/expunge-log.js'
import { nextTurn } from '../../support/turns.js'
import { LAZY } from './parts.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('../flags.js').FlagBit} FlagBit
 * @typedef {import('../flags.js').KeywordTable} KeywordTable
 * @typedef {import('../mailbox-rows.js').MailboxRow} MailboxRow
 * @typedef {import('../mailbox-view.js').MailboxView} MailboxView
 */

/** Of an account: see AccountStore. */
export class MailboxMethods {
  #database
  #views
  #keywords
  #housekeeping
  #transfers

  /** @param {import('./parts.js').StoreParts} parts */
  constructor({ database, views, keywords, housekeeping, transfers }) {
    this.#database = database
    this.#views = views
    this.#keywords = keywords
    this.#housekeeping = housekeeping
    this.#transfers = transfers
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
    return listMailboxes(this.#database)
  }

  /** @returns {Promise<string[]>} names, which need not have a mailbox; by name */
  listSubscriptions() {
    return listSubscriptions(this.#database)
  }

  /**
   * @param {string} name - a trailing '/' is dropped
   * @param {{ specialUse?: string | null, isSubscribed?: boolean }} [options] - without a use it gets that of the usual mailbox of
   *   its name, if that is free; `isSubscribed`: subscribes to it as well, where no client made it, which would do that
   * @returns {Promise<MailboxRow>}
   * @throws {MailError} MAILBOX_EXISTS, CANNOT (no such name may be), LIMIT, READ_ONLY
   */
  createMailbox(name, { specialUse = null, isSubscribed = false } = {}) {
    const nowMs = this.#database.clock.nowMs()
    return this.#database.write((db) => {
      const use = specialUse ?? usualUse(db, name)
      const mailbox = createMailboxRow(db, name, { specialUse: use, nowMs })
      if (isSubscribed) setSubscription(db, mailbox.name, true)
      return mailbox
    })
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
    await this.#forgetExpunged(name)
    await this.#database.write((db) => deleteMailboxRow(db, name), {
      onDurable: (id) => this.#views.markDeleted(id)
    })
    this.#housekeeping.noteGarbage()
  }

  /**
   * The log of expunges goes with its mailbox, and may have a hundred thousand rows: so it is deleted beforehand, page by page.
   * Should the mailbox stay after all, nothing is lost: clients are then told every UID that has no message.
   *
   * @param {string} name - of a mailbox that is about to be deleted
   */
  async #forgetExpunged(name) {
    const mailbox = await this.#database.readSettled((db) => findMailboxRow(db, name))
    if (mailbox === undefined || mailbox.name === 'INBOX') return
    const { id } = mailbox
    const isLong = await this.#database.readSettled((db) => hasLongLog(db, id))
    for (let isMore = isLong; isMore;) {
      const prune = (/** @type {Database} */ db) => pruneExpungedPage(db, id, Infinity)
      isMore = !isLastPage(await this.#database.write(prune, { isDerived: true }))
      await nextTurn()
    }
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
    if (normalizeMailboxName(from) === 'INBOX') await this.#transfers.renameInbox(to)
    else await this.#transfers.rename({ from, to })
  }

  /**
   * @param {string} name - its mailbox need not exist
   * @param {boolean} isSubscribed
   * @returns {Promise<void>}
   * @throws {MailError} CANNOT, LIMIT, READ_ONLY
   */
  async setSubscribed(name, isSubscribed) {
    await this.#database.write((db) => setSubscription(db, name, isSubscribed), {
      isChange: (hasChanged) => hasChanged
    })
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

  /**
   * @param {string} name - as it is stored
   * @returns {Promise<boolean>} whether there are mailboxes below it
   */
  hasMailboxesBelow(name) {
    return this.#database.read((db) => hasMoreBelow(db, name, 0))
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
   * Messages from this UID on, as far as the view has them, are \Recent for the caller and no longer for anybody after it
   * (RFC 3501 §2.3.2). Messages that the view does not have yet stay \Recent: the caller cannot tell of them, and others may.
   *
   * @param {MailboxView} view
   * @param {{ isForOthersToo?: boolean }} [options] - `isForOthersToo`: they stay \Recent for whoever asks next
   * @returns {Promise<{ fromUid: number }>}
   * @throws {MailError} MAILBOX_NOT_FOUND
   */
  async claimRecent({ mailboxId, uidNext }, { isForOthersToo = false } = {}) {
    const { recentFromUid } = await this.#database.read((db) =>
      requireMailboxRowById(db, mailboxId)
    )
    const isLook = isForOthersToo || this.#database.isReadOnly
    if (isLook || recentFromUid >= uidNext) return { fromUid: recentFromUid }
    // Lazy: lost in a crash, a message is \Recent twice, which harms nobody.
    return await this.#database.write((db) => claimRecentRows(db, mailboxId, uidNext), LAZY)
  }
}
