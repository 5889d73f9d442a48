/**
 * Runs a search over one mailbox view: on the event loop while it is short, in a thread when it is long.
 *
 * It is short when the index has few rows for each key and few messages must be looked at. Then it is done in slices
 * within milliseconds. Otherwise the thread gets what the view has said, and does the rest with a connection of its own.
 */
import { knowsContents, learnContents } from './content-ids.js'
import { askIndex } from './index-answers.js'
import { planSearch, STAGE } from './plan.js'
import { Resolver } from './resolve.js'
import { TooLongHere } from './message-text.js'
import { packCandidates } from './scan-request.js'
import { Slicer } from '../../support/slicer.js'
import { NO } from './verdict-page.js'
import { compileViewKey } from './view-keys.js'

/** @typedef {import('../../imap/protocol/values/search-key.js').SearchKey} SearchKey */
/** @typedef {import('../../support/clock.js').Clock} Clock */
/** @typedef {import('../account-store.js').AccountStore} AccountStore */
/** @typedef {import('../mailbox-view.js').MailboxView} MailboxView */
/** @typedef {import('./plan.js').Plan} Plan */
/** @typedef {import('./resolve.js').Candidates} Candidates */
/** @typedef {import('./resolve.js').Sorted} Sorted */
/** @typedef {import('./view-keys.js').SelectedMessages} SelectedMessages */

/** Rows of the index for one key that are read on the event loop: about 8 ms. */
const INLINE_ROWS = 16_384

/** Reading those rows may take at most so many ms, as far as that can be told beforehand. */
const INLINE_MS = 8

/** Blocks of the index that are read on the event loop, for one search: some 30 µs each. */
const INLINE_BLOCKS = 512

/** Contents that the index names to one search on the event loop, for all of its keys: 8 MB. */
const INLINE_IDS = 1_000_000

/** Messages whose text is looked at on the event loop, 0.1 to 0.3 ms each; so few need no index either. */
const INLINE_TEXTS = 128

/**
 * A header of more bytes is decoded in a thread: one of nothing but short lines would take some milliseconds here. Hardly any
 * is as long, and those that are come from mailing lists and from gateways that sign what others have signed.
 */
const INLINE_HEADER_BYTES = 32 * 1024

/** A search by more keys than these is the thread's, unless the view alone answers it. */
const INLINE_LEAVES = 32

/** Matches of the thread that are taken between two looks at the clock. */
const STEP_MATCHES = 1024

/** Messages whose header is looked at on the event loop, some 20 µs each. */
const INLINE_HEADERS = 1024

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
 * Finds the messages that match, among those that the session's client knows (RFC 3501 §6.4.4, RFC 9051 §6.4.4). A
 * message that another session expunged meanwhile matches only by what the view alone tells.
 *
 * @param {SearchRequest} request
 * @returns {Promise<number[]>} slots of the view, ascending
 * @throws {import('../../errors.js').MailError} LIMIT or CANNOT for a key that is no search; what the store throws
 * @throws the signal's reason when it was aborted
 */
export async function searchMessages(request) {
  const plan = planSearch(request.key)
  request.signal?.throwIfAborted()
  if (request.selected.messageCount === 0) return []
  return inOrder(await new Search(request, plan).run())
}

/**
 * @param {number[]} slots - put in order, in which they mostly are
 * @returns {number[]}
 */
function inOrder(slots) {
  let last = -1
  for (const slot of slots) {
    if (slot < last) return slots.sort((left, right) => left - right)
    last = slot
  }
  return slots
}

/** One run of one search. */
class Search {
  #request
  #plan
  #slicer
  #nowSeconds
  #candidates
  /** Messages that are looked at here, not in the thread. */
  #maxLooks

  /**
   * @param {SearchRequest} request
   * @param {Plan} plan
   */
  constructor(request, plan) {
    this.#request = request
    this.#plan = plan
    this.#slicer = new Slicer(request.signal)
    this.#nowSeconds = Math.floor(request.clock.nowMs() / 1000)
    this.#candidates = slotsOf(request, plan)
    const { stage } = plan.root
    this.#maxLooks = stage === STAGE.TEXT ? INLINE_TEXTS : INLINE_HEADERS
    // Rows are narrow, and read in pages as fast as a thread would read them.
    if (stage <= STAGE.ROW) this.#maxLooks = Infinity
    if (plan.leaves.length > INLINE_LEAVES) this.#maxLooks = 0
  }

  /** @returns {Promise<number[]>} slots, in no order */
  async run() {
    return (await this.#runNarrowly()) ?? (await this.#runIndexed()) ?? (await this.#runInThread())
  }

  /**
   * Without the index, which may have thousands of rows for a search among three messages.
   *
   * @returns {Promise<number[] | null>} null when too many messages must be looked at
   */
  async #runNarrowly() {
    const hasViewKey = this.#plan.leaves.some(({ stage }) => stage === STAGE.VIEW)
    if (!hasViewKey && this.#request.selected.messageCount > this.#maxLooks) return null
    return await this.#finish(this.#resolver(null), this.#maxLooks)
  }

  /** @returns {Promise<number[] | null>} null when the index has too much to say, or leaves too much open */
  async #runIndexed() {
    if (this.#maxLooks === 0) return null
    const { database } = this.#request.store.searchAccess
    const breathe = () => this.#slicer.breathe()
    const asked = await askIndex(database, {
      plan: this.#plan,
      maxRows: INLINE_ROWS,
      maxMs: INLINE_MS,
      maxBlocks: INLINE_BLOCKS,
      maxIds: INLINE_IDS,
      breathe
    })
    if (!asked || asked.isCut) return null
    return await this.#finish(this.#resolver(asked.answers), this.#maxLooks)
  }

  /** @returns {Promise<number[]>} */
  async #runInThread() {
    const { store, view, key, signal } = this.#request
    const { matches, open } = /** @type {Sorted} */ (await this.#resolver(null).sort(Infinity))
    if (open.length === 0) return matches
    await store.searchAccess.indexer.want()
    const breathe = () => this.#slicer.breathe()
    const packed = await packCandidates(this.#plan, this.#candidates, open, breathe)
    const { mailboxId } = view
    const request = { mailboxId, key, nowSeconds: this.#nowSeconds, ...packed }
    for (const uids of await store.searchAccess.scanner.scan(request, signal)) {
      for (const uid of uids) {
        if (matches.length % STEP_MATCHES === 0) await breathe()
        matches.push(view.slotOf(uid))
      }
    }
    return matches
  }

  /**
   * @param {import('./index-answers.js').IndexAnswers | null} answers
   * @returns {Resolver}
   */
  #resolver(answers) {
    const { store, view } = this.#request
    return new Resolver({
      database: store.searchAccess.database,
      mailboxId: view.mailboxId,
      plan: this.#plan,
      candidates: this.#candidates,
      answers,
      nowSeconds: this.#nowSeconds,
      slicer: this.#slicer,
      maxHeaderBytes: INLINE_HEADER_BYTES,
      maxRemade: INLINE_TEXTS
    })
  }

  /**
   * @param {Resolver} resolver
   * @param {number} maxLooks
   * @returns {Promise<number[] | null>} slots; null when more messages must be looked at, or one that takes too long here
   */
  async #finish(resolver, maxLooks) {
    const sorted = await resolver.sort(maxLooks)
    if (!sorted || sorted.open.length === 0) return sorted && sorted.matches
    try {
      const { matches } = await resolver.resolve(sorted.open)
      return sorted.matches.concat(matches)
    } catch (error) {
      if (error instanceof TooLongHere) return null
      throw error
    }
  }
}

/**
 * @param {SearchRequest} request
 * @param {Plan} plan
 * @returns {Candidates} the messages that the client knows, by slot
 */
function slotsOf({ store, view, selected }, plan) {
  const findFlag = (/** @type {string} */ name) => store.findFlag(name)
  // One test for a key that occurs many times: the test for a set of UIDs may be as large as the mailbox.
  const known = new Map()
  const tests = plan.leaves.map(({ key, stage }) => {
    if (stage === STAGE.VIEW && !known.has(key))
      known.set(key, compileViewKey(key, { view, selected, findFlag }))
    return known.get(key) ?? null
  })
  const length = selected.slotOfSequence(selected.messageCount) + 1
  // With as many messages as slots up to the last one, the client knows the message of each slot.
  const isWhole = length === selected.messageCount
  const isKnown = (/** @type {number} */ slot) => isWhole || selected.sequenceOfSlot(slot) !== 0
  return {
    length,
    uidAt: (slot) => (isKnown(slot) ? /** @type {number} */ (view.uids[slot]) : 0),
    get knowsContents() {
      return knowsContents(view)
    },
    learnContents: (breathe) => learnContents(store.searchAccess.database, view, breathe),
    contentIdAt: (slot) => (view.isExpunged(slot) ? 0 : (view.contentIds[slot] ?? 0)),
    indexOf: (uid) => {
      const slot = view.slotOf(uid)
      return slot >= 0 && slot < length && isKnown(slot) ? slot : -1
    },
    viewVerdict: ({ index }, slot) => tests[index]?.test(slot) ?? false,
    fillVerdicts: ({ index }, first, target) => tests[index]?.fill(first, target),
    dropNone: (first, verdicts) => {
      if (isWhole) return
      for (let at = 0; at < verdicts.length; at++) if (!isKnown(first + at)) verdicts[at] = NO
    }
  }
}
