/**
 * APPEND of many messages (RFC 3502): what is large goes into the file before, a few contents at a time, as staged ones that
 * nobody sees. What must be done at once, a row for each message, is one transaction of a thread.
 */
import { nextTurn } from '../support/turns.js'
import { appendRows } from './append.js'
import {
  LEAVE_PAGE,
  insertChunks,
  insertContent,
  leaveContent,
  touchStaged
} from './content-rows.js'
import { KeywordTable } from './flags.js'
import { inPages } from './in-pages.js'
import { readKeywords } from './keyword-rows.js'
import { writeMeta } from './meta-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./account-database.js').AccountDatabase} AccountDatabase
 * @typedef {import('./append.js').AppendedMessage} AppendedMessage
 * @typedef {import('./append.js').AppendResult} AppendResult
 * @typedef {import('./staged-content.js').StagedContent} StagedContent
 *
 * @typedef {Omit<AppendedMessage, 'content'> & { size: number, contentId: number }} StagedMessage
 *
 * @typedef {object} LongAppendRequest
 * @property {string} mailboxName
 * @property {StagedMessage[]} messages
 * @property {Uint8Array} hashes - SHA-256 of each, one behind the other
 * @property {import('./quota.js').Quota | null} quota - null: exempt
 * @property {number} nowMs
 *
 * @typedef {Omit<AppendResult, 'keywords' | 'fresh'> & { keywordRows: import('./keyword-rows.js').KeywordRow[] }} LongAppendResult
 */

/** Messages that are added without a thread: some 10 ms. */
const APPEND_INLINE = 128

/** Contents in one transaction: about 3 ms. */
const STAGE_PAGE = 32

const HASH_BYTES = 32

/**
 * @param {readonly AppendedMessage[]} messages
 * @returns {boolean} whether to add them would hold up the event loop for too long; a thread cannot ask for spool files
 */
export const isLongAppend = (messages) =>
  messages.length > APPEND_INLINE &&
  messages.every(({ isSpoolFileGone }) => isSpoolFileGone === undefined)

/** The contents of one such APPEND on their way. */
export class StagedContents {
  #database
  /**
   * Those that were brought here, by their hash: equal ones are staged once.
   *
   * @type {Map<string, number>}
   */
  #ids = new Map()

  /** @param {AccountDatabase} database */
  constructor(database) {
    this.#database = database
  }

  /**
   * No sync is asked for: the one after the rows is for these too.
   *
   * @param {readonly AppendedMessage[]} messages
   * @returns {Promise<{ messages: StagedMessage[], hashes: Uint8Array }>}
   */
  async stage(messages) {
    const nowMs = this.#database.clock.nowMs()
    for (let start = 0; start < messages.length; start += STAGE_PAGE) {
      const page = messages.slice(start, start + STAGE_PAGE).map(({ content }) => content)
      const ids = await this.#database.write((db) => stagePage(db, page, this.#ids, nowMs), {
        isDerived: true
      })
      for (const [key, id] of ids) this.#ids.set(key, id)
      await nextTurn()
    }
    const hashes = new Uint8Array(messages.length * HASH_BYTES)
    const staged = messages.map(({ content, ...message }, index) => {
      hashes.set(content.hash, index * HASH_BYTES)
      const contentId = content.contentId ?? /** @type {number} */ (this.#ids.get(keyOf(content)))
      return { ...message, size: content.size, contentId }
    })
    return { messages: staged, hashes }
  }

  /** Gives them up: nothing was appended. What cannot be left now, the sweep finds in an hour. */
  async leave() {
    const leave = (/** @type {readonly number[]} */ page) =>
      this.#database.write((db) => page.forEach((id) => leaveContent(db, id)), { isDerived: true })
    await inPages([...this.#ids.values()], { pageSize: LEAVE_PAGE }, leave)
  }
}

/** @param {StagedContent} content */
const keyOf = ({ hash }) => hash.toString('latin1')

/**
 * @param {Database} db
 * @param {readonly StagedContent[]} contents
 * @param {ReadonlyMap<string, number>} known - ids of those that were brought here before, by their hash
 * @param {number} nowMs
 * @returns {Map<string, number>} the same of these
 */
function stagePage(db, contents, known, nowMs) {
  /** @type {Map<string, number>} */
  const ids = new Map()
  for (const content of contents) {
    const { size, meta, chunks, chunkCount, chunkBytes } = content
    const key = keyOf(content)
    if (content.contentId === null && (known.has(key) || ids.has(key))) continue
    if (content.contentId !== null) touchStaged(db, { contentId: content.contentId, nowMs })
    const id =
      content.contentId ?? insertContent(db, { hash: null, size, chunkBytes, stagedAtMs: nowMs })
    insertChunks(db, id, chunkCount, chunks)
    writeMeta(db, id, meta)
    if (content.contentId === null) ids.set(key, id)
  }
  return ids
}

/**
 * @param {Database} db
 * @param {LongAppendRequest} request
 * @returns {LongAppendResult}
 * @throws {import('../errors.js').MailError} MAILBOX_NOT_FOUND, OVER_QUOTA, LIMIT, CANNOT
 */
export function appendStagedRows(db, { messages, hashes, ...request }) {
  const known = new KeywordTable()
  known.load(readKeywords(db))
  const appended = messages.map(({ size, contentId, ...message }, index) => {
    const hash = hashes.subarray(index * HASH_BYTES, (index + 1) * HASH_BYTES)
    const content = /** @type {StagedContent} */ (
      /** @type {unknown} */ ({ hash, size, contentId, chunks: [], chunkCount: 0 })
    )
    return { ...message, content }
  })
  const { mailboxId, uidValidity, uids, modSeq, rows } = appendRows(db, {
    ...request,
    messages: appended,
    keywords: known
  })
  return { mailboxId, uidValidity, uids, modSeq, rows, keywordRows: readKeywords(db) }
}

/**
 * @param {LongAppendResult} result - of a thread
 * @returns {AppendResult}
 */
export function fromThread({ keywordRows, ...result }) {
  const keywords = new KeywordTable()
  keywords.load(keywordRows)
  return { ...result, keywords, fresh: [] }
}
