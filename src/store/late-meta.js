/**
 * What was made of single messages, on its way into the file. Its rows lie in tables of their own, five pages for each
 * message that is committed alone; written for many messages at once they cost a page and a half each. So they wait a
 * moment for company. Nothing is lost when they never get there: they are made of the content, and made again when they
 * are missing.
 *
 *     APPEND of a small message: content and narrow row ── commit ── sync ── OK ── add: at hand for a moment
 *     FETCH ENVELOPE: made of the content ── find or keep: read from here, until it is in the file
 */
import { metaBytes } from '../mime/message-meta.js'
import { forgetFresh, keepFresh, takeFresh } from './fresh-contents.js'
import { writeMeta, writeMetas } from './meta-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('../mime/message-meta.js').MessageMeta} MessageMeta
 *
 * @typedef {object} FreshContent - one that was not there before, of which nothing is written yet
 * @property {number} contentId
 * @property {import('./staged-content.js').StagedContent} content
 */

/** Messages of one transaction that are company enough for each other. */
const COMPANY = 4

/** At most so many messages wait for the next transaction to take them along; then they get one of their own: about 2 ms. */
const MAX_WAITING = 32

/** And at most so many bytes. */
const MAX_WAITING_BYTES = 512 * 1024

/** Without a transaction that takes them along they are written by themselves after this long, milliseconds. */
const WAIT_MS = 5000

/** The rows of one open mailbox that wait. */
export class LateMeta {
  #database
  /** @type {Map<number, MessageMeta>} */
  #waiting = new Map()
  #waitingBytes = 0
  #hasLeft = false
  /** @type {NodeJS.Timeout | null} */
  #timer = null

  /** @param {import('./account-database.js').AccountDatabase} database */
  constructor(database) {
    this.#database = database
  }

  /** @returns {boolean} whether no more should wait */
  get #isFull() {
    return this.#waiting.size >= MAX_WAITING || this.#waitingBytes >= MAX_WAITING_BYTES
  }

  /**
   * Writes what is to be written in the transaction that has brought these contents.
   *
   * @param {Database} db
   * @param {readonly FreshContent[]} fresh - that nobody has seen yet
   * @returns {readonly FreshContent[]} those for `add`, when the transaction is durable
   */
  writeWith(db, fresh) {
    if (this.#isFull) this.#writeWaiting(db)
    const made = fresh.filter(({ content }) => content.madeMeta !== null)
    if (made.length < COMPANY) return fresh
    for (const { contentId, content } of made) writeMeta(db, contentId, content.meta)
    return fresh.filter(({ content }) => content.madeMeta === null)
  }

  /**
   * Takes what was made of them on the way here. Of most nothing was: they are at hand for a moment.
   *
   * @param {readonly FreshContent[]} fresh - of `writeWith`
   */
  add(fresh) {
    // A transaction may become durable while the mailbox is being closed.
    if (this.#hasLeft) return
    for (const { contentId, content } of fresh) {
      if (content.madeMeta === null) keepFresh(this, contentId, content)
      else this.#wait(contentId, content.madeMeta)
    }
  }

  /**
   * Takes what was made because somebody asked for it. Of a store that may only read nothing is kept.
   *
   * @param {number} contentId
   * @param {MessageMeta} meta
   * @returns {Promise<void>} when there is room for the next
   * @throws {MailError} what a write may throw: it is made again then
   */
  async keep(contentId, meta) {
    if (this.#database.isReadOnly) return
    this.#wait(contentId, meta)
    if (!this.#isFull) return
    try {
      await this.flush()
    } finally {
      // A full disk is no reason to gather what is read of a whole mailbox.
      if (this.#isFull) this.#forget()
    }
  }

  /**
   * @param {number} contentId
   * @returns {MessageMeta | null} null: it is in the file, or must be made again
   */
  find(contentId) {
    const waiting = this.#waiting.get(contentId)
    if (waiting) return waiting
    const fresh = takeFresh(this, contentId)
    if (fresh === null) return null
    this.#wait(contentId, fresh.meta)
    return fresh.meta
  }

  /** Writes what waits. */
  async flush() {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
    if (this.#waiting.size === 0) return
    await this.#database.write((db) => this.#writeWaiting(db), { isDerived: true })
  }

  /** Writes what waits when the mailbox is closed; what a lock or a full disk keeps out is made again when it is missed. */
  async flushLast() {
    const written = this.flush()
    this.#database.supervise(written)
    await written.catch(() => {})
  }

  /** To be called when the mailbox is closed, after the last `flush`: nothing is at hand any more. */
  leave() {
    this.#hasLeft = true
    forgetFresh(this)
  }

  /**
   * @param {number} contentId
   * @param {MessageMeta} meta
   */
  #wait(contentId, meta) {
    if (!this.#waiting.has(contentId)) this.#waitingBytes += metaBytes(meta)
    this.#waiting.set(contentId, meta)
    this.#timer ??= setTimeout(() => this.#writeSoon(), WAIT_MS).unref()
  }

  #writeSoon() {
    // Rows that are not written are made again when they are missed.
    this.#database.supervise(this.flush())
  }

  /**
   * They are forgotten although the transaction may still fail: then they are made again.
   *
   * @param {Database} db
   */
  #writeWaiting(db) {
    writeMetas(db, this.#waiting)
    this.#forget()
  }

  #forget() {
    this.#waiting.clear()
    this.#waitingBytes = 0
  }
}
