/**
 * Keys that a function takes over: its caller has none of them left, and need not zero them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { StreamOpener, StreamSealer } from '../../../src/crypto/age-stream.js'
import { HpkeSuite, TAG_BYTES } from '../../../src/crypto/hpke.js'

const hpke = new HpkeSuite('a test')

/** @type {Record<string, (key: Buffer) => unknown>} */
const TAKERS = {
  'the sealer of a payload': (key) => new StreamSealer(key),
  'the opener of a payload': (key) => new StreamOpener(key),
  'HPKE, to seal': (key) => hpke.seal(key, Buffer.from('plaintext')),
  'HPKE, to open': (key) => hpke.open(key, Buffer.alloc(9 + TAG_BYTES))
}

for (const [taker, take] of Object.entries(TAKERS)) {
  test(`a key that is handed to ${taker} is zeroed`, () => {
    const key = Buffer.alloc(32, 7)
    take(key)
    assert.deepEqual(key, Buffer.alloc(32))
  })
}
