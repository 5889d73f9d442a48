/**
 * Runs a search over one mailbox view.
 *
 * Invariants: what is held is one page of candidates at most (500 slots and rows, 32 headers, the text of one part);
 * no stretch of work is longer than a slice (slicer.js), single large parts excepted; the abort signal is looked at
 * between any two reads. A message that another session expunged meanwhile matches only by what the view alone tells.
 */
import { evaluatePlan, planSearch, STAGE } from './plan.js'
import { compileViewKey } from './view-keys.js'
import { compileDateTest, compileRowKey } from './row-keys.js'
import { compileHeaderKey, HeaderText, TextHits } from './match-text.js'
import { readHeaderBlock, readTextPieces } from './message-text.js'
import { Slicer } from './slicer.js'

/** @typedef {import('../../imap/protocol/values/search-key.js').SearchKey} SearchKey */
/** @typedef {import('../../support/clock.js').Clock} Clock */
/** @typedef {import('../account-store.js').AccountStore} AccountStore */
/** @typedef {import('../account-store.js').MessageRecord} MessageRecord */
/** @typedef {import('../mailbox-view.js').MailboxView} MailboxView */
/** @typedef {import('./plan.js').LeafNode} LeafNode */
/** @typedef {import('./plan.js').Verdict} Verdict */
/** @typedef {import('./view-keys.js').SelectedMessages} SelectedMessages */

/** Rows a page: readMessages takes no more. */
const ROW_PAGE = 500

/** Headers a page: at 256 KiB each at most, 8 MiB at the very worst and 100 KiB as a rule. */
const HEADER_PAGE = 32

/** Slots between two looks at the clock: some 20 µs of work. */
const SLOTS_A_STEP = 256

/**
 * @typedef {object} SearchRequest
 * @property {AccountStore} store
 * @property {MailboxView} view
 * @property {SelectedMessages} selected - what the searching session has told its client
 * @property {SearchKey} key
 * @property {Clock} clock - YOUNGER and OLDER count from its one "now"
 * @property {AbortSignal} [signal] - ends the search early
 */

/**
 * Finds the messages that match, among those that the session's client knows (RFC 3501 §6.4.4, RFC 9051 §6.4.4).
 *
 * @param {SearchRequest} request
 * @returns {Promise<number[]>} slots of the view, ascending
 * @throws {import('../../errors.js').MailError} LIMIT or CANNOT for a key that is no search; what the store throws
 * @throws the signal's reason when it was aborted
 */
export async function searchMessages(request) {
  return await new Search(request).run()
}

/**
 * @typedef {object} Candidate
 * @property {number} slot
 * @property {MessageRecord | null} record - null until the row is read
 * @property {HeaderText | null} header
 */

/** One run of one search. */
class Search {
  #request
  #slicer
  #plan
  /** @type {((candidate: Candidate) => Verdict)[]} by leaf.index */
  #tests
  #hits
  #stages
  /** What header and text stage read of each message. */
  #needs

  /** @param {SearchRequest} request */
  constructor(request) {
    this.#request = request
    this.#slicer = new Slicer(request.signal)
    this.#plan = planSearch(request.key)
    this.#stages = new Set(this.#plan.leaves.map(({ stage }) => stage))
    this.#hits = new TextHits(this.#plan.leaves)
    const operations = new Set(this.#plan.leaves.map(({ key }) => key.op))
    this.#needs = {
      row: true,
      header: operations.has('header') || operations.has('text'),
      search: operations.has('date')
    }
    const nowSeconds = Math.floor(request.clock.nowMs() / 1000)
    this.#tests = this.#plan.leaves.map((leaf) => this.#compileLeaf(leaf, nowSeconds))
  }

  /** @returns {Promise<number[]>} */
  async run() {
    const { selected } = this.#request
    const { root } = this.#plan
    /** @type {number[]} */
    const matches = []
    if (selected.messageCount === 0 || (root.kind === 'constant' && !root.value)) return matches
    const lastSlot = selected.slotOfSequence(selected.messageCount)
    /** @type {Candidate[]} */
    let undecided = []
    for (let slot = 0; slot <= lastSlot; slot++) {
      if (slot % SLOTS_A_STEP === 0) await this.#slicer.breathe()
      if (selected.sequenceOfSlot(slot) === 0) continue
      const candidate = { slot, record: null, header: null }
      const verdict = this.#judge(candidate, STAGE.VIEW)
      if (verdict) matches.push(slot)
      else if (verdict === undefined) undecided.push(candidate)
      if (undecided.length === ROW_PAGE) {
        await this.#resolve(undecided, matches)
        undecided = []
      }
    }
    await this.#resolve(undecided, matches)
    return matches.sort((left, right) => left - right)
  }

  /**
   * @param {LeafNode} leaf
   * @param {number} nowSeconds
   * @returns {(candidate: Candidate) => Verdict}
   */
  #compileLeaf(leaf, nowSeconds) {
    const { key, stage } = leaf
    const { view, selected, store } = this.#request
    if (stage === STAGE.VIEW) {
      const findFlag = (/** @type {string} */ name) => store.findFlag(name)
      const test = compileViewKey(key, { view, selected, findFlag })
      return ({ slot }) => test(slot)
    }
    if (stage === STAGE.ROW) {
      const test = compileRowKey(key, nowSeconds)
      return ({ record }) => (record ? test(record) : undefined)
    }
    if (key.op === 'date') {
      const test = compileDateTest(key)
      return ({ record }) => Boolean(record?.sentDate && test(record.sentDate))
    }
    if (key.op === 'header') {
      const test = compileHeaderKey(key)
      return ({ header }) => (header ? test(header) : undefined)
    }
    return () => this.#hits.verdict(leaf)
  }

  /**
   * @param {Candidate} candidate
   * @param {number} stage - what was read for it
   * @returns {Verdict}
   */
  #judge(candidate, stage) {
    return evaluatePlan(this.#plan.root, (leaf) =>
      leaf.stage <= stage ? this.#tests[leaf.index]?.(candidate) : undefined
    )
  }

  /**
   * Takes candidates that the view could not decide through the further stages.
   *
   * @param {Candidate[]} page - up to ROW_PAGE
   * @param {number[]} matches - collects slots
   */
  async #resolve(page, matches) {
    const undecided = this.#stages.has(STAGE.ROW) ? await this.#resolveRows(page, matches) : page
    for (let start = 0; start < undecided.length; start += HEADER_PAGE) {
      await this.#resolveHeaders(undecided.slice(start, start + HEADER_PAGE), matches)
    }
  }

  /**
   * @param {Candidate[]} page
   * @param {number[]} matches - collects slots
   * @returns {Promise<Candidate[]>} those still open
   */
  async #resolveRows(page, matches) {
    const present = await this.#read(page, { row: true })
    return this.#sift(present, STAGE.ROW, matches)
  }

  /**
   * @param {Candidate[]} page - up to HEADER_PAGE
   * @param {number[]} matches - collects slots
   */
  async #resolveHeaders(page, matches) {
    let open = page
    if (this.#stages.has(STAGE.HEADER)) {
      open = await this.#read(open, this.#needs)
      for (const candidate of open) await this.#loadHeader(candidate)
      open = this.#sift(open, STAGE.HEADER, matches)
    }
    if (open.length === 0 || !this.#stages.has(STAGE.TEXT)) return
    open = await this.#read(open, { ...this.#needs, partTree: true })
    for (const candidate of open) {
      if (await this.#resolveText(candidate)) matches.push(candidate.slot)
      candidate.header = null
    }
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
    await this.#loadHeader(candidate)
    if (candidate.header && this.#hits.wantsHeader && this.#hits.addHeader(candidate.header)) {
      const verdict = this.#judge(candidate, STAGE.TEXT)
      if (verdict !== undefined) return verdict
    }
    for await (const text of readTextPieces(this.#request.store, record)) {
      await this.#slicer.breathe()
      if (!this.#hits.addText(text)) continue
      const verdict = this.#judge(candidate, STAGE.TEXT)
      if (verdict !== undefined) return verdict
    }
    this.#hits.complete()
    return this.#judge(candidate, STAGE.TEXT) === true
  }

  /**
   * @param {Candidate[]} candidates
   * @param {number} stage
   * @param {number[]} matches - collects slots
   * @returns {Candidate[]} those still open
   */
  #sift(candidates, stage, matches) {
    return candidates.filter((candidate) => {
      const verdict = this.#judge(candidate, stage)
      if (verdict) matches.push(candidate.slot)
      return verdict === undefined
    })
  }

  /**
   * @param {Candidate[]} page
   * @param {import('../account-store.js').MessageNeeds} needs
   * @returns {Promise<Candidate[]>} those whose message is still there, with their records
   */
  async #read(page, needs) {
    if (page.length === 0) return page
    await this.#slicer.breathe()
    const { store, view } = this.#request
    const uidOf = (/** @type {Candidate} */ { slot }) => /** @type {number} */ (view.uids[slot])
    const records = await store.readMessages(view.mailboxId, page.map(uidOf), needs)
    const byUid = new Map(records.map((record) => [record.uid, record]))
    return page.filter((candidate) => {
      candidate.record = byUid.get(uidOf(candidate)) ?? null
      return candidate.record !== null
    })
  }

  /** @param {Candidate} candidate - its record has the header block, or says that it is too large to keep */
  async #loadHeader(candidate) {
    if (!this.#needs.header || candidate.header || !candidate.record) return
    await this.#slicer.breathe()
    const block = await readHeaderBlock(this.#request.store, candidate.record)
    candidate.header = new HeaderText(block)
  }
}
