import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  compileNumberSet,
  numberSetPieces,
  SequenceSet
} from '../../../../../src/imap/protocol/values/sequence-set.js'
import { failure } from '../../../../helpers/imap-wire.js'

const pairs = (/** @type {{ from: number, to: number }[]} */ ranges) =>
  ranges.map(({ from, to }) => [from, to])

test('a set keeps its ranges as written', () => {
  for (const [text, expected] of /** @type {[string, number[][]][]} */ ([
    ['1', [[1, 1]]],
    ['*', [[0, 0]]],
    [
      '1:*,5',
      [
        [1, 0],
        [5, 5]
      ]
    ],
    ['*:3', [[0, 3]]],
    ['5:2', [[5, 2]]],
    ['4294967295', [[4294967295, 4294967295]]],
    [
      '1,1,1',
      [
        [1, 1],
        [1, 1],
        [1, 1]
      ]
    ],
    ['*:*', [[0, 0]]],
    ['007', [[7, 7]]]
  ])) {
    const set = SequenceSet.parse(text)
    assert.deepEqual(pairs(set.ranges), expected, text)
    assert.equal(set.isSearchResult, false)
    assert.equal(set.hasStar, text.includes('*'), text)
  }
})

test('what is no set is refused', () => {
  for (const text of [
    '',
    '0',
    '0:1',
    '1:',
    ':1',
    '1,',
    ',1',
    '1,,2',
    '1:2:3',
    'a',
    '1a',
    '-1',
    '1 2',
    '4294967296',
    '1:4294967296',
    '$,1',
    '1,$',
    '**',
    '9'.repeat(400),
    '1;2'
  ])
    assert.throws(() => SequenceSet.parse(text), failure('BAD_SYNTAX'), text)
})

test('$ is the search result', () => {
  const set = SequenceSet.parse('$')
  assert.equal(set.isSearchResult, true)
  assert.equal(set.toString(), '$')
  assert.deepEqual(set.resolve(10), [])
})

test('ranges are resolved ascending and merged, * is the largest number', () => {
  for (const [text, max, expected] of /** @type {[string, number, number[][]][]} */ ([
    ['1:*', 5, [[1, 5]]],
    ['9:*', 5, [[5, 9]]],
    ['*', 5, [[5, 5]]],
    ['*:3', 5, [[3, 5]]],
    [
      '3:1,2,9',
      5,
      [
        [1, 3],
        [9, 9]
      ]
    ],
    ['1,2,3', 5, [[1, 3]]],
    [
      '1,3',
      5,
      [
        [1, 1],
        [3, 3]
      ]
    ],
    ['5,1:9,3', 5, [[1, 9]]],
    ['1:3,2:4', 5, [[1, 4]]],
    ['1:4294967295', 5, [[1, 4294967295]]],
    ['*', 0, []],
    ['7:*', 0, []],
    ['7', 0, [[7, 7]]]
  ]))
    assert.deepEqual(pairs(SequenceSet.parse(text).resolve(max)), expected, text)
})

test('a resolved set holds exactly the numbers that a naive reading holds', () => {
  const end = fc.integer({ min: 0, max: 12 })
  const property = fc.property(
    fc.array(fc.record({ from: end, to: end }), { minLength: 1, maxLength: 6 }),
    fc.integer({ min: 1, max: 12 }),
    (ranges, max) => {
      const expected = new Set()
      for (const range of ranges) {
        const [from, to] = [range.from || max, range.to || max].sort((a, b) => a - b)
        for (let number = Number(from); number <= Number(to); number += 1) expected.add(number)
      }
      const numbers = []
      let last = -1
      for (const { from, to } of new SequenceSet(structuredClone(ranges)).resolve(max)) {
        assert.ok(from > last + 1, 'ranges are apart')
        for (let number = from; number <= to; number += 1) numbers.push(number)
        last = to
      }
      assert.deepEqual(new Set(numbers), expected)
    }
  )
  fc.assert(property)
})

test('resolving leaves the set as it was', () => {
  const set = SequenceSet.parse('5,1:3,2')
  set.resolve(9)
  assert.equal(set.toString(), '5,1:3,2')
})

test('numbers become the shortest set, and come back', () => {
  assert.equal(compileNumberSet([]), '')
  assert.equal(compileNumberSet([1, 2, 3, 5, 7, 8]), '1:3,5,7:8')
  assert.deepEqual(SequenceSet.fromNumbers([]).ranges, [])
  const numbers = fc.uniqueArray(fc.integer({ min: 1, max: 60 }), { minLength: 1 })
  fc.assert(
    fc.property(numbers, (unsorted) => {
      const sorted = unsorted.toSorted((a, b) => a - b)
      const back = SequenceSet.parse(compileNumberSet(sorted))
        .resolve(1)
        .flatMap(({ from, to }) =>
          Array.from({ length: to - from + 1 }, (_, index) => from + index)
        )
      assert.deepEqual(back, sorted)
    })
  )
})

test('the pieces of a set are the set, whatever stands at their ends', () => {
  assert.deepEqual([...numberSetPieces([])], [])
  const starts = fc.array(fc.integer({ min: 1, max: 2000 }), { minLength: 1, maxLength: 12 })
  fc.assert(
    fc.property(starts, (lengths) => {
      // Runs of these lengths, with one number left out behind each.
      let next = 1
      const numbers = lengths.flatMap((length) => {
        const run = Array.from({ length }, (_, index) => next + index)
        next += length + 1
        return run
      })
      for (const some of [numbers, numbers.filter((number) => number % 2 === 1)])
        assert.equal(
          [...numberSetPieces(Uint32Array.from(some))].join(''),
          SequenceSet.fromNumbers(some).toString()
        )
    })
  )
})

test('a set is written as it was read', () => {
  for (const text of ['1', '*', '1:*', '*:3', '5:2,9'])
    assert.equal(SequenceSet.parse(text).toString(), text)
})
