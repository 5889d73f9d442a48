import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countBelow, countBelowFrom } from '../../../src/support/count-below.js'

test('the place of a number is the same from wherever below it is looked for', () => {
  const numbers = fc.uniqueArray(fc.integer({ min: 0, max: 300 }), { maxLength: 200 })
  const value = fc.integer({ min: 0, max: 301 })
  fc.assert(
    fc.property(numbers, value, fc.nat(), fc.nat(), (unsorted, wanted, from, beyond) => {
      const sorted = Uint32Array.from(unsorted).sort()
      // What stands behind the end counts for nothing.
      const all = Uint32Array.from([...sorted, ...new Array(beyond % 5).fill(0)])
      const place = countBelow(all, wanted, sorted.length)
      assert.equal(place, unsorted.filter((number) => number < wanted).length)
      assert.equal(countBelowFrom(all, wanted, from % (place + 1), sorted.length), place)
    })
  )
})
