import { test } from 'node:test'
import assert from 'node:assert/strict'
import {
  parseNumber,
  parseNumber64,
  parseNzNumber
} from '../../../../../src/imap/protocol/values/number.js'
import { failure } from '../../../../helpers/imap-wire.js'

test('number goes from 0 to 2^32 - 1', () => {
  for (const [text, value] of /** @type {const} */ ([
    ['0', 0],
    ['7', 7],
    ['007', 7],
    ['4294967295', 4294967295]
  ]))
    assert.equal(parseNumber(text), value)
  for (const text of [
    '',
    '-1',
    '+1',
    '1.0',
    '1e3',
    '0x1',
    ' 1',
    '1 ',
    '٣',
    '4294967296',
    '9'.repeat(41)
  ])
    assert.throws(() => parseNumber(text), failure('BAD_SYNTAX'), text)
})

test('nz-number goes from 1 to 2^32 - 1', () => {
  assert.equal(parseNzNumber('1'), 1)
  assert.equal(parseNzNumber('4294967295'), 4294967295)
  for (const text of ['0', '00', '4294967296', ''])
    assert.throws(() => parseNzNumber(text), failure('BAD_SYNTAX'), text)
})

test('number64 goes from 0 to 2^63 - 1, and stops at the largest exact integer', () => {
  assert.equal(parseNumber64('0'), 0)
  assert.equal(parseNumber64('4294967296'), 4294967296)
  assert.equal(parseNumber64('9007199254740991'), Number.MAX_SAFE_INTEGER)
  assert.equal(parseNumber64('9007199254740992'), Number.MAX_SAFE_INTEGER)
  assert.equal(parseNumber64('9223372036854775807'), Number.MAX_SAFE_INTEGER)
  for (const text of ['', '-1', '9223372036854775808', '9'.repeat(40), '9'.repeat(41)])
    assert.throws(() => parseNumber64(text), failure('BAD_SYNTAX'), text)
})
