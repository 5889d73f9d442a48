import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  inOrder,
  mergeSorted,
  onceInOrder,
  ranksFromLast,
  withoutHidden
} from '../../../../src/imap/session/sorted-slots.js'

const END = 400

/** Of few and of many numbers, which are put in order by other ways. */
const ascending = fc
  .uniqueArray(fc.integer({ min: 0, max: END - 1 }), { maxLength: 60 })
  .map((slots) => slots.toSorted((a, b) => a - b))

/** @param {readonly number[][]} lists */
const sortedOnce = (...lists) => [...new Set(lists.flat())].sort((a, b) => a - b)

test('lists of slots are joined, each slot once and in order', () => {
  fc.assert(
    fc.property(fc.array(ascending, { maxLength: 5 }), (lists) => {
      for (const end of [END, 100_000])
        assert.deepEqual([...onceInOrder(lists, end)], sortedOnce(...lists))
    })
  )
  assert.deepEqual(onceInOrder([[1, 2], [5], [7, 9]], 10), [1, 2, 5, 7, 9])
})

test('two lists are merged, and of lists that have nothing in common all is put in order', () => {
  fc.assert(
    fc.property(ascending, ascending, (left, right) => {
      const merged = mergeSorted(Uint32Array.from(left), Uint32Array.from(right))
      assert.deepEqual([...merged], sortedOnce(left, right))
      const others = right.filter((slot) => !left.includes(slot))
      assert.deepEqual([...inOrder([left, others])], sortedOnce(left, others))
    })
  )
})

test('slots that are not hidden are ranked among those that are not', () => {
  fc.assert(
    fc.property(ascending, ascending, (slots, hidden) => {
      const visible = slots.filter((slot) => !hidden.includes(slot))
      const tombstones = Uint32Array.from(hidden)
      assert.deepEqual([...withoutHidden(slots, tombstones)], visible)
      assert.deepEqual(
        [...ranksFromLast(Uint32Array.from(visible), tombstones)],
        visible.map((slot) => slot + 1 - hidden.filter((each) => each < slot).length).reverse()
      )
    })
  )
})
