import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { NOTHING_SAVED, SavedResult } from '../../../../src/imap/session/saved-result.js'

test('the ranges name the saved UIDs, each once, and never touch', () => {
  const uids = fc.uniqueArray(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.constant(0xffffffff)))
  fc.assert(
    fc.property(uids, (unsorted) => {
      const saved = unsorted.sort((left, right) => left - right)
      const { ranges } = new SavedResult(saved)
      const named = ranges.flatMap(({ from, to }) =>
        Array.from({ length: to - from + 1 }, (_, index) => from + index)
      )
      assert.deepEqual(named, saved)
      for (const [index, { from }] of ranges.entries()) {
        if (index > 0) assert.ok(from > (ranges[index - 1]?.to ?? 0) + 1)
      }
    })
  )
})

test('nothing is saved at first', () => {
  assert.deepEqual(NOTHING_SAVED.ranges, [])
})
