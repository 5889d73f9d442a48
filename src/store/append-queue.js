/**
 * Appends of one account.
 */
import { appendRows } from './append.js'
import { fromThread, isLongAppend, StagedContents } from './long-append.js'
import { publishEach, runEach, WriteQueue } from './write-queue.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('../errors.js').MailError} MailError
 * @typedef {import('./append.js').AppendResult} AppendResult
 * @typedef {import('./long-append.js').LongAppendResult} LongAppendResult
 *
 * @typedef {object} AppendRequest
 * @property {string} mailboxName
 * @property {readonly import('./append.js').AppendedMessage[]} messages
 * @property {import('./quota.js').Quota | null} quota - null: exempt
 * @property {unknown} origin - comes back in the change record
 *
 * @typedef {AppendResult | MailError} Outcome - of one request
 *
 * @typedef {object} Batch
 * @property {Outcome[]} outcomes - in the order of the requests
 * @property {readonly import('./late-meta.js').FreshContent[]} late
 */

/** Messages in one transaction with others: about 5 ms. */
const MAX_TOGETHER = 32

/** The appends that wait. */
export class AppendQueue {
  #database
  #views
  #keywords
  #lateMeta
  #threads
  /** @type {WriteQueue<AppendRequest, AppendResult>} */
  #queue = new WriteQueue({
    sizeOf: ({ messages }) => messages.length,
    maxTogether: MAX_TOGETHER,
    write: (requests) => this.#write(requests)
  })

  /**
   * @param {object} parts
   * @param {import('./account-database.js').AccountDatabase} parts.database
   * @param {import('./views.js').ViewKeeper} parts.views
   * @param {import('./account-keywords.js').AccountKeywords} parts.keywords
   * @param {import('./late-meta.js').LateMeta} parts.lateMeta
   * @param {import('./store-threads.js').StoreThreads} parts.threads
   */
  constructor({ database, views, keywords, lateMeta, threads }) {
    this.#database = database
    this.#views = views
    this.#keywords = keywords
    this.#lateMeta = lateMeta
    this.#threads = threads
  }

  /**
   * Adds the messages of one request, all or none.
   *
   * @param {AppendRequest} request
   * @returns {Promise<AppendResult>} when they are durable and published
   * @throws {MailError} MAILBOX_NOT_FOUND, OVER_QUOTA, LIMIT, CANNOT, READ_ONLY, DISK_FULL, NOT_DURABLE
   */
  append(request) {
    return this.#queue.add(request)
  }

  /**
   * @param {readonly AppendRequest[]} requests
   * @returns {Promise<Outcome[]>}
   */
  async #write(requests) {
    const [first, ...others] = requests
    if (first !== undefined && others.length === 0 && isLongAppend(first.messages))
      return [await this.#writeInThread(first)]
    const nowMs = this.#database.clock.nowMs()
    const { outcomes } = await this.#database.write((db) => this.#appendAll(db, requests, nowMs), {
      onDurable: ({ outcomes, late }) => {
        this.#lateMeta.add(late)
        return this.#publish(requests, outcomes)
      }
    })
    return outcomes
  }

  /**
   * @param {AppendRequest} request - alone: a long one always is, being more than go together
   * @returns {Promise<AppendResult>}
   */
  async #writeInThread(request) {
    const { mailboxName, messages, quota } = request
    const contents = new StagedContents(this.#database)
    try {
      const staged = await contents.stage(messages)
      const nowMs = this.#database.clock.nowMs()
      const written = await this.#threads.write(
        { kind: 'append', request: { mailboxName, ...staged, quota, nowMs } },
        (/** @type {LongAppendResult} */ result) => this.#publish([request], [fromThread(result)])
      )
      return fromThread(written)
    } catch (error) {
      await contents.leave().catch(() => {})
      throw error
    }
  }

  /**
   * @param {Database} db
   * @param {readonly AppendRequest[]} requests
   * @param {number} nowMs
   * @returns {Batch}
   */
  #appendAll(db, requests, nowMs) {
    let keywords = this.#keywords.table
    /** @type {import('./late-meta.js').FreshContent[]} */
    const fresh = []
    const outcomes = runEach(db, requests, (request) => {
      const outcome = appendRows(db, { ...request, keywords, nowMs })
      keywords = outcome.keywords
      fresh.push(...outcome.fresh)
      return outcome
    })
    return { outcomes, late: this.#lateMeta.writeWith(db, fresh) }
  }

  /**
   * @param {readonly AppendRequest[]} requests
   * @param {readonly Outcome[]} outcomes
   * @returns {Promise<void> | void} a promise when a view must read first
   */
  #publish(requests, outcomes) {
    return publishEach(outcomes, ({ mailboxId, modSeq, rows: appended, keywords }, index) => {
      this.#keywords.adopt(keywords)
      if (appended.length === 0) return
      const origin = requests[index]?.origin
      return this.#views.publish({ mailboxId, modSeq, appended, origin })
    })
  }
}
