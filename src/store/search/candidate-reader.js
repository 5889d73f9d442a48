/**
 * Reads what the keys of a search ask for, of the messages that it must look at: rows, header blocks or listed fields, texts.
 * A message that has gone meanwhile is left out.
 */
import { isMailError } from '../../errors.js'
import { readContentRange } from '../content-reader.js'
import { readMessageRecords } from '../read-messages.js'
import { chooseListed, readListedHeaders } from './listed-header.js'
import { HeaderText } from './match-text.js'
import { TooLongHere, readHeaderBlock, readTextPieces } from './message-text.js'

/** @typedef {import('../read-messages.js').MessageRecord} MessageRecord */
/** @typedef {import('../read-messages.js').MessageNeeds} MessageNeeds */

/**
 * @typedef {object} Candidate
 * @property {number} index
 * @property {number} contentId - 0 when it is not known
 * @property {MessageRecord | null} record - null until the row is read
 * @property {HeaderText | null} header
 *
 * @typedef {object} CandidateReaderOptions
 * @property {import('../read-messages.js').Source} database
 * @property {number} mailboxId
 * @property {readonly import('./plan.js').LeafNode[]} leaves - of the search
 * @property {(index: number) => number} uidAt - of a candidate
 * @property {import('./message-text.js').Pace} pace - `breathe` is called between two reads as well
 */

/** Of one search. */
export class CandidateReader {
  #database
  #mailboxId
  #uidAt
  #pace
  /** What is read of each message besides its text. */
  #needs
  /** The fields to read, if all that the keys ask for are listed; null: what is needed is read from the header itself. */
  #listed
  #contents

  /** @param {CandidateReaderOptions} options */
  constructor({ database, mailboxId, leaves, uidAt, pace }) {
    this.#database = database
    this.#mailboxId = mailboxId
    this.#uidAt = uidAt
    this.#pace = pace
    const operations = new Set(leaves.map(({ key }) => key.op))
    this.#listed = operations.has('text') ? null : chooseListed(leaves)
    this.#needs = {
      row: true,
      header: operations.has('header') || operations.has('text'),
      order: leaves.some(({ key }) => key.op === 'date' && key.which === 'sent')
    }
    this.#contents = {
      readContent: (
        /** @type {number} */ id,
        /** @type {number} */ start,
        /** @type {number} */ end
      ) => readContentRange(database, id, start, end)
    }
  }

  /**
   * @param {Candidate[]} page
   * @returns {Promise<Candidate[]>} those that are still there, with their records
   */
  readRows(page) {
    return this.#read(page, { ...this.#needs, header: false })
  }

  /**
   * @param {Candidate[]} page
   * @returns {Promise<Candidate[]>} those that are still there, with their records and what is asked for of their headers
   */
  async readHeaders(page) {
    const read = this.#listed
      ? await this.#readListed(page, this.#listed)
      : await this.#read(page, this.#needs)
    const there = []
    for (const candidate of read)
      if (await unlessGone(() => this.loadHeader(candidate))) there.push(candidate)
    return there
  }

  /**
   * @param {Candidate[]} page
   * @returns {Promise<Candidate[]>} those that are still there; their records have the part tree, and the content if it is short
   */
  readContents(page) {
    return this.#read(page, { ...this.#needs, partTree: true, content: true })
  }

  /**
   * @param {Candidate} candidate - its record has the header block, or says that it is too large to keep
   * @returns {Promise<true>} once the header is there, if it is needed
   * @throws {import('../../errors.js').MailError} MESSAGE_GONE
   * @throws {TooLongHere}
   */
  async loadHeader(candidate) {
    if (!this.#needs.header || candidate.header || !candidate.record) return true
    await this.#pace.breathe()
    const block = await readHeaderBlock(this.#contents, candidate.record)
    if (block.length > this.#pace.maxHeaderBytes) throw new TooLongHere()
    candidate.header = new HeaderText(block)
    return true
  }

  /**
   * @param {MessageRecord} record - of `readContents`
   * @returns {ReturnType<typeof readTextPieces>} of its texts, one part after the other
   */
  textPieces(record) {
    return readTextPieces(this.#contents, record, this.#pace)
  }

  /**
   * @param {Candidate[]} page
   * @param {MessageNeeds} needs
   * @returns {Promise<Candidate[]>} those that are still there, with their records
   */
  async #read(page, needs) {
    if (page.length === 0) return page
    await this.#pace.breathe()
    const uids = page.map(({ index }) => this.#uidAt(index))
    const records = await readMessageRecords(this.#database, this.#mailboxId, uids, needs)
    const byUid = new Map(records.map((record) => [record.uid, record]))
    return page.filter((candidate) => {
      candidate.record = byUid.get(this.#uidAt(candidate.index)) ?? null
      candidate.contentId = candidate.record?.contentId ?? 0
      return candidate.record !== null
    })
  }

  /**
   * @param {Candidate[]} page
   * @param {import('../../mime/field-choice.js').FieldChoice} choice
   * @returns {Promise<Candidate[]>} those that are still there, with their records and their headers
   */
  async #readListed(page, choice) {
    const open = await this.#read(page, { ...this.#needs, header: false })
    const contentIds = open.map(({ contentId }) => contentId)
    const headers = await readListedHeaders(this.#database, contentIds, choice)
    const rest = open.filter((candidate, at) => {
      const block = headers[at]
      if (block) candidate.header = new HeaderText(block)
      return !block
    })
    if (rest.length === 0) return open
    const found = new Set(await this.#read(rest, this.#needs))
    return open.filter((candidate) => candidate.header !== null || found.has(candidate))
  }
}

/**
 * A message that is expunged and swept while it is read must not end the search of the others.
 *
 * @param {() => Promise<boolean>} work - reads one message
 * @returns {Promise<boolean>} false when the message has gone meanwhile
 */
export async function unlessGone(work) {
  try {
    return await work()
  } catch (error) {
    if (isMailError(error, 'MESSAGE_GONE')) return false
    throw error
  }
}
