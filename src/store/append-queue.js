/**
 * Appends of one account, in the order in which they are asked for. Those that come while one is on its way to the disk
 * go together in one transaction: pages that all of them touch are written once, and one sync is for all.
 *
 *     a ── commit ── sync ──► a is told
 *        b, c, d wait ─────── commit of b, c and d ── sync ──► b, c and d are told
 */
import { MailError } from '../errors.js'
import { runNested } from '../database/transaction.js'
import { appendRows } from './append.js'
import { fromThread, isLongAppend, StagedContents } from './long-append.js'
import { forgetReservedIds } from './reserved-ids.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./append.js').AppendResult} AppendResult
 * @typedef {import('./long-append.js').LongAppendResult} LongAppendResult
 *
 * @typedef {object} AppendRequest
 * @property {string} mailboxName
 * @property {readonly import('./append.js').AppendedMessage[]} messages
 * @property {import('./quota.js').Quota | null} quota - null: exempt
 * @property {unknown} origin - comes back in the change record
 *
 * @typedef {object} Waiter
 * @property {AppendRequest} request
 * @property {(result: AppendResult) => void} resolve
 * @property {(error: unknown) => void} reject
 *
 * @typedef {AppendResult | MailError} Outcome - of one request
 *
 * @typedef {object} Batch
 * @property {Outcome[]} outcomes - in the order of the requests
 * @property {readonly import('./late-meta.js').FreshContent[]} late
 */

/** Messages in one transaction with others: about 5 ms. A request with more has one for itself. */
const MAX_TOGETHER = 32

/** The appends that wait. */
export class AppendQueue {
  #database
  #views
  #keywords
  #lateMeta
  #threads
  /** @type {Waiter[]} */
  #waiting = []
  #isRunning = false

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
    const result = /** @type {Promise<AppendResult>} */ (
      new Promise((resolve, reject) => this.#waiting.push({ request, resolve, reject }))
    )
    if (!this.#isRunning) this.#run()
    return result
  }

  async #run() {
    this.#isRunning = true
    while (this.#waiting.length > 0) {
      const waiters = this.#takeBatch()
      try {
        const requests = waiters.map(({ request }) => request)
        const [first, ...others] = requests
        const isLong = first !== undefined && others.length === 0 && isLongAppend(first.messages)
        const outcomes = isLong
          ? [await this.#writeInThread(first)]
          : (await this.#write(requests)).outcomes
        waiters.forEach(({ resolve, reject }, index) => {
          const outcome = /** @type {Outcome} */ (outcomes[index])
          if (outcome instanceof MailError) reject(outcome)
          else resolve(outcome)
        })
      } catch (error) {
        for (const { reject } of waiters) reject(error)
      }
    }
    this.#isRunning = false
  }

  /** @returns {Waiter[]} at least one */
  #takeBatch() {
    let messages = 0
    let count = 0
    for (const { request } of this.#waiting) {
      messages += request.messages.length
      if (count > 0 && messages > MAX_TOGETHER) break
      count++
    }
    return this.#waiting.splice(0, count)
  }

  /**
   * @param {readonly AppendRequest[]} requests
   * @returns {Promise<Batch>}
   */
  #write(requests) {
    const nowMs = this.#database.clock.nowMs()
    return this.#database.write((db) => this.#appendAll(db, requests, nowMs), {
      onDurable: ({ outcomes, late }) => {
        this.#lateMeta.add(late)
        return this.#publish(requests, outcomes)
      }
    })
  }

  /**
   * @param {AppendRequest} request - alone: a long one always is, being more than go together
   * @returns {Promise<AppendResult>}
   */
  async #writeInThread(request) {
    const { mailboxName, messages, quota } = request
    this.#database.requireWritable()
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
    const outcomes = requests.map((request) => {
      const append = () => appendRows(db, { ...request, keywords, nowMs })
      // Alone, it fails with its transaction.
      const outcome = requests.length === 1 ? append() : refusable(db, append)
      if (!(outcome instanceof MailError)) {
        keywords = outcome.keywords
        fresh.push(...outcome.fresh)
      }
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
    const published = []
    for (const [index, outcome] of outcomes.entries()) {
      if (outcome instanceof MailError) continue
      const { mailboxId, modSeq, rows: appended, keywords } = outcome
      this.#keywords.adopt(keywords)
      if (appended.length === 0) continue
      const origin = requests[index]?.origin
      const told = this.#views.publish({ mailboxId, modSeq, appended, origin })
      if (told) published.push(told)
    }
    if (published.length > 0) return Promise.all(published).then(() => {})
  }
}

/**
 * @template T
 * @param {Database} db
 * @param {() => T} work - undone when it throws
 * @returns {T | MailError} the reason why this request is refused, whatever becomes of the others
 */
function refusable(db, work) {
  try {
    return runNested(db, work)
  } catch (error) {
    forgetReservedIds(db)
    if (error instanceof MailError) return error
    throw error
  }
}
