/**
 * From a search key to a plan: a tree in which negation stands at the leaves alone, each leaf says what must be read
 * to answer it, and cheap branches stand before dear ones. Nothing is read here.
 *
 * Semantics: RFC 3501 §6.4.4, RFC 9051 §6.4.4, RFC 5032 §2 (YOUNGER, OLDER), RFC 7162 §3.1.5 (MODSEQ),
 * RFC 8514 §4.3 (SAVEDBEFORE, SAVEDON, SAVEDSINCE).
 */
import { MailError } from '../../errors.js'
import { composed } from '../../support/composed.js'
import { columnOf } from './row-keys.js'

/** @typedef {import('../../imap/protocol/values/search-key.js').SearchKey} SearchKey */
/** @typedef {import('../sort/sort-columns.js').ColumnKey} ColumnKey */

/**
 * What must be at hand to decide a leaf, cheapest first: the view in memory, the message's row and its sending date, its
 * header, its decoded text.
 */
export const STAGE = Object.freeze({ VIEW: 0, ROW: 1, HEADER: 2, TEXT: 3 })

/** Leaves of a search as people make it, at most. */
const USUAL_LEAVES = 64

/** No command makes a deeper tree, since it has at most 1,000 levels; the bound keeps walks over a plan within the stack. */
const MAX_DEPTH = 1100

/**
 * @typedef {object} LeafNode
 * @property {'leaf'} kind
 * @property {number} stage - one of STAGE
 * @property {SearchKey} key
 * @property {boolean} isNegated
 * @property {number} index - its place among the plan's leaves
 */
/** @typedef {{ kind: 'constant', stage: 0, value: boolean }} ConstantNode */
/** @typedef {{ kind: 'and' | 'or', stage: number, children: PlanNode[] }} BranchNode */
/** @typedef {LeafNode | ConstantNode | BranchNode} PlanNode */

/**
 * @typedef {object} Plan
 * @property {PlanNode} root
 * @property {LeafNode[]} leaves - every leaf of the tree, which may stand in it at several places
 * @property {number} places - where leaves stand in the tree: at most so many are decided for a message
 */

/** @type {Record<string, number>} */
const STAGE_OF_OPERATION = {
  flag: STAGE.VIEW,
  recent: STAGE.VIEW,
  sequence: STAGE.VIEW,
  uid: STAGE.VIEW,
  modseq: STAGE.VIEW,
  larger: STAGE.ROW,
  smaller: STAGE.ROW,
  date: STAGE.ROW,
  younger: STAGE.ROW,
  older: STAGE.ROW,
  header: STAGE.HEADER,
  body: STAGE.TEXT,
  text: STAGE.TEXT
}

/** A longer set is compared as an object: what `$` stands for may have a range for each message. */
const MAX_COMPARED_RANGES = 100

/** @type {ReadonlySet<ColumnKey>} */
const NO_COLUMNS = new Set()

/**
 * @param {SearchKey} key
 * @param {ReadonlySet<ColumnKey>} [kept] - columns of numbers that the view has for every message: their keys are of its stage
 * @returns {Plan} equal keys are one leaf, and equal trees of them one branch
 * @throws {MailError} LIMIT when the tree is nested too deeply, CANNOT for a key that nothing here can answer
 */
export function planSearch(key, kept = NO_COLUMNS) {
  const leaves = new Leaves(kept)
  const built = buildNode(key, { isNegated: false, depth: 0, leaves })
  const root = inOrder(built, new Branches())
  return { root, leaves: leaves.list, places: placesIn(root) }
}

/**
 * @param {PlanNode} node
 * @returns {number}
 */
function placesIn(node) {
  if (!('children' in node)) return 1
  return node.children.reduce((sum, child) => sum + placesIn(child), 0)
}

/**
 * Once for the whole tree: sorted while it is built, a chain of a thousand ORs would be sorted a thousand times.
 *
 * @param {PlanNode} node
 * @param {Branches} branches
 * @returns {PlanNode} the same, cheap branches first, and each leaf or branch of a branch once
 */
function inOrder(node, branches) {
  if (node.kind === 'constant' || node.kind === 'leaf') return node
  const children = [...new Set(node.children.map((child) => inOrder(child, branches)))]
  const [only] = children
  if (only && children.length === 1) return only
  return branches.of(node, children)
}

/** The branches of one plan: a client may write the same tree thousands of times. */
class Branches {
  /** @type {Map<PlanNode, number>} */
  #numbers = new Map()
  /** @type {Map<string, BranchNode>} */
  #known = new Map()

  /**
   * @param {BranchNode} node
   * @param {PlanNode[]} children - what it has now, each once
   * @returns {BranchNode} with cheap children first; the same for the same children in any order
   */
  of(node, children) {
    const numbers = Uint32Array.from(children, (child) => this.#numberOf(child)).sort()
    const name = `${node.kind} ${numbers.join()}`
    const known = this.#known.get(name)
    if (known) return known
    const branch = { ...node, children: children.sort((left, right) => left.stage - right.stage) }
    this.#known.set(name, branch)
    return branch
  }

  /**
   * @param {PlanNode} node
   * @returns {number}
   */
  #numberOf(node) {
    const number = this.#numbers.get(node) ?? this.#numbers.size
    this.#numbers.set(node, number)
    return number
  }
}

/** The leaves of one plan: a client may write the same key thousands of times. */
class Leaves {
  /** @type {LeafNode[]} */
  list = []
  /** @type {Map<string, LeafNode>} */
  #known = new Map()
  /** @type {Map<object, number>} */
  #longSets = new Map()
  #kept

  /** @param {ReadonlySet<ColumnKey>} kept */
  constructor(kept) {
    this.#kept = kept
  }

  /**
   * @param {SearchKey} key
   * @param {boolean} isNegated
   * @returns {LeafNode}
   */
  of(key, isNegated) {
    const name = `${isNegated} ${this.#nameOf(key)}`
    const known = this.#known.get(name)
    if (known) return known
    /** @type {LeafNode} */
    const node = {
      kind: 'leaf',
      stage: stageOf(key, this.#kept),
      key,
      isNegated,
      index: this.list.length
    }
    this.#known.set(name, node)
    this.list.push(node)
    return node
  }

  /**
   * @param {SearchKey} key
   * @returns {string} the same for equal keys alone
   */
  #nameOf(key) {
    if (!('set' in key) || key.set.ranges.length <= MAX_COMPARED_RANGES) return JSON.stringify(key)
    const number = this.#longSets.get(key.set) ?? this.#longSets.size
    this.#longSets.set(key.set, number)
    return `${key.op} ${number}`
  }
}

/**
 * @typedef {object} BuildState
 * @property {boolean} isNegated - whether an odd number of NOTs stands above
 * @property {number} depth
 * @property {Leaves} leaves - collects
 */

/**
 * @param {SearchKey} key
 * @param {BuildState} state
 * @returns {PlanNode}
 */
function buildNode(key, state) {
  const { isNegated } = state
  const below = { ...state, depth: state.depth + 1 }
  if (below.depth > MAX_DEPTH)
    throw new MailError('LIMIT', { detail: 'search key nested too deep' })
  switch (key.op) {
    case 'all':
      return constant(!isNegated)
    case 'not':
      return buildNode(key.key, { ...below, isNegated: !isNegated })
    case 'and':
      return buildBranch('and', key.keys, below)
    case 'or':
      return buildBranch('or', [key.left, key.right], below)
    case 'new':
      return buildBranch('and', NEW, below)
    case 'old':
      return buildNode({ op: 'recent' }, { ...below, isNegated: !isNegated })
    case 'body':
    case 'text':
      // The empty string is a substring of every text.
      return key.value === '' ? constant(!isNegated) : state.leaves.of(inNfc(key), isNegated)
    case 'header':
      return state.leaves.of(inNfc(key), isNegated)
    default:
      return state.leaves.of(key, isNegated)
  }
}

/**
 * Text is compared in Unicode's form NFC: Apple's programs write `ü` as two characters, and nobody sees which.
 *
 * @template {{ value: string }} K
 * @param {K} key
 * @returns {K}
 */
function inNfc(key) {
  const value = composed(key.value)
  return value === key.value ? key : { ...key, value }
}

/**
 * RFC 3501 §6.4.4: "functionally equivalent to (RECENT UNSEEN)".
 *
 * @type {SearchKey[]}
 */
const NEW = [{ op: 'recent' }, { op: 'flag', flag: '\\Seen', isSet: false }]

/**
 * A negated branch is the other branch over the negated keys.
 *
 * @param {'and' | 'or'} kind
 * @param {SearchKey[]} keys
 * @param {BuildState} state
 * @returns {PlanNode}
 */
function buildBranch(kind, keys, state) {
  const effective = state.isNegated === (kind === 'or') ? 'and' : 'or'
  /** @type {PlanNode[]} */
  const children = []
  // In an `and`, true adds nothing and false decides; in an `or` the other way round.
  const neutral = effective === 'and'
  for (const key of keys) {
    const node = buildNode(key, state)
    if (node.kind === effective) children.push(...node.children)
    else if (node.kind !== 'constant') children.push(node)
    else if (node.value !== neutral) return node
  }
  const [only] = children
  if (!only) return constant(neutral)
  if (children.length === 1) return only
  const stage = children.reduce((highest, child) => Math.max(highest, child.stage), 0)
  return { kind: effective, stage, children }
}

/**
 * @param {SearchKey} key
 * @param {ReadonlySet<ColumnKey>} kept
 * @returns {number}
 */
function stageOf(key, kept) {
  const stage = STAGE_OF_OPERATION[key.op]
  const column = columnOf(key)
  if (column !== null && kept.has(column)) return STAGE.VIEW
  if (stage === undefined) throw new MailError('CANNOT', { detail: `search key ${key.op}` })
  return stage
}

/**
 * @param {boolean} value
 * @returns {ConstantNode}
 */
function constant(value) {
  return { kind: 'constant', stage: 0, value }
}

/**
 * A command has room for ten thousand keys, all of which are compared for each message, and for some of them at thousands
 * of places.
 *
 * @param {Plan} plan
 * @param {number} count - messages that are judged between two looks at the clock by a search of usual size
 * @returns {number} how many are judged by this one, at least 1
 */
export const judgedAtOnce = ({ leaves, places }, count) =>
  Math.max(1, Math.floor((count * USUAL_LEAVES) / Math.max(USUAL_LEAVES, leaves.length, places)))

/** @typedef {true | false | undefined} Verdict - undefined: not to be told with what is at hand */

/**
 * Evaluates a plan with what is known so far (three-valued logic), asking for each leaf as seldom as possible.
 *
 * @param {PlanNode} node
 * @param {(leaf: LeafNode) => Verdict} decide - the leaf's answer before its negation
 * @returns {Verdict}
 */
export function evaluatePlan(node, decide) {
  if (node.kind === 'constant') return node.value
  if (node.kind === 'leaf') {
    const answer = decide(node)
    return answer === undefined ? undefined : answer !== node.isNegated
  }
  const decisive = node.kind === 'or'
  /** @type {Verdict} */
  let verdict = !decisive
  for (const child of node.children) {
    const answer = evaluatePlan(child, decide)
    if (answer === decisive) return decisive
    if (answer === undefined) verdict = undefined
  }
  return verdict
}
