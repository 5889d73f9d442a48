/**
 * The port's methods for messages that come in.
 */
import { MailError } from '../../errors.js'
import { forgetDrainedRows, hasImportKey, listDrainedRows } from '../append.js'
import { AppendQueue } from '../append-queue.js'
import { touchStaged } from '../content-rows.js'
import { abortWriters, ContentWriter } from '../content-writer.js'
import { inPages } from '../in-pages.js'
import { requireMailboxRow } from '../mailbox-rows.js'
import { requireQuota } from '../quota.js'
import { MailboxMethods } from './mailbox-methods.js'

/** @typedef {import('../append.js').AppendedMessage} AppendedMessage */
/** @typedef {import('../staged-content.js').StagedContent} StagedContent */

/** Contents in one transaction: some 3 ms. */
const KEEP_PAGE = 1000

/** Of an account: see AccountStore. */
export class IntakeMethods extends MailboxMethods {
  #database
  #appends
  #quota
  #maxMessageBytes

  /** @param {import('./parts.js').StoreParts} parts */
  constructor(parts) {
    super(parts)
    this.#database = parts.database
    this.#appends = new AppendQueue(parts)
    this.#quota = parts.quota
    this.#maxMessageBytes = parts.maxMessageBytes
  }

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
   * @param {{ sizeHint?: number, keptBytes?: number, isAlone?: boolean, isSizeExempt?: boolean }} [options] - as those of
   *   `ContentWriter`; `isSizeExempt`: whatever its size, because it was accepted already
   * @returns {Promise<ContentWriter>} takes the message's bytes; `abort` it when it comes to nothing
   * @throws {MailError} READ_ONLY
   */
  async stageContent({ isSizeExempt = false, ...options } = {}) {
    this.#database.requireWritable()
    return new ContentWriter({
      ...options,
      database: this.#database,
      maxBytes: isSizeExempt ? Infinity : this.#maxMessageBytes
    })
  }

  /**
   * Says that contents which wait for others to come are still wanted: an hour without this, and what of them is in the file
   * passes for abandoned.
   *
   * @param {readonly StagedContent[]} contents - of ContentWriters' `finish`, not appended yet
   * @returns {Promise<void>}
   * @throws {MailError} LIMIT when it comes too late
   */
  async keepStaged(contents) {
    const nowMs = this.#database.clock.nowMs()
    const ids = contents.map(({ contentId }) => contentId).filter((id) => id !== null)
    const keep = (/** @type {readonly number[]} */ page) =>
      this.#database.write(
        (db) => page.forEach((contentId) => touchStaged(db, { contentId, nowMs })),
        { isDerived: true }
      )
    await inPages(ids, { pageSize: KEEP_PAGE }, keep)
  }

  /**
   * Gives up what was staged and is not appended, as `abort` does for each by itself.
   *
   * @param {readonly ContentWriter[]} writers
   * @returns {Promise<void>}
   */
  abortStaged(writers) {
    return abortWriters(this.#database, writers)
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
    const { mailboxId, uidValidity, uids } = await this.#appends.append({
      mailboxName,
      messages,
      quota: isQuotaExempt ? null : this.#quota,
      origin
    })
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
   * To be called when the spool files are gone for good.
   *
   * @param {readonly string[]} spoolNames
   * @returns {Promise<void>}
   */
  async forgetDrained(spoolNames) {
    // Not synced: remembered for longer than needed, they do no harm.
    await this.#database.write((db) => forgetDrainedRows(db, spoolNames), {
      isDerived: true
    })
  }

  /** @returns {Promise<string[]>} spool files that are in and not forgotten: a crash may have left them behind */
  listDrained() {
    return this.#database.read(listDrainedRows)
  }
}
