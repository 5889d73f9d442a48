/**
 * Decides a plan for messages that the view alone could not decide: by the index, then by their rows, headers and text,
 * each read only for those that are still open. The same on the event loop, in slices, and in a thread.
 *
 * Invariants: nothing is held but the answers of the index and one page of messages (500 rows, or 32 headers and contents of
 * a chunk at most, and the text of one part); the slicer is asked between any two reads.
 */
import { CandidateReader, unlessGone } from './candidate-reader.js'
import { placesOf } from './content-ids.js'
import { IdSet } from './id-list.js'
import { evaluatePlan, judgedAtOnce, STAGE } from './plan.js'
import { RANGE_PAGE, RangeSifter } from './range-sifter.js'
import { compileLeaf } from './leaf-test.js'
import { TextHits } from './match-text.js'
import { NO, OPEN, VerdictPage, YES } from './verdict-page.js'

/** @typedef {import('../read-messages.js').Source} Source */
/** @typedef {import('./candidate-reader.js').Candidate} Candidate */
/** @typedef {import('./index-answers.js').IndexAnswers} IndexAnswers */
/** @typedef {import('./plan.js').LeafNode} LeafNode */
/** @typedef {import('./plan.js').Plan} Plan */
/** @typedef {import('./plan.js').Verdict} Verdict */
/** @typedef {import('../../support/slicer.js').Slicer} Slicer */

/** Rows a page: readMessages takes no more. */
const ROW_PAGE = 500

/** Headers and small contents a page: 12 MiB at the very worst and 300 KiB as a rule. */
const HEADER_PAGE = 32

/** Candidates between two looks at the clock: some 50 µs of work. */
const STEP_CANDIDATES = 256

/** The same where they are judged many at once. */
const VIEW_PAGE = 4096

/** At most so many contents have their messages looked up, 10 µs each; with more, the content of every message is asked for. */
const FEW_PLACES = 256

/** Where the content of every message is known, so many are gone through, some 30 ns each, rather than one content looked up. */
const PLACES_DIVISOR = 256

/**
 * @typedef {object} Candidates - messages that may match, in the order of their UIDs
 * @property {number} length - indexes are below it; some may stand for no message
 * @property {(index: number) => number} uidAt - 0 for none
 * @property {(uid: number) => number} indexOf - -1 for none
 * @property {boolean} knowsContents - whether `contentIdAt` can be called now
 * @property {(breathe: () => Promise<void>) => Promise<void>} learnContents - makes `knowsContents` true
 * @property {(index: number) => number} contentIdAt - 0 for none, or a message that has gone
 * @property {(leaf: LeafNode, index: number) => boolean} viewVerdict - of a leaf of the view's stage
 * @property {(leaf: LeafNode, first: number, target: Uint8Array) => void} fillVerdicts - the same for the candidate `first`
 *   and those behind it, as YES and NO
 * @property {(first: number, verdicts: Uint8Array) => void} dropNone - makes the verdict NO where a number stands for none
 *
 * @typedef {object} Sorted - indexes of candidates, in no order
 * @property {number[]} matches
 * @property {number[]} open - to be looked at
 *
 * @typedef {object} Resolved - indexes of candidates, in no order
 * @property {number[]} matches
 * @property {number[]} rest - that were not looked at
 *
 * @typedef {object} ResolverOptions
 * @property {Source} database
 * @property {number} mailboxId
 * @property {Plan} plan
 * @property {Candidates} candidates
 * @property {IndexAnswers | null} answers - of the index
 * @property {number} nowSeconds - YOUNGER and OLDER count from it
 * @property {Slicer} slicer
 * @property {number} [maxHeaderBytes] - of a message's header, or one in it, that is decoded here
 * @property {number} [maxRemade] - messages in a row whose `message_meta` may be made anew here
 * @property {() => boolean} [mustPause] - whether others are to have their turn: asked when something has been decided,
 *   so that every turn gets on
 */

/** One plan over one set of candidates. */
export class Resolver {
  #database
  #mailboxId
  #plan
  #candidates
  #answers
  #slicer
  #ranges
  /** @type {((candidate: Candidate) => Verdict)[]} by leaf.index */
  #tests
  #hits
  #stages
  #reader
  #mustPause
  /** Candidates between two looks at the clock. */
  #step

  /** @param {ResolverOptions} options */
  constructor({
    database,
    mailboxId,
    plan,
    candidates,
    answers,
    nowSeconds,
    slicer,
    maxHeaderBytes = Infinity,
    maxRemade = Infinity,
    mustPause = () => false
  }) {
    this.#database = database
    this.#mailboxId = mailboxId
    this.#plan = plan
    this.#candidates = candidates
    this.#answers = answers
    this.#slicer = slicer
    this.#mustPause = mustPause
    this.#step = judgedAtOnce(plan, STEP_CANDIDATES)
    this.#ranges = new RangeSifter({
      database,
      mailboxId,
      plan,
      candidates,
      nowSeconds,
      maxRemade,
      knownVerdict: (leaf, index) => this.#knownVerdict(leaf, index),
      breathe: () => this.#breathe()
    })
    this.#stages = new Set(plan.leaves.map(({ stage }) => stage))
    this.#hits = new TextHits(plan.leaves)
    this.#reader = new CandidateReader({
      database,
      mailboxId,
      leaves: plan.leaves,
      uidAt: (index) => candidates.uidAt(index),
      pace: { breathe: this.#breathe, maxHeaderBytes }
    })
    const { viewVerdict } = candidates
    const known = { nowSeconds, viewVerdict, hits: this.#hits }
    this.#tests = plan.leaves.map((leaf) => compileLeaf(leaf, known))
  }

  /**
   * Decides what the view and the index can decide.
   *
   * @param {number} maxOpen - stops when more than this are open
   * @returns {Promise<Sorted | null>} null when too many are open
   */
  async sort(maxOpen) {
    const { root } = this.#plan
    /** @type {Sorted} */
    const result = { matches: [], open: [] }
    if (root.kind === 'constant' && !root.value) return result
    const take = (/** @type {number} */ index, contentId = 0) => {
      const verdict = this.#judge({ index, contentId, record: null, header: null }, STAGE.VIEW)
      if (verdict) result.matches.push(index)
      else if (verdict === undefined) result.open.push(index)
    }
    const possible = this.#answers?.possible ?? null
    if (possible !== null && this.#hasFewPlaces(possible.length)) {
      const places = await placesOf(this.#database, this.#mailboxId, possible, this.#breathe)
      for (const [at, { uid, contentId }] of places.entries()) {
        if (at % this.#step === 0) await this.#breathe()
        const index = this.#candidates.indexOf(uid)
        if (index >= 0) take(index, contentId)
      }
      return result.open.length > maxOpen ? null : result
    }
    if (this.#answers) await this.#candidates.learnContents(this.#breathe)
    if (possible === null) return await this.#sortAll(maxOpen)
    const set = new IdSet(possible)
    for (let index = 0; index < this.#candidates.length; index++) {
      if (index % this.#step === 0) await this.#breathe()
      if (result.open.length > maxOpen) return null
      const contentId = this.#candidates.contentIdAt(index)
      // Most are out at once. A message without a content has gone, and is judged by what the view tells.
      if (contentId !== 0 && !set.has(contentId)) continue
      if (this.#candidates.uidAt(index) !== 0) take(index, contentId)
    }
    return result.open.length > maxOpen ? null : result
  }

  /**
   * The same for all candidates, in order.
   *
   * @param {number} maxOpen
   * @returns {Promise<Sorted | null>}
   */
  async #sortAll(maxOpen) {
    const candidates = this.#candidates
    const size = judgedAtOnce(this.#plan, VIEW_PAGE)
    const page = new VerdictPage(this.#plan, size)
    /** @type {number[]} */
    const matches = []
    /** @type {number[]} */
    const open = []
    for (let first = 0; first < candidates.length; first += size) {
      await this.#breathe()
      const count = Math.min(size, candidates.length - first)
      const verdicts = page.judge(count, (leaf, target) => this.#fillKnown(leaf, first, target))
      candidates.dropNone(first, verdicts)
      for (let at = 0; at < count; at++) {
        const verdict = verdicts[at]
        if (verdict === YES) matches.push(first + at)
        else if (verdict === OPEN) open.push(first + at)
      }
      if (open.length > maxOpen) return null
    }
    return { matches, open }
  }

  /**
   * @param {LeafNode} leaf
   * @param {number} first - candidate
   * @param {Uint8Array} target - takes what view and index say about it and those behind it
   */
  #fillKnown(leaf, first, target) {
    if (leaf.stage === STAGE.VIEW) this.#candidates.fillVerdicts(leaf, first, target)
    else if (!this.#answers) target.fill(OPEN)
    else
      for (let at = 0; at < target.length; at++) target[at] = this.#knownVerdict(leaf, first + at)
  }

  /**
   * @param {LeafNode} leaf
   * @param {number} index - of a candidate whose content is known if the index was asked
   * @returns {number} what view and index say, before the leaf's negation
   */
  #knownVerdict(leaf, index) {
    if (leaf.stage === STAGE.VIEW) return this.#candidates.viewVerdict(leaf, index) ? YES : NO
    const verdict = this.#answers?.verdict(leaf, this.#candidates.contentIdAt(index))
    if (verdict === undefined) return OPEN
    return verdict ? YES : NO
  }

  /**
   * Decides the rest by what stands in the messages. A message that has gone meanwhile does not match.
   *
   * @param {number[]} open - of `sort`; put in order
   * @returns {Promise<Resolved>}
   * @throws {import('./message-text.js').TooLongHere}
   */
  async resolve(open) {
    /** @type {number[]} */
    const matches = []
    open.sort((left, right) => left - right)
    const isByRow = this.#stages.has(STAGE.ROW)
    const size = isByRow ? judgedAtOnce(this.#plan, RANGE_PAGE) : ROW_PAGE
    for (let start = 0; start < open.length; start += size) {
      const page = open.slice(start, start + size)
      const mayAskIndex = !this.#answers || this.#candidates.knowsContents
      const isRange = mayAskIndex && this.#ranges.isRange(page)
      const rest = isRange ? await this.#ranges.sift(page, matches) : page
      const left = await this.#resolveInPages(rest, matches, rest === page)
      if (left.length > 0 || this.#mustPause())
        return { matches, rest: [...left, ...open.slice(start + size)] }
    }
    return { matches, rest: [] }
  }

  /**
   * @param {number[]} open - in order
   * @param {number[]} matches - collects indexes
   * @param {boolean} needsRows - whether their rows were not looked at yet
   * @returns {Promise<number[]>} those that are left because of a pause, in order
   */
  async #resolveInPages(open, matches, needsRows) {
    for (let start = 0; start < open.length; start += ROW_PAGE) {
      const end = start + ROW_PAGE
      const page = open
        .slice(start, end)
        .map((index) => ({ index, contentId: 0, record: null, header: null }))
      const left = await this.#resolvePage(page, matches, needsRows)
      if (left.length > 0 || this.#mustPause())
        return [...left.map(({ index }) => index), ...open.slice(end)]
    }
    return []
  }

  #breathe = () => this.#slicer.breathe()

  /**
   * @param {number} contents - of which the messages are sought
   * @returns {boolean} whether it is cheaper to ask for them than to go through all candidates
   */
  #hasFewPlaces(contents) {
    const { length, knowsContents } = this.#candidates
    return contents <= FEW_PLACES && (!knowsContents || contents * PLACES_DIVISOR < length)
  }

  /**
   * @param {Candidate} candidate
   * @param {number} stage - what was read for it
   * @returns {Verdict}
   */
  #judge(candidate, stage) {
    const answers = this.#answers
    return evaluatePlan(this.#plan.root, (leaf) => {
      const indexed = answers?.verdict(leaf, candidate.contentId)
      if (indexed !== undefined) return indexed
      return leaf.stage <= stage ? this.#tests[leaf.index]?.(candidate) : undefined
    })
  }

  /**
   * @param {Candidate[]} page - up to ROW_PAGE
   * @param {number[]} matches - collects indexes
   * @param {boolean} needsRows - whether their rows were not looked at yet
   * @returns {Promise<Candidate[]>} those that are left because of a pause
   */
  async #resolvePage(page, matches, needsRows) {
    let open = page
    if (needsRows && this.#stages.has(STAGE.ROW)) {
      open = await this.#reader.readRows(page)
      open = await this.#sift(open, STAGE.ROW, matches)
    }
    for (let start = 0; start < open.length; start += HEADER_PAGE) {
      const end = start + HEADER_PAGE
      const left = await this.#resolveHeaders(open.slice(start, end), matches)
      if (left.length > 0 || this.#mustPause()) return [...left, ...open.slice(end)]
    }
    return []
  }

  /**
   * @param {Candidate[]} page - up to HEADER_PAGE
   * @param {number[]} matches - collects indexes
   * @returns {Promise<Candidate[]>} those that are left because of a pause
   */
  async #resolveHeaders(page, matches) {
    let open = page
    if (this.#stages.has(STAGE.HEADER)) {
      open = await this.#reader.readHeaders(page)
      open = await this.#sift(open, STAGE.HEADER, matches)
    }
    if (open.length === 0 || !this.#stages.has(STAGE.TEXT)) return []
    open = await this.#reader.readContents(open)
    for (const [at, candidate] of open.entries()) {
      if (await unlessGone(() => this.#resolveText(candidate))) matches.push(candidate.index)
      candidate.header = null
      candidate.record = null
      if (this.#mustPause()) return open.slice(at + 1)
    }
    return []
  }

  /**
   * Reads text only until the plan is decided.
   *
   * @param {Candidate} candidate - its record has the part tree
   * @returns {Promise<boolean>}
   */
  async #resolveText(candidate) {
    const { record } = candidate
    if (!record) return false
    this.#hits.reset()
    await this.#breathe()
    await this.#reader.loadHeader(candidate)
    if (candidate.header && this.#hits.wantsHeader && this.#hits.addHeader(candidate.header)) {
      const verdict = this.#judge(candidate, STAGE.TEXT)
      if (verdict !== undefined) return verdict
    }
    for await (const piece of this.#reader.textPieces(record)) {
      if (!this.#hits.addText(piece)) continue
      const verdict = this.#judge(candidate, STAGE.TEXT)
      if (verdict !== undefined) return verdict
    }
    this.#hits.complete()
    return this.#judge(candidate, STAGE.TEXT) === true
  }

  /**
   * @param {Candidate[]} candidates
   * @param {number} stage
   * @param {number[]} matches - collects indexes
   * @returns {Promise<Candidate[]>} those still open
   */
  async #sift(candidates, stage, matches) {
    const open = []
    for (const [at, candidate] of candidates.entries()) {
      // Fields are decoded when they are asked for.
      if (at % this.#step === 0 || stage === STAGE.HEADER) await this.#breathe()
      const verdict = this.#judge(candidate, stage)
      if (verdict) matches.push(candidate.index)
      else if (verdict === undefined) open.push(candidate)
    }
    return open
  }
}
