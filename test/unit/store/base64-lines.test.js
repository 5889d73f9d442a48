import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { packBase64, unpackBase64 } from '../../../src/store/base64-lines.js'
import { CHUNK_BYTES, decodeChunk, encodeChunk } from '../../../src/store/chunk-codec.js'

/**
 * @param {number} size
 * @param {string} [seed]
 * @returns {Buffer} noise, the same each time
 */
const noise = (size, seed = 'x') =>
  createHash('shake256', { outputLength: size }).update(seed).digest()

/**
 * @param {Buffer} bytes
 * @param {number} [line]
 * @param {string} [end]
 * @returns {string} as a mail program writes it
 */
const base64 = (bytes, line = 76, end = '\r\n') =>
  bytes.toString('base64').replace(new RegExp(`.{${line}}`, 'g'), `$&${end}`)

/**
 * @param {string | Buffer} text
 * @returns {Buffer | null} packed, and found to unpack to the same
 */
function packed(text) {
  const raw = Buffer.from(text)
  const result = packBase64(raw)
  if (result === null) return null
  const target = Buffer.alloc(raw.length + 6, 0x21)
  assert.equal(unpackBase64(result, target, 3, raw.length), true)
  assert.deepEqual(target.subarray(3, -3), raw)
  assert.equal(
    target.toString('latin1', 0, 3) + target.toString('latin1', raw.length + 3),
    '!!!!!!'
  )
  for (const wanted of [0, 1, 100, raw.length >> 1, raw.length - 1]) {
    target.fill(0x21)
    assert.equal(unpackBase64(result, target, 3, raw.length, wanted), true)
    assert.deepEqual(target.subarray(3, 3 + wanted), raw.subarray(0, wanted))
    assert.equal(target.toString('latin1', raw.length + 3), '!!!')
  }
  return result
}

test('full lines of one length become bytes, whatever the length, the rest stays text', () => {
  for (const line of [56, 60, 64, 72, 76, 256, 996]) {
    for (const size of [2000, 2001, 2002, 30_000]) {
      const text = `Content-Transfer-Encoding: base64\r\n\r\n${base64(noise(size), line)}\r\n--end--\r\n`
      const result = packed(text)
      assert.ok(result, `${line} ${size}`)
      assert.ok(result.length < size + line * 1.4 + 100)
    }
  }
})

test('several attachments, lines of other lengths beside them, and parts that a chunk cuts off', () => {
  const one = base64(noise(5000, 'one'))
  const two = base64(noise(9000, 'two'), 60)
  for (const text of [
    `${one}\r\n--b\r\n\r\n${two}\r\n--b--\r\n`,
    `${two}${one}`,
    one.slice(13, -20) + two.slice(30),
    `${'A'.repeat(64)}${one}`,
    `${'plain words\r\n'.repeat(300)}${one}${'more words '.repeat(100)}`
  ]) {
    const result = packed(text)
    assert.ok(result && result.length < text.length - one.length * 0.22)
  }
})

test('what is no base64 of full lines is left alone', () => {
  const bytes = noise(20_000)
  for (const [what, text] of Object.entries({
    'line feeds': base64(bytes, 76, '\n'),
    'length no multiple of four': base64(bytes, 75),
    'one line': bytes.toString('base64'),
    short: base64(bytes.subarray(0, 600)),
    'short lines': base64(bytes, 40),
    url: base64(bytes).replaceAll('+', '-').replaceAll('/', '_'),
    spaces: base64(bytes).replaceAll('\r\n', ' \r\n'),
    words: 'these are words and words. \r\n'.repeat(500),
    nothing: '',
    noise: bytes
  }))
    assert.equal(packed(text), null, what)
})

test('any mixture of text and base64 comes back to the byte', () => {
  const piece = fc.oneof(
    fc.string({ maxLength: 300 }),
    fc.constantFrom('\r\n', '\r', '\n', '=', 'AAAA'.repeat(19), `${'AAAA'.repeat(19)}\r\n`),
    fc
      .record({
        size: fc.nat(6000),
        line: fc.constantFrom(60, 64, 76, 75, 128),
        end: fc.constantFrom('\r\n', '\r\n', '\n')
      })
      .map(({ size, line, end }) => base64(noise(size), line, end))
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 8 }), (pieces) => {
      const raw = Buffer.from(pieces.join('')).subarray(0, CHUNK_BYTES)
      packed(raw)
      const { codec, data } = encodeChunk(raw)
      assert.deepEqual(decodeChunk(codec, data, raw.length), raw)
    }),
    { numRuns: 300 }
  )
})

test('a damaged chunk is refused or gives other bytes of the same number; nothing is written beside them', () => {
  const text = Buffer.from(`x: y\r\n\r\n${base64(Buffer.alloc(4000, 'words '))}\r\n`)
  const sound = encodeChunk(text)
  assert.equal(sound.codec, 5)
  assert.equal(encodeChunk(Buffer.from(base64(noise(4000)))).codec, 2)
  const plain = /** @type {Buffer} */ (packBase64(text))
  fc.assert(
    fc.property(fc.nat(plain.length - 1), fc.nat(255), fc.nat(40), (at, value, cut) => {
      const bad = Buffer.from(plain.subarray(0, plain.length - cut))
      bad[at % bad.length] = value
      const target = Buffer.alloc(text.length + 20, 0x21)
      unpackBase64(bad, target, 10, text.length)
      assert.deepEqual(target.subarray(0, 10), Buffer.alloc(10, 0x21))
      assert.deepEqual(target.subarray(-10), Buffer.alloc(10, 0x21))
    })
  )
  for (const data of [
    Buffer.alloc(0),
    sound.data.subarray(0, 3),
    sound.data.subarray(0, -1),
    Buffer.concat([Buffer.from([255, 255, 255, 255]), sound.data.subarray(4)])
  ])
    assert.throws(() => decodeChunk(5, data, text.length), { code: 'ACCOUNT_DAMAGED' })
  assert.throws(() => decodeChunk(2, plain, text.length + 1), { code: 'ACCOUNT_DAMAGED' })
})
