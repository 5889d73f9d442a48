import assert from 'node:assert/strict'
import { test } from 'node:test'
import { areClose } from '../../../src/store/close-slots.js'

/** Most of the mail has been deleted. */
const THIN = Uint32Array.from({ length: 100 }, (_, slot) => 1 + slot * 1000)
const FULL = Uint32Array.from({ length: 100 }, (_, slot) => 1 + slot)

for (const { what, uids, slots, expected } of [
  { what: 'neighbours', uids: FULL, slots: [3, 4, 5], expected: true },
  { what: 'neighbours whose UIDs lie far apart', uids: THIN, slots: [3, 4, 5], expected: true },
  { what: 'some with a few others between them', uids: FULL, slots: [3, 5, 6], expected: true },
  { what: 'some with many others between them', uids: FULL, slots: [3, 30, 60], expected: false },
  { what: 'some whose UIDs lie far apart', uids: THIN, slots: [3, 5], expected: false },
  { what: 'one', uids: THIN, slots: [7], expected: true }
])
  test(`${what} ${expected ? 'are read as one range' : 'are looked up one by one'}`, () => {
    assert.equal(areClose({ uids }, slots), expected)
  })
