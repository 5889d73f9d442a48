/**
 * Single bytes in a message are found and counted right, however many there are.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { countByte, nextByte } from '../../../src/mime/byte-search.js'

const LF = 10

/** Lines from none to thousands of characters. */
const lines = fc
  .array(fc.oneof(fc.nat(3), fc.nat(80), fc.nat(2000)), { maxLength: 120 })
  .map((lengths) => Buffer.from(lengths.map((length) => 'x'.repeat(length)).join('\n')))

test('bytes are counted in the range asked for, in short lines and long ones', () => {
  fc.assert(
    fc.property(lines, fc.nat(9000), fc.nat(9000), (bytes, start, length) => {
      const from = Math.min(start, bytes.length)
      const to = Math.min(from + length, bytes.length)
      const expected = bytes.subarray(from, to).filter((byte) => byte === LF).length
      assert.equal(countByte(bytes, LF, from, to), expected)
    })
  )
})

test('the next byte is found from any place, near and far', () => {
  fc.assert(
    fc.property(lines, fc.nat(9000), (bytes, start) => {
      const from = Math.min(start, bytes.length)
      assert.equal(nextByte(bytes, LF, from), bytes.indexOf(LF, from))
    })
  )
})
