import { test } from 'node:test'
import assert from 'node:assert/strict'
import { limitsAfterLogin, limitsBeforeLogin } from '../../../../src/imap/protocol/limits.js'
import {
  SYNTAX_FAILURE_TABLE,
  SyntaxFailure
} from '../../../../src/imap/protocol/syntax-failure.js'
import { receive, sketchEvents } from '../../../helpers/imap-wire.js'

test('before login everything is small, and no message is taken', () => {
  assert.deepEqual(limitsBeforeLogin(), {
    maxLineBytes: 36864,
    maxLiteralBytes: 4096,
    maxCommandBytes: 40960,
    maxTokens: 256,
    maxNesting: 50,
    maxMessageBytes: 0,
    maxSkipBytes: 65536
  })
})

test('after login lines have 64 KiB, and the message size comes from the configuration', () => {
  assert.deepEqual(limitsAfterLogin(50_000_000), {
    maxLineBytes: 65536,
    maxAppendLineBytes: 1048576,
    maxLiteralBytes: 65536,
    maxCommandBytes: 131072,
    maxTokens: Infinity,
    maxNesting: 50,
    maxMessageBytes: 50_000_000,
    maxSkipBytes: 200_000_000
  })
  assert.equal(limitsAfterLogin(0).maxSkipBytes, 65536)
})

test('a hostile client before login costs one error each', () => {
  const limits = limitsBeforeLogin()
  const events = (/** @type {string} */ wire) => sketchEvents(receive(wire, limits))
  assert.deepEqual(events('a LOGIN {4097}\r\n'), [['error', 'a', 'TOO_LONG', false]])
  assert.deepEqual(events('a LOGIN {99999999999}\r\n'), [['error', 'a', 'TOO_LONG', false]])
  assert.deepEqual(events('a LOGIN {99999999999+}\r\n'), [['error', 'a', 'TOO_LONG', true]])
  assert.deepEqual(events(`a LOGIN {${'9'.repeat(500)}}\r\n`), [['error', 'a', 'TOO_LONG', false]])
  assert.deepEqual(events(`a X ${'('.repeat(8000)}\r\n`), [['error', 'a', 'TOO_DEEP', false]])
  assert.deepEqual(events(`a ID (${'""'.repeat(16_000)} {9}\r\n`), [
    ['error', 'a', 'TOO_LONG', false]
  ])
  assert.deepEqual(events('a '.repeat(5_000_000)), [['error', 'a', 'TOO_LONG', true]])
  assert.deepEqual(events('\0'.repeat(100_000)), [['error', null, 'TOO_LONG', true]])
  assert.deepEqual(events('a APPEND x {1}\r\n'), [['error', 'a', 'TOO_BIG', false]])
  assert.deepEqual(events('GET / HTTP/1.1\r\nHost: x\r\n\r\n'), [
    ['command', 'GET', '/', 'HTTP/1.1'],
    ['command', 'Host:', 'X'],
    ['error', null, 'BAD_SYNTAX', false]
  ])
})

test('each failure says how it is answered', () => {
  for (const [code, { status, responseCode }] of Object.entries(SYNTAX_FAILURE_TABLE)) {
    assert.match(status, /^(BAD|NO)$/)
    if (code === 'CANCELLED') assert.equal(responseCode, null)
    else assert.match(String(responseCode), /^[A-Z]+$/, code)
  }
  assert.deepEqual(new SyntaxFailure('BAD_CHARSET', 'x').reply, {
    status: 'NO',
    responseCode: 'BADCHARSET'
  })
})
