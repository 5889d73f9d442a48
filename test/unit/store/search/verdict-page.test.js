import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { evaluatePlan, planSearch } from '../../../../src/store/search/plan.js'
import { NO, OPEN, VerdictPage, YES } from '../../../../src/store/search/verdict-page.js'
import { searchTree } from '../../../helpers/search-tree.js'

/** @typedef {import('../../../../src/imap/protocol/values/search-key.js').SearchKey} SearchKey */

/** @type {SearchKey[]} */
const LEAVES = [
  { op: 'recent' },
  { op: 'flag', flag: '\\Seen', isSet: true },
  { op: 'larger', size: 1 },
  { op: 'header', field: 'subject', value: '' },
  { op: 'body', value: 'x' }
]

/** @type {import('fast-check').Arbitrary<SearchKey>} */
const leafKey = fc.constantFrom(...LEAVES, /** @type {SearchKey} */ ({ op: 'all' }))

const MESSAGES = 20

test('a page of messages gets the verdicts that each of them would get by itself, page after page', () => {
  const verdict = fc.constantFrom(NO, OPEN, YES)
  const column = fc.array(verdict, { minLength: MESSAGES, maxLength: MESSAGES })
  const columns = fc.array(column, { minLength: LEAVES.length, maxLength: LEAVES.length })
  const pages = fc.array(fc.tuple(columns, fc.integer({ min: 1, max: MESSAGES })), {
    minLength: 1,
    maxLength: 3
  })
  fc.assert(
    fc.property(searchTree(leafKey, 5), pages, (key, parts) => {
      const plan = planSearch(key)
      const page = new VerdictPage(plan, MESSAGES)
      for (const [verdicts, count] of parts) {
        const of = (/** @type {SearchKey} */ leaf, /** @type {number} */ at) =>
          verdicts[LEAVES.indexOf(leaf)]?.[at]
        const found = page.judge(count, (leaf, target) => {
          for (let at = 0; at < target.length; at++) target[at] = of(leaf.key, at) ?? OPEN
        })
        const expected = Array.from({ length: count }, (_, at) => {
          const told = evaluatePlan(plan.root, ({ key: leaf }) => {
            const known = of(leaf, at)
            return known === OPEN ? undefined : known === YES
          })
          return told === undefined ? OPEN : told ? YES : NO
        })
        assert.deepEqual([...found], expected)
      }
    }),
    { numRuns: 1000 }
  )
})
