import assert from 'node:assert/strict'
import { test } from 'node:test'
import { postingRow, termRow } from '../../../../src/store/search/segment-format.js'

test('the blocks of a segment are where indexes on disk have them', () => {
  assert.equal(termRow(0, 7), 7)
  assert.equal(termRow(3, 7), 3 * 2_097_152 + 7)
  assert.equal(postingRow(3, 7), 3 * 2_097_152 + 1_048_576 + 7)
})
