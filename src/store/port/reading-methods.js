/**
 * The port's methods for messages that go out.
 */
import { runSnapshot } from '../../database/transaction.js'
import { readContentRange } from '../content-reader.js'
import { LeftReader } from '../left-contents.js'
import { readPreviews } from '../preview.js'
import { readBodies } from '../read-bodies.js'
import { readMessageRecords } from '../read-messages.js'
import { readPage } from '../read-page.js'
import { tryWrite } from '../try-write.js'
import { IntakeMethods } from './intake-methods.js'

/**
 * @typedef {import('../mailbox-view.js').MailboxView} MailboxView
 * @typedef {import('../read-bodies.js').BodyNeeds} BodyNeeds
 * @typedef {import('../read-bodies.js').LongBody} LongBody
 * @typedef {import('../read-bodies.js').StoredBody} StoredBody
 * @typedef {import('../read-messages.js').MessageNeeds} MessageNeeds
 * @typedef {import('../read-messages.js').MessageRecord} MessageRecord
 * @typedef {import('../read-page.js').MessagePage} MessagePage
 * @typedef {import('../read-page.js').PageNeeds} PageNeeds
 */

/** Of an account: see AccountStore. */
export class ReadingMethods extends IntakeMethods {
  #database
  #lateMeta
  #readAhead
  #cachePool

  /** @param {import('./parts.js').StoreParts} parts */
  constructor(parts) {
    super(parts)
    this.#database = parts.database
    this.#lateMeta = parts.lateMeta
    this.#readAhead = parts.readAhead
    this.#cachePool = parts.cachePool
  }

  /**
   * @param {number} mailboxId
   * @param {readonly number[]} uids - up to 500, ascending
   * @param {MessageNeeds} needs
   * @returns {Promise<MessageRecord[]>} by UID; those that are gone are left out
   */
  readMessages(mailboxId, uids, needs) {
    return readMessageRecords(this.#database, mailboxId, uids, needs, this.#lateMeta)
  }

  /**
   * What FETCH asks for most, of many messages in few large pieces.
   *
   * @param {MailboxView} view
   * @param {readonly number[]} slots - of up to 500 messages, ascending
   * @param {PageNeeds} needs
   * @returns {Promise<MessagePage | null>} null when the first must be read by `readMessages`
   */
  readPage(view, slots, needs) {
    return this.#database.readSettled((db) => {
      const page = runSnapshot(db, () => readPage(db, view, slots, needs))
      this.#cachePool?.noteReads(db, page?.uids.length ?? 0)
      return page
    })
  }

  /**
   * Reads messages that can be answered from their bytes: short ones, and those not too long that are asked for as a whole.
   *
   * @param {MailboxView} view
   * @param {readonly number[]} slots
   * @param {BodyNeeds} needs
   * @param {boolean} [moreFollow] - whether the caller is about to read others in the same turn of the event loop
   * @returns {Promise<(StoredBody | LongBody | null)[]>} for the first of them, one at least; null for a message that must
   *   be read by `readMessages`
   */
  readBodies(view, slots, needs, moreFollow = false) {
    const isOneRow = slots.length === 1 && !needs.withTrees && !needs.withDates
    return this.#database.readTogether((db) => {
      const read = () => readBodies(db, view, slots, needs)
      // For one statement a transaction is a tenth more to do.
      const bodies = isOneRow || db.inTransaction ? read() : runSnapshot(db, read)
      this.#cachePool?.noteReads(db, bodies.length)
      return bodies
    }, moreFollow)
  }

  /**
   * The exact bytes of a message, or a range of them. Only the chunks that the range touches are read.
   *
   * @param {number} contentId
   * @param {number} [start] - first byte
   * @param {number} [end] - exclusive; what lies beyond the content's end is left out
   * @returns {AsyncGenerator<Buffer, void, undefined>} pieces of up to 128 KiB, the caller's own
   * @throws {MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
   */
  readContent(contentId, start = 0, end = Infinity) {
    const left = new LeftReader(this.#database, contentId)
    return readContentRange(this.#database, contentId, start, end, { ahead: this.#readAhead, left })
  }

  /**
   * The first words of messages (RFC 8970); made and kept when they are first asked for.
   *
   * @param {readonly MessageRecord[]} records - read with `partTree` and, so that they need not be read again, `content`
   * @param {{ isLazy: boolean }} options - `isLazy`: only what is there already
   * @returns {Promise<(string | null)[]>} of the first records, one at least: a further one that cannot be read ends the list;
   *   null: there is no preview yet
   * @throws {MailError} MESSAGE_GONE, ACCOUNT_DAMAGED: of the first one
   */
  async readPreviews(records, options) {
    // They are kept beside the rows that may still be on their way.
    await tryWrite(() => this.#lateMeta.flush())
    return await readPreviews(this.#database, records, options)
  }
}
