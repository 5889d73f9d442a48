import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { decodeBase64 } from '../../../../../src/imap/protocol/parse/index.js'
import { failure } from '../../../../helpers/imap-wire.js'

test('base64 comes back as what was encoded', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const encoded = Buffer.from(Buffer.from(bytes).toString('base64'))
      assert.deepEqual(decodeBase64(encoded), Buffer.from(bytes))
    })
  )
})

test('what is no base64 is refused', () => {
  for (const text of [
    '*',
    'A',
    'AG',
    'AGE',
    'AG=E',
    '=',
    '==',
    '====',
    'A===',
    'AGE=AGE=',
    'AG E',
    'AGE-',
    'AGE_',
    'AGE=\r\n'
  ])
    assert.throws(() => decodeBase64(Buffer.from(text)), failure('BAD_SYNTAX'), text)
  assert.equal(decodeBase64(Buffer.alloc(0)).length, 0)
})
