import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { LIMITS } from '../../../../src/imap/protocol/limits.js'
import { SequenceSet } from '../../../../src/imap/protocol/values/sequence-set.js'
import { evaluatePlan, judgedAtOnce, planSearch, STAGE } from '../../../../src/store/search/plan.js'
import { searchKey } from '../../../helpers/search-key.js'
import { searchTree } from '../../../helpers/search-tree.js'
import { isMailError } from '../../../../src/errors.js'

/** @typedef {import('../../../../src/imap/protocol/values/search-key.js').SearchKey} SearchKey */
/** @typedef {import('../../../../src/store/search/plan.js').PlanNode} PlanNode */

/**
 * @param {PlanNode} node
 * @returns {string}
 */
function drawn(node) {
  if (node.kind === 'constant') return String(node.value)
  if (node.kind === 'leaf') return `${node.isNegated ? '!' : ''}${node.key.op}`
  return `${node.kind}(${node.children.map(drawn).join(' ')})`
}

/** @type {SearchKey} */
const all = { op: 'all' }
/** @type {SearchKey} */
const recent = { op: 'recent' }
/** @type {SearchKey} */
const seen = { op: 'flag', flag: '\\Seen', isSet: true }
/** @type {SearchKey} */
const larger = { op: 'larger', size: 1 }
/** @type {SearchKey} */
const header = { op: 'header', field: 'subject', value: '' }
/** @type {SearchKey} */
const body = { op: 'body', value: 'x' }
/** @type {SearchKey} */
const empty = { op: 'text', value: '' }
const date = { year: 2020, month: 1, day: 1 }
/** @type {SearchKey} */
const sent = { op: 'date', which: 'sent', comparison: 'on', date }
/** @type {SearchKey} */
const saved = { op: 'date', which: 'saved', comparison: 'on', date }

/**
 * @param {SearchKey} key
 * @returns {SearchKey}
 */
const not = (key) => ({ op: 'not', key })

/**
 * @param {SearchKey[]} keys
 * @returns {SearchKey}
 */
const and = (...keys) => ({ op: 'and', keys })

/**
 * @param {SearchKey} left
 * @param {SearchKey} right
 * @returns {SearchKey}
 */
const or = (left, right) => ({ op: 'or', left, right })

/** @type {[string, SearchKey, string][]} */
const PLANS = [
  ['ALL is true', all, 'true'],
  ['NOT ALL is false', not(all), 'false'],
  ['cheap keys come first', and(body, header, larger, seen), 'and(flag larger header body)'],
  ['cheap branches come first', or(and(body, seen), larger), 'or(larger and(flag body))'],
  [
    'branches of one kind become one',
    and(seen, and(recent, and(larger))),
    'and(flag recent larger)'
  ],
  [
    'NOT goes down to the leaves',
    not(and(seen, or(body, not(larger)))),
    'or(!flag and(larger !body))'
  ],
  ['NOT NOT is nothing', not(not(seen)), 'flag'],
  ['equal keys are one', and(seen, larger, { ...seen }, not(not(larger))), 'and(flag larger)'],
  ['a key and its negation are two', or(body, not({ ...body })), 'or(body !body)'],
  ['a branch of equal keys is one of them', and(or(body, { ...body }), { ...body }), 'body'],
  ['OR with ALL is true', or(body, all), 'true'],
  ['AND with NOT ALL is false', and(body, not(all)), 'false'],
  ['AND with ALL is the rest', and(all, body), 'body'],
  ['the empty text is everywhere', and(empty, seen), 'flag'],
  ['NEW is RECENT and not SEEN', { op: 'new' }, 'and(recent flag)'],
  ['NOT NEW is OLD or SEEN', not({ op: 'new' }), 'or(!recent !flag)'],
  ['OLD is NOT RECENT', { op: 'old' }, '!recent'],
  ['NOT OLD is RECENT', not({ op: 'old' }), 'recent'],
  ['dates need the row', and(sent, saved), 'and(date date)']
]

for (const [name, key, plan] of PLANS) {
  test(name, () => assert.equal(drawn(planSearch(key).root), plan))
}

test('dates of arrival, saving and sending are answered by the row', () => {
  const stages = planSearch(and(sent, saved)).leaves.map(({ stage }) => stage)
  assert.deepEqual(stages, [STAGE.ROW, STAGE.ROW])
})

test('text is sought in the form in which it is compared, however it was typed', () => {
  const keys = ['SUBJECT', 'HEADER X-Note', 'BODY', 'TEXT'].map((name) => `${name} "Mu\u0308ller"`)
  const { leaves } = planSearch(searchKey(keys.join(' ')))
  assert.deepEqual(
    leaves.map(({ key }) => 'value' in key && key.value),
    Array(4).fill('M\u00fcller')
  )
})

test('a chain as deep as a command may have is planned', () => {
  const keys = Array.from({ length: LIMITS.searchDepth }, (_, nth) => `OR KEYWORD k${nth}`)
  const { leaves } = planSearch(searchKey(`${keys.join(' ')} SEEN`))
  assert.equal(leaves.length, LIMITS.searchDepth + 1)
})

test('a tree that is written over and over is asked once, in whatever order its keys stand', () => {
  const text = 'OR NOT SEEN DRAFT OR DRAFT NOT SEEN NOT (SEEN NOT DRAFT)'
  const { root, places } = planSearch(searchKey(Array.from({ length: 500 }, () => text).join(' ')))
  assert.equal(drawn(root), drawn(planSearch(searchKey('OR NOT SEEN DRAFT')).root))
  assert.equal(places, 2)
})

test('fewer messages are judged at once where few keys stand at many places', () => {
  const flags = ['SEEN', 'DRAFT', 'FLAGGED', 'DELETED', 'ANSWERED', 'KEYWORD a', 'KEYWORD b']
  const branches = flags.flatMap((one) =>
    flags.flatMap((two) => flags.map((three) => `OR ${one} (${two} NOT ${three})`))
  )
  const plan = planSearch(searchKey(branches.join(' ')))
  assert.ok(plan.leaves.length <= 14 && plan.places > 400, `${plan.places} places`)
  assert.equal(judgedAtOnce(plan, 4096), Math.floor((4096 * 64) / plan.places))
})

test('a chain that is nested too deep is refused with LIMIT', () => {
  /** @type {SearchKey} */
  let key = recent
  for (let depth = 0; depth < 100_000; depth++) key = not(key)
  assert.throws(
    () => planSearch(key),
    (error) => isMailError(error, 'LIMIT')
  )
})

test('any tree gives what its keys give, and never asks for more than it needs', () => {
  /** @type {SearchKey[]} */
  const leafKeys = [recent, seen, larger, header, body, sent]
  const tree = searchTree(fc.constantFrom(...leafKeys, ...leafKeys, all, empty), 5)
  const truths = fc.array(fc.boolean(), { minLength: leafKeys.length, maxLength: leafKeys.length })
  fc.assert(
    fc.property(tree, truths, (key, values) => {
      /** @type {Map<SearchKey, boolean>} */
      const truth = new Map(leafKeys.map((leaf, index) => [leaf, values[index] === true]))
      const { root } = planSearch(key)
      const expected = naive(key, truth)
      assert.equal(
        evaluatePlan(root, (leaf) => truth.get(leaf.key)),
        expected
      )
      // With the stages below any bound alone, the answer is the right one or none.
      for (const bound of Object.values(STAGE)) {
        const verdict = evaluatePlan(root, (leaf) =>
          leaf.stage <= bound ? truth.get(leaf.key) : undefined
        )
        assert.ok(verdict === undefined || verdict === expected)
      }
    }),
    { numRuns: 1000 }
  )
})

/**
 * @param {SearchKey} key
 * @param {Map<SearchKey, boolean>} truth
 * @returns {boolean}
 */
function naive(key, truth) {
  if (key.op === 'not') return !naive(key.key, truth)
  if (key.op === 'and') return key.keys.every((part) => naive(part, truth))
  if (key.op === 'or') return naive(key.left, truth) || naive(key.right, truth)
  return truth.get(key) ?? true
}

test('equal keys are one leaf wherever they stand, and long sets are equal if they are one object', () => {
  const set = new SequenceSet(
    Array.from({ length: 200 }, (_, nth) => ({ from: nth + 1, to: nth + 1 }))
  )
  const short = () => SequenceSet.parse('1:5,7')
  const key = or(
    and(body, { op: 'uid', set }, { op: 'uid', set: short() }),
    and({ ...body }, { op: 'uid', set }, { op: 'sequence', set: short() })
  )
  const { leaves } = planSearch(key)
  assert.deepEqual(
    leaves.map((leaf) => [leaf.index, leaf.key.op]),
    [
      [0, 'body'],
      [1, 'uid'],
      [2, 'uid'],
      [3, 'sequence']
    ]
  )
  const copy = new SequenceSet([...set.ranges])
  assert.equal(planSearch(and({ op: 'uid', set }, { op: 'uid', set: copy })).leaves.length, 2)
  // The thread makes the same plan of its copy of the key.
  assert.deepEqual(planSearch(structuredClone(key)).leaves.length, leaves.length)
})
