/**
 * Decides keys about dates, sizes or ages for candidates in a row: SQLite compares them as one range of rows, which costs a
 * fraction of reading each of them.
 */
import { TooLongHere } from './message-text.js'
import { STAGE } from './plan.js'
import { compileRowCondition, readMatchingUids } from './row-ranges.js'
import { NO, OPEN, VerdictPage, YES } from './verdict-page.js'

/** @typedef {import('./plan.js').LeafNode} LeafNode */
/** @typedef {import('./resolve.js').Candidates} Candidates */

/** Rows that SQLite compares in one read: about 2 ms. */
export const RANGE_PAGE = 4096

/** Fewer candidates are read sooner one by one. */
const MIN_RANGE = 16

/** With more keys about rows, each row is read once, instead of the range once for each key. */
const MAX_ROW_LEAVES = 4

/** A range may hold at most so many UIDs for each candidate. */
const RANGE_FACTOR = 4

/**
 * @typedef {object} RangeSifterOptions
 * @property {import('../read-messages.js').Source} database
 * @property {number} mailboxId
 * @property {import('./plan.js').Plan} plan
 * @property {Candidates} candidates
 * @property {number} nowSeconds - YOUNGER and OLDER count from it
 * @property {number} maxRemade - messages of a page whose `message_meta` may be made anew here
 * @property {(leaf: LeafNode, index: number) => number} knownVerdict - what view and index say of a candidate
 * @property {() => Promise<void>} breathe
 */

/** The leaves of a plan that rows decide, over ranges of rows. */
export class RangeSifter {
  #options
  #rowLeaves

  /** @param {RangeSifterOptions} options */
  constructor(options) {
    this.#options = options
    this.#rowLeaves = options.plan.leaves.filter(({ stage }) => stage === STAGE.ROW)
  }

  /**
   * @param {number[]} page - candidates, ascending
   * @returns {boolean} whether their rows are best looked at as one range
   */
  isRange(page) {
    const count = this.#rowLeaves.length
    if (count === 0 || count > MAX_ROW_LEAVES || page.length < MIN_RANGE) return false
    const { firstUid, lastUid } = this.#rangeOf(page)
    return lastUid - firstUid < page.length * RANGE_FACTOR
  }

  /**
   * Decides by the rows of a range, where a message that has gone passes no test.
   *
   * @param {number[]} page - up to RANGE_PAGE candidates, ascending
   * @param {number[]} matches - collects indexes
   * @returns {Promise<number[]>} those still open; the same array where `message_meta` must be made anew first
   * @throws {TooLongHere}
   */
  async sift(page, matches) {
    const { database, mailboxId, plan, nowSeconds, maxRemade, knownVerdict, breathe } =
      this.#options
    const range = this.#rangeOf(page)
    /** @type {Map<LeafNode, number[]>} */
    const passed = new Map()
    for (const leaf of this.#rowLeaves) {
      const { isNegated } = leaf
      const test = { ...compileRowCondition(leaf.key, nowSeconds), isNegated }
      await breathe()
      const { uids, staleCount } = await database.readSettled((db) =>
        readMatchingUids(db, mailboxId, range, test)
      )
      if (staleCount > maxRemade) throw new TooLongHere()
      if (staleCount > 0) return page
      passed.set(leaf, uids)
    }
    const verdicts = new VerdictPage(plan, page.length).judge(page.length, (leaf, target) => {
      const uids = passed.get(leaf)
      if (uids) this.#markPassed(page, uids, leaf.isNegated, target)
      else for (const [at, index] of page.entries()) target[at] = knownVerdict(leaf, index)
    })
    for (const [at, index] of page.entries()) if (verdicts[at] === YES) matches.push(index)
    return page.filter((_, at) => verdicts[at] === OPEN)
  }

  /**
   * @param {number[]} page
   * @returns {{ firstUid: number, lastUid: number }}
   */
  #rangeOf(page) {
    const { candidates } = this.#options
    const uidAt = (/** @type {number | undefined} */ index) => candidates.uidAt(index ?? 0)
    return { firstUid: uidAt(page[0]), lastUid: uidAt(page.at(-1)) }
  }

  /**
   * @param {number[]} page - candidates, ascending
   * @param {number[]} uids - of those for which a leaf holds with its negation, ascending
   * @param {boolean} isNegated
   * @param {Uint8Array} target - takes the verdicts before the negation
   */
  #markPassed(page, uids, isNegated, target) {
    const { candidates } = this.#options
    let next = 0
    for (const [at, index] of page.entries()) {
      const uid = candidates.uidAt(index)
      while (next < uids.length && /** @type {number} */ (uids[next]) < uid) next++
      target[at] = (uids[next] === uid) !== isNegated ? YES : NO
    }
  }
}
