/**
 * The port's methods that change, copy, move and expunge messages.
 */
import { nextTurn } from '../../support/turns.js'
import { changeFlags } from '../change-flags.js'
import { expungeMessages } from '../expunge.js'
import { readExpungedSince } from '../expunged-log.js'
import { FlagQueue } from '../flag-queue.js'
import { findUidsOfContent, sumDeletedPage } from '../message-queries.js'
import { ReadingMethods } from './reading-methods.js'

/**
 * @typedef {import('../change-flags.js').FlagOutcome} FlagOutcome
 * @typedef {import('../change-flags.js').FlagRequest} FlagRequest
 * @typedef {import('../mailbox-view.js').MailboxView} MailboxView
 * @typedef {import('../transfers.js').TransferOutcome} TransferOutcome
 * @typedef {import('../transfers.js').TransferRequest} TransferRequest
 */

/** Of an account: see AccountStore. */
export class ChangeMethods extends ReadingMethods {
  #database
  #views
  #keywords
  #flagQueue
  #housekeeping
  #transfers

  /** @param {import('./parts.js').StoreParts} parts */
  constructor(parts) {
    super(parts)
    this.#database = parts.database
    this.#views = parts.views
    this.#keywords = parts.keywords
    this.#flagQueue = new FlagQueue(parts)
    this.#housekeeping = parts.housekeeping
    this.#transfers = parts.transfers
  }

  /**
   * Atomic for each page of 1,000 messages, or of 8,000 without a gap between them. Requests for up to FLAG_PAGE messages are
   * done in the order in which they are asked for.
   *
   * @param {FlagRequest} request
   * @returns {Promise<FlagOutcome>}
   * @throws {MailError} MAILBOX_NOT_FOUND, LIMIT (no keyword left), CANNOT, READ_ONLY
   */
  changeFlags(request) {
    const [database, views] = [this.#database, this.#views]
    const store = { database, views, keywords: this.#keywords, flagQueue: this.#flagQueue }
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
   * Deletes messages that have \Deleted. Atomic for each page of 2,000 messages.
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
   * @returns {Promise<import('../expunged-log.js').ExpungedSince>} where the log is not complete, the client must be told every
   *   UID that has no message
   * @throws {MailError} MAILBOX_NOT_FOUND
   */
  readExpunged(mailboxId, sinceModSeq) {
    return readExpungedSince(this.#database, mailboxId, sinceModSeq)
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
      if (fromUid !== null) await nextTurn()
    }
    return sum
  }

  /**
   * @param {number} mailboxId
   * @param {number} contentId
   * @returns {Promise<number[]>} UIDs of the messages with that content, ascending; read in pages: a message that comes
   *   meanwhile may be among them
   */
  async findByContent(mailboxId, contentId) {
    /** @type {number[]} */
    const found = []
    for (let fromUid = /** @type {number | null} */ (0); fromUid !== null;) {
      const wanted = { mailboxId, contentId, fromUid }
      const page = await this.#database.read((db) => findUidsOfContent(db, wanted))
      for (const uid of page.uids) found.push(uid)
      fromUid = page.nextUid
      if (fromUid !== null) await nextTurn()
    }
    return found
  }
}
