import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { generateCode, recognizeCode } from '../../../src/crypto/generated-code.js'

const KINDS = /** @type {const} */ (['app-password', 'recovery'])

for (const kind of KINDS) {
  test(`a generated ${kind} is recognised as one, with the bytes that it was made of`, () => {
    for (let round = 0; round < 100; round++) {
      const { code, text } = generateCode(kind)
      assert.match(text, /^ll(app|rec)(-[0-9a-hjkmnp-tv-z]{7}){4}$/)
      const typed = recognizeCode(Buffer.from(text))
      assert.equal(typed?.kind, kind)
      assert.deepEqual(typed?.code.bytes, code.bytes)
    }
  })
}

test('a code has 140 random bits: every symbol stands at every place', () => {
  const seen = Array.from({ length: 28 }, () => new Set())
  for (let round = 0; round < 1000; round++) {
    const { code } = generateCode('app-password')
    code.bytes.forEach((byte, place) => seen[place]?.add(byte))
  }
  for (const symbols of seen) assert.equal(symbols.size, 32)
})

test('case, blanks, hyphens and look-alikes do not matter to a code', () => {
  const typed = [
    'llapp-0123456-789abcd-efghjkm-npqrstv',
    'LLAPP-0123456-789ABCD-EFGHJKM-NPQRSTV',
    'llapp0123456789abcdefghjkmnpqrstv',
    'llapp 0123456 789abcd efghjkm npqrstv',
    'llapp-ol23456-789abcd-efghjkm-npqrstv',
    'llapp-OI23456-789abcd-efghjkm-npqrstv'
  ]
  for (const text of typed) {
    const code = recognizeCode(Buffer.from(text))
    assert.equal(code?.kind, 'app-password', text)
    assert.equal(code?.code.bytes.toString(), '0123456789abcdefghjkmnpqrstv', text)
  }
})

test('nothing else has the shape of a code', () => {
  const others = [
    '',
    'llapp',
    'llapp-0123456-789abcd-efghjkm-npqrst',
    'llapp-0123456-789abcd-efghjkm-npqrstvw',
    'llapp-0123456-789abcd-efghjkm-npqrstu',
    'llapq-0123456-789abcd-efghjkm-npqrstv',
    '11app-0123456-789abcd-efghjkm-npqrstv',
    'llapp_0123456_789abcd_efghjkm_npqrstv',
    `llapp-0123456-789abcd-efghjkm-npqrstv${'-'.repeat(200)}`
  ]
  for (const text of others) assert.equal(recognizeCode(Buffer.from(text)), null, text)
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
      assert.equal(recognizeCode(bytes), null)
    })
  )
})

test('recognising leaves the typed bytes as they are', () => {
  const { text } = generateCode('recovery')
  const typed = Buffer.from(text)
  recognizeCode(typed)
  assert.equal(typed.toString(), text)
})
