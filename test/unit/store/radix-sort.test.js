/** Sorting without comparisons comes to the same as sorting with them. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { compareValues } from '../../../src/store/sort/collation.js'
import { sortByKey } from '../../../src/store/sort/radix-sort.js'
import { sortTexts } from '../../../src/store/sort/sort-texts.js'
import { Slicer } from '../../../src/support/slicer.js'

const number = fc.oneof(
  fc.nat({ max: 3 }),
  fc.nat({ max: 5000 }),
  fc.integer({ min: 2 ** 43 - 2 ** 33, max: 2 ** 43 + 2 ** 33 }),
  fc.integer({ min: 0, max: 2 ** 52 - 1 })
)

for (const count of [2047, 2048, 40_000])
  test(`${count} slots are put in the order of their keys, equal ones stay as they were`, async () => {
    const keys = Float64Array.from(
      { length: count },
      (_, slot) => ((slot >> 1) * 0x9e3779b1) % 2 ** 42
    )
    const slots = Array.from(keys.keys())
    for (const isReverse of [false, true]) {
      const sorted = await sortByKey(Uint32Array.from(slots), keys, isReverse, new Slicer())
      const sign = isReverse ? -1 : 1
      const expected = slots.toSorted((a, b) => sign * compareValues(keys[a] ?? 0, keys[b] ?? 0))
      assert.deepEqual([...sorted], expected)
    }
  })

test('slots are put in the order of their keys, equal ones stay as they were', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(number), fc.boolean(), async (values, isReverse) => {
      const keys = Float64Array.from(values)
      // Not all of them, and in no order.
      const slots = [...values.keys()].filter((slot) => slot % 3 > 0).reverse()
      const sorted = await sortByKey(Uint32Array.from(slots), keys, isReverse, new Slicer())
      const sign = isReverse ? -1 : 1
      assert.deepEqual(
        [...sorted],
        slots.toSorted((a, b) => sign * compareValues(keys[a] ?? 0, keys[b] ?? 0))
      )
    })
  )
})

/** One character for each byte; many begin alike. */
const text = fc
  .tuple(
    fc.constantFrom('', 'A', 'AB', 'ABCDEF', 'ABCDEFGHIJKL', 'ABCDEFGHIJKLMNOPQR', '\xffABCDE'),
    fc.array(fc.constantFrom('\0', 'A', 'B', '\x7f', '\x80', '\xff'), { maxLength: 9 })
  )
  .map(([start, rest]) => start + rest.join(''))

test('texts are put in the order that comparing them gives', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 60 }), async (texts) => {
      const sorted = await sortTexts(texts, new Slicer())
      assert.deepEqual(
        [...sorted].map((index) => texts[index]),
        texts.toSorted(compareValues)
      )
      assert.deepEqual([...sorted].sort(compareValues), [...texts.keys()])
    })
  )
})
