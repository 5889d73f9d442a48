import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import {
  CHUNK_BYTES,
  decodeChunk,
  encodeChunk,
  isCodec,
  unpackChunkInto
} from '../../../src/store/chunk-codec.js'
import { encodeAsBefore } from '../../helpers/older-chunks.js'

/**
 * @param {number} size
 * @returns {Buffer} that does not shrink
 */
const noise = (size) => createHash('shake256', { outputLength: size }).update('x').digest()

/**
 * @param {number} size - at least, bytes of text
 * @returns {string} base64 as a mail program writes it
 */
const attached = (size) =>
  Buffer.alloc(size, 'attached ').toString('base64').replace(/.{76}/g, '$&\r\n')

const MAIL =
  'From: a@example.org\r\nSubject: Re: words\r\nMIME-Version: 1.0\r\nContent-Type: text/plain; charset="UTF-8"\r\n\r\nThank you very much.\r\n'

const CHUNKS = [
  { what: 'nothing', raw: Buffer.alloc(0), codec: 0 },
  { what: 'a byte', raw: Buffer.from('x'), codec: 0 },
  { what: 'noise', raw: noise(50_000), codec: 0 },
  { what: 'a short message', raw: Buffer.from(MAIL), codec: 4 },
  { what: 'the longest with the dictionary', raw: Buffer.alloc(32 * 1024, MAIL), codec: 4 },
  { what: 'one byte longer', raw: Buffer.alloc(32 * 1024 + 1, MAIL), codec: 1 },
  { what: 'a whole chunk', raw: Buffer.alloc(CHUNK_BYTES, MAIL), codec: 1 },
  {
    what: 'noise in base64',
    raw: Buffer.from(noise(4000).toString('base64').replace(/.{76}/g, '$&\r\n')),
    codec: 2
  },
  { what: 'a short attachment', raw: Buffer.from(MAIL + attached(20_000)), codec: 5 },
  { what: 'what is short without base64', raw: Buffer.from(MAIL + attached(32_000)), codec: 5 },
  { what: 'a long attachment', raw: Buffer.from(MAIL + attached(60_000)), codec: 3 }
]

for (const { what, raw, codec } of CHUNKS) {
  test(`${what} is stored by codec ${codec}, and comes back`, () => {
    const chunk = encodeChunk(raw)
    assert.equal(chunk.codec, codec)
    assert.ok(isCodec(codec))
    assert.ok(chunk.data.length <= raw.length)
    assert.deepEqual(decodeChunk(codec, Buffer.from(chunk.data), raw.length), raw)
    const target = Buffer.alloc(raw.length + 9, 0x21)
    const to = { target, at: 4, size: raw.length }
    assert.equal(unpackChunkInto(codec, chunk.data, to), true)
    assert.deepEqual(target.subarray(4, 4 + raw.length), raw)
    assert.equal(target.toString('latin1', 0, 4), '!!!!')
  })
}

test('chunks of programs that had no dictionary are read', () => {
  for (const { raw } of CHUNKS.filter(({ codec }) => codec > 2)) {
    const { codec, data } = encodeAsBefore(raw)
    assert.ok(codec === 1 || codec === 3)
    assert.deepEqual(decodeChunk(codec, data, raw.length), raw)
  }
})

test('the dictionary makes a short message a good deal smaller', () => {
  const raw = Buffer.from(MAIL)
  assert.ok(encodeChunk(raw).data.length < encodeAsBefore(raw).data.length / 1.5)
})

test('what is damaged, of another length or of an unknown codec is told, and the next one is read', () => {
  for (const { raw, codec } of CHUNKS.filter((chunk) => chunk.codec > 0)) {
    const data = Buffer.from(encodeChunk(raw).data)
    /** @type {[number, Buffer, number][]} */
    const bad = [
      [codec, data.subarray(0, -1), raw.length],
      [codec, data.subarray(0, 3), raw.length],
      [codec, data, raw.length - 1],
      [codec, data, raw.length + 1],
      [7, data, raw.length]
    ]
    for (const [badCodec, bytes, size] of bad) {
      assert.throws(() => decodeChunk(badCodec, Buffer.from(bytes), size), {
        code: 'ACCOUNT_DAMAGED'
      })
      assert.deepEqual(decodeChunk(codec, Buffer.from(data), raw.length), raw)
    }
  }
})

test('by a codec without the dictionary nothing comes out that was packed by it', () => {
  const { data } = encodeChunk(Buffer.from(MAIL))
  assert.throws(() => decodeChunk(1, data, MAIL.length), { code: 'ACCOUNT_DAMAGED' })
})
