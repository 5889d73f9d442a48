/**
 * What the search index says to the keys of one search.
 *
 * Exactness: the list of what is not indexed yet is read first, and for a content on it the index says nothing. Whatever
 * is indexed, deleted or appended afterwards changes no answer about any other content. An index that another version of the
 * code has made is not asked at all.
 */
import { isMailError } from '../../errors.js'
import { rowsWithTerm } from './field-rows.js'
import { foldCase } from './fold.js'
import { IdSet, intersect, NO_IDS, unite } from './id-list.js'
import { readIndexEpoch, readIndexState } from './index-rows.js'
import { INDEX_VERSION } from './index-text.js'
import { readMark, readPendingIds } from './pending-rows.js'
import { areWhole } from './segment-rows.js'
import { OvertakenError, TextIndex, TooMuchError } from './text-answers.js'
import { isAskable } from './tokens.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */
/** @typedef {import('./id-list.js').IdList} IdList */
/** @typedef {import('./index-text.js').Source} Source */
/** @typedef {import('./plan.js').LeafNode} LeafNode */
/** @typedef {import('./plan.js').Plan} Plan */
/** @typedef {import('./plan.js').PlanNode} PlanNode */
/** @typedef {import('./plan.js').Verdict} Verdict */

/**
 * @typedef {object} LeafAnswer
 * @property {IdList} possible - contents outside do not match
 * @property {IdList} certain - of these, those that match without a look at them
 */

/**
 * @typedef {object} IndexRequest
 * @property {Plan} plan
 * @property {number} maxRows - of the fields' index, for one leaf: a leaf that has more is not answered
 * @property {number} [maxMs] - for reading these, as far as it can be told beforehand; default: however long it takes
 * @property {number} maxBlocks - of the text's index, for all leaves: a leaf that needs more than are left is not answered
 * @property {number} maxIds - of contents, for all leaves: after so many no further leaf is asked
 * @property {() => Promise<void>} breathe - called between two reads
 * @property {import('./block-cache.js').BlockCache} [cache] - of the blocks that were read before
 */

/** The columns of `search_header` by field. */
const COLUMNS = new Map([
  ['subject', 'subject'],
  ['from', 'sender'],
  ['to', 'recipient'],
  ['cc', 'copy']
])

/** A field's name, RFC 5322 §2.2; others are looked for in the messages alone. */
const FIELD_NAME = /^[!-9;-~]+$/

/** Those that nearly every message has. */
const USUAL_FIELDS = new Set(
  'content-transfer-encoding content-type date delivered-to from message-id mime-version received return-path subject to'.split(
    ' '
  )
)

/** Longer terms are whole ids as a rule, or most of one: their runs are in few messages. */
const MAX_FRAGMENT_LENGTH = 15

/** The index is asked at most so many times, where it is merged while it is asked. */
const MAX_ATTEMPTS = 5

/** At most so many contents are looked at sooner than another term is asked for. */
const FEW_CONTENTS = 32

/** `isEnough` looks at what is left after each of the first so many answers, then each time there are twice as many. */
const FIRST_ANSWERS = 8

/** Contents on the list that are read at once: about 3 ms. */
const PENDING_PAGE = 16_384

/** The answers of the index to one search. */
export class IndexAnswers {
  #plan
  #pending
  /** @type {(LeafAnswer | undefined)[]} by leaf.index */
  #answers = []
  /** @type {({ possible: IdSet, certain: IdSet } | undefined)[]} by leaf.index, too */
  #sets = []
  #isPending
  #count = 0
  /** Ids of all answers. */
  #size = 0
  /** @type {IdList | null} what `#seen` answers leave */
  #possible = null
  #seen = 0

  /**
   * @param {Plan} plan
   * @param {IdList} pending - contents about which the index says nothing
   */
  constructor(plan, pending) {
    this.#plan = plan
    this.#pending = pending
    this.#isPending = new IdSet(pending)
  }

  /**
   * @returns {IdList | null} contents outside it certainly do not match; null when any content may
   */
  get possible() {
    const possible = this.#seePossible()
    return possible && unite(possible, this.#pending)
  }

  /** @returns {number} ids that are held */
  get size() {
    return this.#size
  }

  /**
   * @param {LeafNode} leaf
   * @param {LeafAnswer} answer
   */
  add(leaf, answer) {
    this.#answers[leaf.index] = answer
    const possible = new IdSet(answer.possible)
    const isCertain = answer.certain === answer.possible
    this.#sets[leaf.index] = {
      possible,
      certain: isCertain ? possible : new IdSet(answer.certain)
    }
    this.#size += answer.possible.length + (isCertain ? 0 : answer.certain.length)
    this.#count++
  }

  /** @returns {boolean} whether so little is left that the index need not be asked further */
  get isEnough() {
    // `#seePossible` goes through all answers: not after each of thousands.
    if (this.#count > FIRST_ANSWERS && this.#count < this.#seen * 2) return false
    const possible = this.#seePossible()
    return possible !== null && possible.length <= FEW_CONTENTS
  }

  /** @returns {IdList | null} what all answers leave but for the pending; null when anything may match */
  #seePossible() {
    if (this.#seen < this.#count) this.#possible = possibleOf(this.#plan.root, this.#answers)
    this.#seen = this.#count
    return this.#possible
  }

  /**
   * @param {LeafNode} leaf
   * @param {number} contentId - 0 when it is not known
   * @returns {Verdict} before the leaf's negation
   */
  verdict(leaf, contentId) {
    const answer = this.#sets[leaf.index]
    if (!answer || contentId === 0 || this.#isPending.has(contentId)) return undefined
    if (!answer.possible.has(contentId)) return false
    if (answer.certain.has(contentId)) return true
    return undefined
  }
}

/**
 * @param {Plan} plan
 * @returns {LeafNode[]} those that the index can answer, the ones likely to leave least first
 */
export function indexedLeaves({ leaves }) {
  const isIndexed = (/** @type {LeafNode} */ leaf) => {
    return isAskable(termOf(leaf)) || (columnOf(leaf) === undefined && nameTermOf(leaf) !== null)
  }
  // Folding hardly changes the length, and takes longer than the comparison.
  const lengthOf = (/** @type {LeafNode} */ { key }) => (isOfText(key) ? key.value.length : 0)
  return leaves.filter(isIndexed).sort((left, right) => lengthOf(right) - lengthOf(left))
}

/**
 * @param {LeafNode['key']} key
 * @returns {key is Extract<LeafNode['key'], { op: 'body' | 'text' | 'header' }>}
 */
const isOfText = (key) => key.op === 'body' || key.op === 'text' || key.op === 'header'

/**
 * @param {Pick<LeafNode, 'key'>} leaf
 * @returns {string} folded; empty where it asks for no text
 */
const termOf = ({ key }) => (isOfText(key) ? foldCase(key.value) : '')

/**
 * @param {Pick<LeafNode, 'key'>} leaf
 * @returns {string | null} a term that is in the header of each message with the field; null when it would tell nothing
 */
function nameTermOf({ key }) {
  if (key.op !== 'header') return null
  const name = key.field.toLowerCase()
  return FIELD_NAME.test(name) && !USUAL_FIELDS.has(name) ? `${name}: ` : null
}

/**
 * @param {Pick<LeafNode, 'key'>} leaf
 * @returns {string | undefined} the column of `search_header` that answers it
 */
const columnOf = ({ key }) =>
  key.op === 'header' ? COLUMNS.get(key.field.toLowerCase()) : undefined

/**
 * Asks the index, leaf by leaf, until little enough is left.
 *
 * @param {Source} database
 * @param {IndexRequest} request
 * @returns {Promise<{ answers: IndexAnswers, isCut: boolean } | null>} null when there is nothing to ask; `isCut`: a
 *   leaf had too many rows
 */
export async function askIndex(database, request) {
  try {
    return await ask(database, request)
  } catch (error) {
    // The mail itself may be sound, and is looked at instead; whoever keeps the file has been told of the damage.
    if (isMailError(error, 'ACCOUNT_DAMAGED')) return null
    throw error
  }
}

/**
 * @param {Source} database
 * @param {IndexRequest} request
 * @returns {Promise<{ answers: IndexAnswers, isCut: boolean } | null>}
 */
async function ask(database, request) {
  const leaves = indexedLeaves(request.plan)
  if (leaves.length === 0) return null
  const readState = () =>
    database.readSettled((db) => ({
      version: readIndexState(db).textVersion,
      epoch: readIndexEpoch(db)
    }))
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const { version, epoch } = await readState()
    if (version !== INDEX_VERSION) return null
    const asked = await askOnce(database, leaves, { ...request, epoch })
    if (asked) return asked
  }
  return null
}

/**
 * @param {Source} database
 * @param {readonly LeafNode[]} leaves - those that the index can answer
 * @param {IndexRequest & { epoch: number }} request - `epoch`: of `readIndexEpoch`, before
 * @returns {Promise<{ answers: IndexAnswers, isCut: boolean } | null>} null when the index has changed meanwhile, and what was
 *   found is worth nothing
 */
async function askOnce(database, leaves, request) {
  const { plan, maxBlocks, maxIds, breathe, cache, epoch } = request
  const answers = new IndexAnswers(plan, await readWholeList(database, breathe))
  const { index, rows } = await TextIndex.open(database, {
    maxBlocks,
    breathe,
    ...(cache && { cache })
  })
  let isCut = false
  try {
    for (const leaf of leaves) {
      if (answers.isEnough) break
      await breathe()
      const answer = await askLeaf(database, leaf, request, index)
      if (answer) answers.add(leaf, answer)
      else isCut = true
      if (answers.size > maxIds) {
        isCut = true
        break
      }
    }
  } catch (error) {
    // What was found so far comes from segments that have gone by now.
    if (error instanceof OvertakenError) return null
    throw error
  }
  // The index may have been begun anew meanwhile, by another program's version too, or segments may have been merged.
  const isSame = await database.readSettled(
    (db) =>
      readIndexState(db).textVersion === INDEX_VERSION &&
      readIndexEpoch(db) === epoch &&
      areWhole(db, rows)
  )
  return isSame ? { answers, isCut } : null
}

/**
 * @param {Source} database
 * @param {() => Promise<void>} breathe
 * @returns {Promise<IdList>}
 */
async function readWholeList(database, breathe) {
  /** @type {IdList[]} */
  const pages = []
  const mark = await database.readSettled(readMark)
  let after = 0
  for (let isMore = true; isMore;) {
    await breathe()
    const page = await database.readSettled((db) => readPendingIds(db, mark, after, PENDING_PAGE))
    pages.push(Float64Array.from(page))
    isMore = page.length === PENDING_PAGE
    after = page.at(-1) ?? after
  }
  return pages.reduce(unite, NO_IDS)
}

/**
 * @param {Source} database
 * @param {LeafNode} leaf - indexable
 * @param {Pick<IndexRequest, 'maxRows' | 'maxMs'>} limits
 * @param {TextIndex} index
 * @returns {Promise<LeafAnswer | null>} null when there is too much to read
 */
async function askLeaf(database, { key }, { maxRows, maxMs = Infinity }, index) {
  if (!isOfText(key)) return null
  const term = foldCase(key.value)
  const column = columnOf({ key })
  if (column !== undefined) {
    const found = await database.readSettled((db) =>
      rowsWithTerm(db, term, column, { maxRows, maxMs })
    )
    if (found === null || found.rows.length >= maxRows) return null
    const { rows, isExact } = found
    const possible = Float64Array.from(rows)
    return { possible, certain: isExact ? possible : NO_IDS }
  }
  try {
    return key.op === 'header' ? await askField({ key }, index) : await index.ask(term, key.op)
  } catch (error) {
    if (error instanceof TooMuchError) return null
    throw error
  }
}

/**
 * A field other than the four.
 *
 * @param {Pick<LeafNode, 'key'> & { key: { op: 'header' } }} leaf - indexable
 * @param {TextIndex} index
 * @returns {Promise<LeafAnswer>}
 * @throws {TooMuchError}
 */
async function askField(leaf, index) {
  const { field, value } = leaf.key
  const term = foldCase(value)
  const isId = field.toLowerCase() === 'message-id'
  if (isId && term.length <= MAX_FRAGMENT_LENGTH) return await index.askIds(term)
  const name = nameTermOf(leaf)
  // That both stand in the header says only that the value may be this field's.
  let possible = name === null ? null : (await index.ask(name, 'header')).possible
  if (isAskable(term) && (possible === null || possible.length > FEW_CONTENTS)) {
    const withValue = (await index.ask(term, 'header')).possible
    possible = possible === null ? withValue : intersect(possible, withValue)
  }
  if (isId && possible !== null && possible.length > FEW_CONTENTS) return await index.askIds(term)
  return { possible: possible ?? NO_IDS, certain: NO_IDS }
}

/**
 * @param {PlanNode} node
 * @param {(LeafAnswer | undefined)[]} answers
 * @returns {IdList | null} contents outside it make the node false; null when any content may make it true
 */
function possibleOf(node, answers) {
  if (node.kind === 'constant') return node.value ? null : NO_IDS
  if (node.kind === 'leaf') return node.isNegated ? null : (answers[node.index]?.possible ?? null)
  /** @type {IdList | null} */
  let possible = node.kind === 'or' ? NO_IDS : null
  for (const child of node.children) {
    const ids = possibleOf(child, answers)
    if (node.kind === 'or') {
      if (ids === null || possible === null) return null
      possible = unite(possible, ids)
    } else if (ids !== null) possible = possible === null ? ids : intersect(possible, ids)
  }
  return possible
}
