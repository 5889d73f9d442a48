/**
 * STOREs of one account that are about few messages. A client that has read a hundred messages says so with a hundred STOREs
 * at once.
 */
import { MailError } from '../errors.js'
import { changeFlagRows, hasChanged } from './flag-rows.js'
import { publishEach, runEach, WriteQueue } from './write-queue.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./flag-rows.js').FlagPage} FlagPage
 *
 * @typedef {Omit<import('./flag-rows.js').FlagPageRequest, 'keywords'> & { origin: unknown }} FlagPageChange - with what
 *   comes back in the change record
 */

/**
 * Messages in one transaction: 6 to 9 ms, one by one, where each stands on a page of its own. A request with no more is
 * done in the order in which it was asked for, beside others that are.
 */
export const FLAG_PAGE = 1000

/** The STOREs that wait. */
export class FlagQueue {
  #database
  #views
  #keywords
  /** @type {WriteQueue<FlagPageChange, FlagPage>} */
  #queue = new WriteQueue({
    sizeOf: ({ uids }) => uids.length,
    maxTogether: FLAG_PAGE,
    write: (requests) => this.#write(requests)
  })

  /**
   * @param {object} parts
   * @param {import('./account-database.js').AccountDatabase} parts.database
   * @param {import('./views.js').ViewKeeper} parts.views
   * @param {import('./account-keywords.js').AccountKeywords} parts.keywords
   */
  constructor({ database, views, keywords }) {
    this.#database = database
    this.#views = views
    this.#keywords = keywords
  }

  /**
   * Changes the flags of up to FLAG_PAGE messages, of all or of none.
   *
   * @param {FlagPageChange} change
   * @returns {Promise<FlagPage>} when it is durable and published
   * @throws {MailError} MAILBOX_NOT_FOUND, LIMIT, CANNOT, READ_ONLY, DISK_FULL, NOT_DURABLE
   */
  change(change) {
    return this.#queue.add(change)
  }

  /**
   * @param {readonly FlagPageChange[]} changes
   * @returns {Promise<(FlagPage | MailError)[]>}
   */
  #write(changes) {
    const { table } = this.#keywords
    return this.#database.write((db) => this.#changeAll(db, changes), {
      isChange: (outcomes) =>
        outcomes.some((outcome) => !(outcome instanceof MailError) && hasChanged(outcome, table)),
      onDurable: (outcomes) => this.#publish(changes, outcomes)
    })
  }

  /**
   * @param {Database} db
   * @param {readonly FlagPageChange[]} changes
   * @returns {(FlagPage | MailError)[]}
   */
  #changeAll(db, changes) {
    let keywords = this.#keywords.table
    return runEach(db, changes, (change) => {
      const page = changeFlagRows(db, { ...change, keywords })
      keywords = page.keywords
      return page
    })
  }

  /**
   * @param {readonly FlagPageChange[]} changes
   * @param {readonly (FlagPage | MailError)[]} outcomes
   * @returns {Promise<void> | void} a promise when a view must read first
   */
  #publish(changes, outcomes) {
    return publishEach(outcomes, ({ changedCount, modSeq, change, keywords }, index) => {
      this.#keywords.adopt(keywords)
      if (changedCount === 0) return
      const { mailboxId, origin } = /** @type {FlagPageChange} */ (changes[index])
      return this.#views.publish({ mailboxId, modSeq, origin, ...change })
    })
  }
}
