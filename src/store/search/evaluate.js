/**
 * Runs a search over one mailbox view: on the event loop while it is short, in a thread when it is long.
 *
 * It is short when the index has few rows for each key and few messages must be looked at. Then it is done in slices
 * within milliseconds. Otherwise the thread gets what the view has said, and does the rest with a connection of its own.
 */
import { knowsContents, learnContents } from './content-ids.js'
import { askIndex } from './index-answers.js'
import { completeColumns } from './kept-values.js'
import { chooseListed } from './listed-header.js'
import { planSearch, STAGE } from './plan.js'
import { Resolver } from './resolve.js'
import { TooLongHere } from './message-text.js'
import { columnOf } from './row-keys.js'
import { packCandidates } from './scan-request.js'
import { Slicer } from '../../support/slicer.js'
import { NO } from './verdict-page.js'
import { compileViewKey } from './view-keys.js'

/** @typedef {import('../../imap/protocol/values/search-key.js').SearchKey} SearchKey */
/** @typedef {import('../../support/clock.js').Clock} Clock */
/** @typedef {import('../account-store.js').AccountStore} AccountStore */
/** @typedef {import('../mailbox-view.js').MailboxView} MailboxView */
/** @typedef {import('./index-answers.js').IndexAnswers} IndexAnswers */
/** @typedef {import('./plan.js').ColumnKey} ColumnKey */
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

/** Messages whose text is looked at on the event loop. */
const INLINE_TEXTS = 128

/** How long it takes to look at the listed fields of a message, and at its header or text, about, ms. */
const LISTED_MS = 0.01
const TEXT_MS = 0.15

/** Where looking at all messages takes no longer, ms, the index is not asked: it takes as long. */
const SHORT_MS = 0.5

/**
 * A header of more bytes is decoded in a thread: one of nothing but short lines would take some milliseconds here. Hardly any
 * is as long, and those that are come from mailing lists and from gateways that sign what others have signed.
 */
const INLINE_HEADER_BYTES = 32 * 1024

/** A search by more keys than these is the thread's, unless the view alone answers it. */
const INLINE_LEAVES = 32

/** Matches of the thread that are taken between two looks at the clock. */
const STEP_MATCHES = 1024

/** Messages whose header is looked at on the event loop. */
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
  const search = new Search(request)
  request.signal?.throwIfAborted()
  if (request.selected.messageCount === 0) return []
  return inOrder(await search.run())
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
  /** How long a look at one takes, about. */
  #lookMs
  /** @type {ReadonlySet<ColumnKey>} of what the view keeps, those that the plan goes by */
  #kept = new Set()

  /** @param {SearchRequest} request */
  constructor(request) {
    this.#request = request
    this.#slicer = new Slicer(request.signal)
    this.#nowSeconds = Math.floor(request.clock.nowMs() / 1000)
    this.#plan = planSearch(request.key)
    this.#candidates = this.#findCandidates()
    const { leaves, root } = this.#plan
    this.#maxLooks = root.stage === STAGE.TEXT ? INLINE_TEXTS : INLINE_HEADERS
    this.#lookMs = root.stage === STAGE.TEXT || !chooseListed(leaves) ? TEXT_MS : LISTED_MS
    if (root.stage <= STAGE.ROW) {
      // Rows are narrow, and read in pages as fast as a thread would read them.
      this.#maxLooks = Infinity
      this.#lookMs = 0
    }
    if (leaves.length > INLINE_LEAVES) this.#maxLooks = 0
  }

  /** @returns {Promise<number[]>} slots, in no order */
  async run() {
    await this.#useKept(false)
    let byView = await this.#sortByView()
    const { messageCount } = this.#request.selected
    const isByRow = this.#plan.root.stage === STAGE.ROW
    if (byView && isByRow && byView.open.length * 2 > messageCount) {
      // To read a column takes little longer than to compare all rows once.
      await this.#useKept(true)
      byView = await this.#sortByView()
    }
    const looks = byView ? byView.open.length : Infinity
    const answers = looks * this.#lookMs > SHORT_MS ? await this.#askIndex(looks) : null
    const resolver = this.#resolver(answers)
    const sorted = answers ? await resolver.sort(this.#maxLooks) : byView
    return (sorted && (await this.#look(resolver, sorted))) ?? (await this.#runInThread())
  }

  /**
   * Plans anew with the dates and sizes that the view keeps.
   *
   * @param {boolean} mayRead - whether all messages may be read for it
   */
  async #useKept(mayRead) {
    const { store, view, key } = this.#request
    const wanted = new Set(this.#plan.leaves.flatMap((leaf) => columnOf(leaf.key) ?? []))
    if (wanted.size === 0) return
    const { length } = this.#candidates
    const bounds = { length, mayRead }
    this.#kept = await completeColumns({ store, view }, wanted, bounds, this.#slicer)
    if (this.#kept.size === 0) return
    this.#plan = planSearch(key, this.#kept)
    this.#candidates = this.#findCandidates()
  }

  /** @returns {Promise<Sorted | null>} null when the view leaves too many messages open to be looked at here */
  async #sortByView() {
    const hasViewKey = this.#plan.leaves.some(({ stage }) => stage === STAGE.VIEW)
    if (!hasViewKey && this.#request.selected.messageCount > this.#maxLooks) return null
    return await this.#resolver(null).sort(this.#maxLooks)
  }

  /**
   * @param {number} looks - messages that must be looked at without the index
   * @returns {Promise<IndexAnswers | null>} null when it has more to say than is read here, or than is read in the time of
   *   those looks: a mailbox of thirty messages may be one of an account with a hundred thousand
   */
  async #askIndex(looks) {
    if (this.#maxLooks === 0) return null
    const { database } = this.#request.store.searchAccess
    const breathe = () => this.#slicer.breathe()
    const share = Math.min(1, (looks * this.#lookMs) / INLINE_MS)
    const asked = await askIndex(database, {
      plan: this.#plan,
      maxRows: Math.ceil(INLINE_ROWS * share),
      maxMs: INLINE_MS * share,
      maxBlocks: Math.ceil(INLINE_BLOCKS * share),
      maxIds: INLINE_IDS,
      breathe
    })
    return asked && !asked.isCut ? asked.answers : null
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
    const planned = { mailboxId, key, nowSeconds: this.#nowSeconds, kept: this.#kept }
    const request = { ...planned, ...packed }
    for (const uids of await store.searchAccess.scanner.scan(request, signal)) {
      for (const uid of uids) {
        if (matches.length % STEP_MATCHES === 0) await breathe()
        matches.push(view.slotOf(uid))
      }
    }
    return matches
  }

  /**
   * @param {IndexAnswers | null} answers
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
   * @param {Sorted} sorted - by it
   * @returns {Promise<number[] | null>} slots; null when a message takes too long here
   */
  async #look(resolver, { matches, open }) {
    if (open.length === 0) return matches
    try {
      const { matches: found } = await resolver.resolve(open)
      return matches.concat(found)
    } catch (error) {
      if (error instanceof TooLongHere) return null
      throw error
    }
  }

  /** @returns {Candidates} the messages that the client knows, by slot */
  #findCandidates() {
    return slotsOf(this.#request, this.#plan, this.#kept, this.#nowSeconds)
  }
}

/**
 * @param {SearchRequest} request
 * @param {Plan} plan
 * @param {ReadonlySet<ColumnKey>} kept - columns that it goes by
 * @param {number} nowSeconds
 * @returns {Candidates} the messages that the client knows, by slot
 */
function slotsOf({ store, view, selected }, plan, kept, nowSeconds) {
  const findFlag = (/** @type {string} */ name) => store.findFlag(name)
  // One test for a key that occurs many times: the test for a set of UIDs may be as large as the mailbox.
  const known = new Map()
  const tests = plan.leaves.map(({ key, stage }) => {
    if (stage === STAGE.VIEW && !known.has(key))
      known.set(key, compileViewKey(key, { view, selected, findFlag, nowSeconds }))
    return known.get(key) ?? null
  })
  const length = selected.slotOfSequence(selected.messageCount) + 1
  // A message that another session has expunged may have gone before its values were read.
  const mayLack = kept.size > 0 && view.hasTombstones
  const columns = [...kept]
  const isKept = (/** @type {number} */ slot) =>
    columns.every((column) => view.sortColumns.get(column)?.[slot])
  // With as many messages as slots up to the last one, the client knows the message of each slot.
  const isWhole = length === selected.messageCount && !mayLack
  const isKnown = (/** @type {number} */ slot) =>
    isWhole || (selected.sequenceOfSlot(slot) !== 0 && (!mayLack || isKept(slot)))
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
