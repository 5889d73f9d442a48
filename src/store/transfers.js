/**
 * COPY, MOVE and RENAME as the store offers them: one transaction, in a thread when there are many messages or mailboxes,
 * and the views told when it is durable.
 */
import { COPY_INLINE, copyRows, isLongTransfer } from './copy-move.js'
import { requireMailboxRow } from './mailbox-rows.js'
import { normalizeMailboxName } from './mailbox-name.js'
import { hasMoreBelow, renameInbox, renameMailboxRows } from './mailboxes.js'

/**
 * @typedef {import('./copy-move.js').CopyResult} CopyResult
 *
 * @typedef {object} TransferRequest
 * @property {import('./mailbox-view.js').MailboxView} from
 * @property {readonly number[]} uids - ascending
 * @property {string} toMailbox
 * @property {boolean} [isExact] - nothing is done where one of them has gone; otherwise those that have are left out
 * @property {unknown} [origin] - comes back in the change records
 *
 * @typedef {object} TransferOutcome
 * @property {number} uidValidity - of the target
 * @property {Readonly<Uint32Array>} sourceUids - ascending; those that were gone already are left out
 * @property {Readonly<Uint32Array>} uids - in the target, in the same order
 */

/** Mailboxes that are renamed without a thread: some 5 ms. */
const RENAME_INLINE = 500

/** Moves and copies messages between the mailboxes of one account, and renames mailboxes. */
export class Transfers {
  #database
  #views
  #threads
  #quota

  /**
   * @param {object} options
   * @param {import('./account-database.js').AccountDatabase} options.database
   * @param {import('./views.js').ViewKeeper} options.views
   * @param {import('./store-threads.js').StoreThreads} options.threads
   * @param {import('./quota.js').Quota} options.quota
   */
  constructor({ database, views, threads, quota }) {
    this.#database = database
    this.#views = views
    this.#threads = threads
    this.#quota = quota
  }

  /**
   * @param {TransferRequest} request
   * @param {{ isMove: boolean }} how
   * @returns {Promise<TransferOutcome>}
   * @throws {import('../errors.js').MailError} MAILBOX_NOT_FOUND, OVER_QUOTA, LIMIT, READ_ONLY, MESSAGE_GONE
   */
  async transfer({ from, uids, toMailbox, isExact = false, origin = null }, { isMove }) {
    const isLong = isLongTransfer(uids)
    const request = {
      fromMailboxId: from.mailboxId,
      toMailbox,
      // A thread is given a million of these in a millisecond.
      uids: isLong ? Uint32Array.from(uids) : uids,
      isMove,
      isExact,
      quota: this.#quota,
      nowMs: this.#database.clock.nowMs()
    }
    const publish = (/** @type {CopyResult} */ result) =>
      this.#publish(from.mailboxId, result, { isMove, origin })
    const result = isLong
      ? await this.#threads.write({ kind: 'copy', request }, publish)
      : await this.#database.write((db) => copyRows(db, request), { onDurable: publish })
    const { uidValidity, sourceUids } = result
    return { uidValidity, sourceUids, uids: result.uids }
  }

  /**
   * @param {string} to
   * @throws {import('../errors.js').MailError} MAILBOX_EXISTS, CANNOT, LIMIT, READ_ONLY
   */
  async renameInbox(to) {
    const request = { to, nowMs: this.#database.clock.nowMs() }
    const { messageCount } = await this.#database.readSettled((db) =>
      requireMailboxRow(db, 'INBOX')
    )
    const publish = (/** @type {ReturnType<typeof renameInbox>} */ { inboxId, result }) =>
      this.#publish(inboxId, result, { isMove: true, origin: null })
    if (messageCount > COPY_INLINE)
      await this.#threads.write({ kind: 'renameInbox', request }, publish)
    else await this.#database.write((db) => renameInbox(db, request), { onDurable: publish })
  }

  /**
   * Renames a mailbox and those below it.
   *
   * @param {import('./mailboxes.js').RenameRequest} request
   * @throws {import('../errors.js').MailError} MAILBOX_NOT_FOUND, MAILBOX_EXISTS, CANNOT, LIMIT, READ_ONLY
   */
  async rename(request) {
    const name = normalizeMailboxName(request.from)
    const isLong = await this.#database.readSettled((db) => hasMoreBelow(db, name, RENAME_INLINE))
    const publish = (/** @type {ReturnType<typeof renameMailboxRows>} */ renamed) => {
      for (const mailbox of renamed) this.#views.rename(mailbox.id, mailbox.name)
    }
    if (isLong) await this.#threads.write({ kind: 'rename', request }, publish)
    else await this.#database.write((db) => renameMailboxRows(db, request), { onDurable: publish })
  }

  /**
   * @param {number} fromMailboxId
   * @param {CopyResult} result
   * @param {{ isMove: boolean, origin: unknown }} how
   */
  async #publish(fromMailboxId, result, { isMove, origin }) {
    const { toMailboxId, uids, flags, keywords, targetModSeq, sourceModSeq, sourceUids } = result
    if (uids.length === 0) return
    const appended = {
      mailboxId: toMailboxId,
      modSeq: targetModSeq,
      copied: { uids, modSeq: targetModSeq, flags, keywords },
      origin
    }
    const expunged = {
      mailboxId: fromMailboxId,
      modSeq: sourceModSeq,
      expunged: sourceUids,
      origin
    }
    // Both in the same turn, before anything else can be published.
    await Promise.all([
      this.#views.publish(appended),
      isMove ? this.#views.publish(expunged) : undefined
    ])
  }
}
