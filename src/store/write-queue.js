/**
 * Requests of one account that write, in the order in which they are asked for. Those that are there at once, or come while
 * others are on their way to the disk, go together in one transaction: pages that all of them touch are written once, and one
 * sync is for all.
 *
 *     a, b ── commit ── sync ──► a and b are told
 *           c, d, e wait ─────── commit of c, d and e ── sync ──► c, d and e are told
 */
import { MailError } from '../errors.js'
import { runNested } from '../database/transaction.js'
import { forgetReservedIds } from './reserved-ids.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/**
 * @template Request, Result
 * @typedef {object} Waiter
 * @property {Request} request
 * @property {(result: Result) => void} resolve
 * @property {(error: unknown) => void} reject
 */

/**
 * The requests that wait.
 *
 * @template Request, Result
 */
export class WriteQueue {
  #sizeOf
  #maxTogether
  #write
  /** @type {Waiter<Request, Result>[]} */
  #waiting = []
  #isRunning = false

  /**
   * @param {object} options
   * @param {(request: Request) => number} options.sizeOf - how many messages it is about
   * @param {number} options.maxTogether - messages in one transaction; a request with more has one for itself
   * @param {(requests: readonly Request[]) => Promise<readonly (Result | MailError)[]>} options.write - gives the outcome of
   *   each, in their order, once it is durable and published; throws where all of them have failed
   */
  constructor({ sizeOf, maxTogether, write }) {
    this.#sizeOf = sizeOf
    this.#maxTogether = maxTogether
    this.#write = write
  }

  /**
   * @param {Request} request
   * @returns {Promise<Result>} when it is durable and published
   * @throws {MailError} what refuses it, or ends the transaction that it is in
   */
  add(request) {
    const result = /** @type {Promise<Result>} */ (
      new Promise((resolve, reject) => this.#waiting.push({ request, resolve, reject }))
    )
    if (!this.#isRunning) {
      this.#isRunning = true
      // The same packet may have brought others.
      setImmediate(() => this.#run())
    }
    return result
  }

  async #run() {
    while (this.#waiting.length > 0) {
      const waiters = this.#takeBatch()
      try {
        const outcomes = await this.#write(waiters.map(({ request }) => request))
        waiters.forEach(({ resolve, reject }, index) => {
          const outcome = /** @type {Result | MailError} */ (outcomes[index])
          if (outcome instanceof MailError) reject(outcome)
          else resolve(outcome)
        })
      } catch (error) {
        for (const { reject } of waiters) reject(error)
      }
    }
    this.#isRunning = false
  }

  /** @returns {Waiter<Request, Result>[]} at least one */
  #takeBatch() {
    let size = 0
    let count = 0
    for (const { request } of this.#waiting) {
      size += this.#sizeOf(request)
      if (count > 0 && size > this.#maxTogether) break
      count++
    }
    return this.#waiting.splice(0, count)
  }
}

/**
 * Does what each request asks for, in the transaction of the caller. One that is refused leaves no trace, and the others
 * stay; alone, it fails with its transaction.
 *
 * @template Request, Result
 * @param {Database} db
 * @param {readonly Request[]} requests
 * @param {(request: Request) => Result} work
 * @returns {(Result | MailError)[]} in the order of the requests
 * @throws {MailError} when there is one request, and it is refused
 */
export function runEach(db, requests, work) {
  if (requests.length === 1) return requests.map(work)
  return requests.map((request) => {
    try {
      return runNested(db, () => work(request))
    } catch (error) {
      forgetReservedIds(db)
      if (error instanceof MailError) return error
      throw error
    }
  })
}

/**
 * Tells of what has become durable, but for the requests that were refused.
 *
 * @template Result
 * @param {readonly (Result | MailError)[]} outcomes
 * @param {(result: Result, index: number) => Promise<void> | void} publish - a promise when a view must read first
 * @returns {Promise<void> | void} the same
 */
export function publishEach(outcomes, publish) {
  const published = []
  for (const [index, outcome] of outcomes.entries()) {
    const told = outcome instanceof MailError ? undefined : publish(outcome, index)
    if (told) published.push(told)
  }
  if (published.length > 0) return Promise.all(published).then(() => {})
}
