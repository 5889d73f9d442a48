/**
 * What the segments of the index say about a term: which contents may contain it, and which do for certain.
 *
 * A term that is one run lies within a run of any text that contains it: within a token as it stands, which is a certain
 * hit, or within a long run, whose trigrams then include those of the term. A term of several runs is a sequence, of which
 * all runs but the outermost stand in the text as they are; that its runs are there says that it may be.
 */
import { BlockCache } from './block-cache.js'
import { NO_IDS, unite } from './id-list.js'
import { rarestFirst } from './rarity.js'
import { intersectPostings, NO_POSTINGS, PostingUnion } from './posting-set.js'
import { TERM_CLASS, toBinary } from './segment-format.js'
import { SegmentReader } from './segment-reader.js'
import { areWhole, readSegments } from './segment-rows.js'
import { countPoints, gramsOf, isWhole, MAX_WORD_LENGTH, runsOf, SEPARATOR } from './tokens.js'

/**
 * @typedef {import('./id-list.js').IdList} IdList
 * @typedef {import('./index-text.js').Source} Source
 * @typedef {import('./posting-set.js').PostingList} PostingList
 * @typedef {import('./segment-rows.js').SegmentRow} SegmentRow
 * @typedef {import('./tokens.js').TermRun} TermRun
 *
 * @typedef {object} IndexOptions
 * @property {number} maxBlocks - read in all, of some 30 µs each
 * @property {() => Promise<void>} breathe - called between two reads
 * @property {BlockCache} [cache] - kept from one search to the next
 *
 * @typedef {object} TextAnswer
 * @property {IdList} possible - contents outside do not contain the term
 * @property {IdList} certain - of these, those that do without a look at them
 */

/** Which postings of a content count: the even one is its text, the odd one its own header. */
const SIDES = Object.freeze({ body: [true, false], text: [true, true], header: [false, true] })

/**
 * A term may have 64 KiB. What is asked for is chosen from at most so many of its runs, and from at most so many UTF-16 units
 * of a run: more takes milliseconds, and hardly selects better.
 */
const MAX_CHOICE = 1000

/** Runs of a sequence that are asked for. */
const MAX_RUNS = 16

/** Trigrams that are asked for: each costs a look at two blocks, and more select next to nothing more. */
const MAX_GRAMS = 5

/** Half a pair, where a text was cut. */
const CUT_PAIR = /[\ud800-\udbff]$/

/** An open run that is shorter is in nearly every text; asked for only when there is nothing else to ask. */
const MIN_TELLING_POINTS = 3

/** Thrown where more would have to be read than was allowed. */
export class TooMuchError extends Error {}

/** Thrown where segments were merged while they were asked. */
export class OvertakenError extends Error {}

/** The segments as they were at the beginning of a search. */
export class TextIndex {
  #rows
  #database
  #breathe
  #blocksLeft
  #cache

  /**
   * @param {Source} database
   * @param {SegmentRow[]} rows
   * @param {IndexOptions} options
   */
  constructor(database, rows, { maxBlocks, breathe, cache = new BlockCache() }) {
    this.#database = database
    this.#rows = rows
    this.#breathe = breathe
    this.#blocksLeft = maxBlocks
    this.#cache = cache
  }

  /**
   * @param {Source} database
   * @param {IndexOptions} options
   * @returns {Promise<{ index: TextIndex, rows: SegmentRow[] }>}
   */
  static async open(database, options) {
    const rows = await database.readSettled(readSegments)
    return { index: new TextIndex(database, rows, options), rows }
  }

  /**
   * @param {string} term - askable
   * @param {keyof typeof SIDES} side
   * @returns {Promise<TextAnswer>}
   * @throws {TooMuchError}
   */
  async ask(term, side) {
    const runs = runsOf(term)
    /** @type {IdList} */
    let possible = NO_IDS
    /** @type {IdList} */
    let certain = NO_IDS
    for (const row of this.#rows) {
      const reader = this.#readerOf(row)
      const [first] = runs
      const found =
        runs.length === 1 && first
          ? await askRun(reader, first)
          : { certain: NO_POSTINGS, others: await askSequence(reader, runs) }
      const hits = contentsOf(found.certain, row.base, SIDES[side])
      const others = contentsOf(found.others, row.base, SIDES[side])
      certain = unite(certain, hits)
      possible = unite(possible, unite(hits, others))
    }
    return { possible, certain: certain.length === possible.length ? possible : certain }
  }

  /**
   * Looks through the values of Message-ID themselves, of which hardly any two are alike: trigrams of them would be no
   * shorter.
   *
   * @param {string} term - askable
   * @returns {Promise<TextAnswer>} for that field
   * @throws {TooMuchError}
   */
  async askIds(term) {
    /** @type {IdList} */
    let certain = NO_IDS
    /** @type {IdList} */
    let others = NO_IDS
    const pattern = { text: toBinary(term), isOpenLeft: true, isOpenRight: true }
    for (const row of this.#rows) {
      const reader = this.#readerOf(row)
      const hits = await reader.find(TERM_CLASS.ID, pattern)
      const unknown = await reader.get(TERM_CLASS.ID, toBinary(SEPARATOR))
      certain = unite(certain, contentsOf(hits, row.base, SIDES.header))
      others = unite(others, contentsOf(unknown, row.base, SIDES.header))
    }
    return { possible: others.length === 0 ? certain : unite(certain, others), certain }
  }

  /**
   * @param {SegmentRow} row
   * @returns {SegmentReader}
   */
  #readerOf(row) {
    return new SegmentReader(row, { read: (key, work) => this.#read(key, work) })
  }

  /**
   * @param {number} rowId
   * @param {(db: import('better-sqlite3-multiple-ciphers').Database) => Buffer} work
   * @returns {Promise<Buffer>}
   */
  async #read(rowId, work) {
    const known = this.#cache.get(rowId)
    if (known) return known
    if (--this.#blocksLeft < 0) throw new TooMuchError()
    await this.#breathe()
    const block = await this.#database.readSettled((db) => {
      try {
        return work(db)
      } catch (error) {
        // Segments that were merged meanwhile are deleted: a missing block of theirs is no damage.
        if (areWhole(db, this.#rows)) throw error
        return null
      }
    })
    if (block === null) throw new OvertakenError()
    this.#cache.set(rowId, block)
    return block
  }
}

/**
 * @param {SegmentReader} reader
 * @param {TermRun} run
 * @returns {Promise<{ certain: PostingList, others: PostingList }>} `certain`: texts with a run that is the term's run, or has
 *   it as a piece where that is open; `others`: texts that may have such a run
 */
async function askRun(reader, { text, isOpenLeft, isOpenRight }) {
  const isOpen = isOpenLeft || isOpenRight
  const pattern = { text: toBinary(text), isOpenLeft, isOpenRight }
  const canBeWhole = text.length <= MAX_WORD_LENGTH && (isOpen || isWhole(text))
  const whole = canBeWhole ? await reader.find(TERM_CLASS.WHOLE, pattern) : NO_POSTINGS
  // A run that is whole and has nothing around it is in no long one.
  if (!isOpen && canBeWhole) return { certain: whole, others: NO_POSTINGS }
  const beginning = text.slice(0, MAX_CHOICE).replace(CUT_PAIR, '')
  const grams = rarestFirst([...gramsOf(beginning)]).slice(0, MAX_GRAMS)
  if (grams.length <= 1) {
    // Where a run has a trigram, its every piece of up to three letters is in one.
    const anywhere = { text: toBinary(text), isOpenLeft: true, isOpenRight: true }
    const [gram] = grams
    const inLong =
      gram === undefined
        ? await reader.find(TERM_CLASS.GRAM, anywhere)
        : await reader.get(TERM_CLASS.GRAM, toBinary(gram))
    const isExact = isOpenLeft && isOpenRight && countPoints(text) <= 3
    if (!isExact) return { certain: whole, others: inLong }
    return { certain: united(reader, whole, inLong), others: NO_POSTINGS }
  }
  /** @type {PostingList | null} */
  let inLong = null
  for (const gram of grams) {
    const list = await reader.get(TERM_CLASS.GRAM, toBinary(gram))
    inLong = inLong ? intersectPostings(inLong, list) : list
    if (inLong.length === 0) break
  }
  return { certain: whole, others: inLong ?? NO_POSTINGS }
}

/**
 * @param {SegmentReader} reader
 * @param {TermRun[]} runs - several
 * @returns {Promise<PostingList>} texts that have all of them
 */
async function askSequence(reader, runs) {
  /** @type {PostingList | null} */
  let possible = null
  for (const run of mostTelling(runs)) {
    if (possible !== null && tellingOf(run) < MIN_TELLING_POINTS) break
    const { certain, others } = await askRun(reader, run)
    const list = united(reader, certain, others)
    possible = possible ? intersectPostings(possible, list) : list
    if (possible.length === 0) break
  }
  return possible ?? NO_POSTINGS
}

/**
 * @param {TermRun[]} runs
 * @returns {TermRun[]} some of them, each once, the one that tells most first
 */
function mostTelling(runs) {
  /** @type {Map<string, TermRun>} */
  const distinct = new Map()
  for (const run of runs.slice(0, MAX_CHOICE)) {
    const { text, isOpenLeft, isOpenRight } = run
    distinct.set(`${Number(isOpenLeft)}${Number(isOpenRight)}${text}`, run)
  }
  const sorted = [...distinct.values()].sort((left, right) => tellingOf(right) - tellingOf(left))
  return sorted.slice(0, MAX_RUNS)
}

/**
 * @param {TermRun} run
 * @returns {number} how much it tells, about
 */
const tellingOf = ({ text, isOpenLeft, isOpenRight }) =>
  // A single space is in every text, as are the single letters that words begin and end with.
  text === ' ' ? 0 : text.length + (isOpenLeft || isOpenRight ? 0 : 2)

/**
 * @param {SegmentReader} reader
 * @param {PostingList} left
 * @param {PostingList} right
 * @returns {PostingList}
 */
function united(reader, left, right) {
  if (left.length === 0) return right
  if (right.length === 0) return left
  const union = new PostingUnion(reader.end)
  union.add(left)
  union.add(right)
  return union.toList()
}

/**
 * @param {PostingList} postings
 * @param {number} base
 * @param {readonly boolean[]} side - whether even and whether odd postings count
 * @returns {IdList}
 */
function contentsOf(postings, base, [isEven = false, isOdd = false]) {
  const ids = new Float64Array(postings.length)
  let count = 0
  let last = -1
  for (let at = 0; at < postings.length; at++) {
    const posting = /** @type {number} */ (postings[at])
    const content = posting >>> 1
    if (content === last || !((posting & 1) === 0 ? isEven : isOdd)) continue
    last = content
    ids[count++] = base + content
  }
  return ids.subarray(0, count)
}
