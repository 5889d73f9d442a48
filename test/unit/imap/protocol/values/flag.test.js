import { test } from 'node:test'
import assert from 'node:assert/strict'
import {
  parseFlag,
  parseFlags,
  parseKeyword
} from '../../../../../src/imap/protocol/values/flag.js'
import { failure } from '../../../../helpers/imap-wire.js'

test('system flags come in canonical case, keywords as given', () => {
  for (const [text, flag] of /** @type {const} */ ([
    ['\\seen', '\\Seen'],
    ['\\ANSWERED', '\\Answered'],
    ['\\Flagged', '\\Flagged'],
    ['\\deleted', '\\Deleted'],
    ['\\DRAFT', '\\Draft'],
    ['$Junk', '$Junk'],
    ['$MDNSent', '$MDNSent'],
    ['a[b', 'a[b']
  ]))
    assert.equal(parseFlag(text), flag)
})

test('\\Recent and flags of other servers are left out, whatever their case (RFC 9051 §7.1)', () => {
  for (const text of ['\\RECENT', '\\Foo', '\\X-EON-HAS-ATTACHMENT'])
    assert.equal(parseFlag(text), null)
  assert.deepEqual(parseFlags(['\\Recent', '\\Seen', '\\Foo']), ['\\Seen'])
})

test('words that are no atoms are refused, with a backslash or without', () => {
  for (const text of ['\\', '\\*', '\\ü', '\\a]', '\\\\Seen', '', 'a]', 'a*', 'a%', 'a\\b', 'ü'])
    assert.throws(() => parseFlag(text), failure('BAD_SYNTAX'), text)
  assert.throws(() => parseKeyword('\\Seen'), failure('BAD_SYNTAX'))
})

test('a keyword may have 128 bytes and not one more', () => {
  assert.equal(parseKeyword('k'.repeat(128)).length, 128)
  assert.throws(() => parseKeyword('k'.repeat(129)), failure('TOO_LONG'))
})

test('a flag given twice, in any case, counts once', () => {
  assert.deepEqual(parseFlags(['\\Seen', 'x', '\\SEEN', 'X', 'y']), ['\\Seen', 'x', 'y'])
})
