import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  compilePartialRange,
  parsePartialRange,
  takePage
} from '../../../../../src/imap/protocol/values/partial-range.js'

test('a page is what its numbers say, from either end', () => {
  const size = fc.integer({ min: 0, max: 30 })
  const end = fc.integer({ min: 1, max: 40 })
  fc.assert(
    fc.property(size, end, end, fc.boolean(), (length, first, second, isFromEnd) => {
      const results = Array.from({ length }, (_, index) => index + 1)
      const sign = isFromEnd ? '-' : ''
      const range = parsePartialRange(`${sign}${first}:${sign}${second}`)
      const [low, high] = [Math.min(first, second), Math.max(first, second)]
      assert.equal(compilePartialRange(range), `${sign}${first}:${sign}${second}`)
      const expected = results.filter((result) => {
        const place = isFromEnd ? length - result + 1 : result
        return place >= low && place <= high
      })
      assert.deepEqual(takePage(results, range), expected)
    })
  )
})
