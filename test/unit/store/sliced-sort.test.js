/** Sorting that gives way comes to the same as sorting at a stretch. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sortInSlices } from '../../../src/store/sort/sliced-sort.js'
import { Slicer } from '../../../src/support/slicer.js'

/**
 * @param {number} count
 * @param {number} spread - of the keys; few of them are equal when it is large
 * @returns {{ key: number, place: number }[]} in no order
 */
const mixed = (count, spread) =>
  Array.from({ length: count }, (_, place) => ({ key: (place * 7919) % spread, place }))

for (const count of [0, 1, 2, 1023, 1024, 1025, 2048, 2049, 5000, 10_000])
  test(`${count} items in order, equal ones in the order they came in`, async () => {
    for (const spread of [1, 3, 10_007]) {
      const items = mixed(count, spread)
      const compare = (/** @type {{ key: number }} */ left, /** @type {{ key: number }} */ right) =>
        left.key - right.key
      const sorted = await sortInSlices(items, compare, new Slicer())
      assert.deepEqual(sorted, items.toSorted(compare))
    }
  })
