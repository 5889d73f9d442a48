import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  intersectRanges,
  withoutRanges
} from '../../../../../src/imap/protocol/values/number-ranges.js'
import { SequenceSet } from '../../../../../src/imap/protocol/values/sequence-set.js'
import { compileVanished } from '../../../../../src/imap/protocol/compile/vanished.js'

const numbers = fc
  .uniqueArray(fc.integer({ min: 1, max: 60 }), { maxLength: 40 })
  .map((some) => some.sort((left, right) => left - right))

/** @param {number[]} some */
const rangesOf = (some) => SequenceSet.fromNumbers(some).ranges

/**
 * @param {number[]} some
 * @returns {(range: { from: number, to: number }) => { from: number, to: number }[]} those of them in a range
 */
const within =
  (some) =>
  ({ from, to }) =>
    rangesOf(some.filter((number) => number >= from && number <= to))

test('ranges intersect, and lose numbers, as sets do', () => {
  fc.assert(
    fc.property(numbers, numbers, (left, right) => {
      const both = left.filter((number) => right.includes(number))
      assert.deepEqual([...intersectRanges(rangesOf(left), rangesOf(right))], rangesOf(both))
      const rest = left.filter((number) => !right.includes(number))
      assert.deepEqual([...withoutRanges(rangesOf(left), within(right))], rangesOf(rest))
    })
  )
})

test('a range of four thousand million costs no more than its ends', () => {
  const all = [{ from: 1, to: 4294967295 }]
  assert.deepEqual(
    [...withoutRanges(all, within([1, 7, 4294967295]))],
    [
      { from: 2, to: 6 },
      { from: 8, to: 4294967294 }
    ]
  )
  assert.deepEqual([...intersectRanges(all, [{ from: 5, to: 5 }])], [{ from: 5, to: 5 }])
})

test('VANISHED: EARLIER or not, nothing for nothing, long sets in several lines', () => {
  const linesOf = (/** @type {number[]} */ uids, isEarlier = false) =>
    [...compileVanished(rangesOf(uids), { isEarlier })].map(String)
  assert.deepEqual(linesOf([1, 2, 5]), ['* VANISHED 1:2,5\r\n'])
  assert.deepEqual(linesOf([1], true), ['* VANISHED (EARLIER) 1\r\n'])
  assert.deepEqual(linesOf([], true), [])
  const lines = linesOf(Array.from({ length: 2500 }, (_, index) => 2 * index + 1))
  assert.equal(lines.length, 3)
  assert.match(lines[2] ?? '', /^\* VANISHED 4001,.*,4999\r\n$/)
})
