import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { mailDictionary } from '../../../src/store/mail-dictionary.js'
import {
  MAIL_FRAMES,
  compressFrame,
  decompressFrame,
  decompressInto
} from '../../../src/store/zstd.js'

const KINDS = [
  { whose: 'without a dictionary', frames: undefined, dictionary: undefined },
  { whose: 'by the dictionary', frames: MAIL_FRAMES, dictionary: mailDictionary() }
]

const MAX_BYTES = 400_000
const SIZES = [1, 2, 63, 64, 65, 1000, 65_536, 131_071, 131_072, MAX_BYTES]

/**
 * @param {number} size
 * @returns {Buffer[]} that shrink much, little and not at all
 */
const samples = (size) => [
  Buffer.alloc(size, 'abc '),
  Buffer.from(randomBytes(size).toString('base64').slice(0, size)),
  randomBytes(size)
]

for (const { whose, frames, dictionary } of KINDS) {
  test(`${whose}, a frame holds what went in, for any size, in any order, and zlib reads it too`, () => {
    const made = SIZES.flatMap(samples).map((raw) => ({ raw, frame: compressFrame(raw, frames) }))
    for (const { raw, frame } of [...made, ...made.toReversed()]) {
      assert.deepEqual(zstdDecompressSync(frame, { dictionary }), raw)
      assert.equal(frame.buffer.byteLength, frame.length, 'takes no more memory than it says')
      const size = { maxBytes: MAX_BYTES, expectedBytes: raw.length }
      assert.deepEqual(decompressFrame(frame, size, frames), raw)
      assert.deepEqual(decompressFrame(zstdCompressSync(raw, { dictionary }), size, frames), raw)
      // What was expected may be wrong.
      assert.deepEqual(decompressFrame(frame, { maxBytes: MAX_BYTES }, frames), raw)
      assert.deepEqual(
        decompressFrame(frame, { maxBytes: MAX_BYTES, expectedBytes: 3 }, frames),
        raw
      )
    }
  })

  test(`${whose}, a damaged, cut or oversized frame is refused, and leaves nothing to the next one`, () => {
    const raw = Buffer.from('words and words and words '.repeat(200))
    const frame = compressFrame(raw, frames)
    const size = { maxBytes: MAX_BYTES, expectedBytes: raw.length }
    const bad = [
      frame.subarray(0, frame.length - 1),
      frame.subarray(0, 5),
      frame.subarray(4),
      Buffer.concat([frame.subarray(0, 20), randomBytes(40)]),
      Buffer.from('no frame at all'),
      Buffer.alloc(0)
    ]
    for (const bytes of bad) {
      assert.throws(() => assert.equal(decompressFrame(bytes, size, frames).length, raw.length))
      assert.deepEqual(decompressFrame(frame, size, frames), raw)
    }
    assert.throws(() => decompressFrame(frame, { maxBytes: 100, expectedBytes: 100 }, frames))
    assert.deepEqual(decompressFrame(frame, size, frames), raw)
  })

  test(`${whose}, into a buffer that is there comes what comes alone, and what is not right is said`, () => {
    const target = Buffer.alloc(MAX_BYTES + 10)
    for (const raw of SIZES.flatMap(samples)) {
      const frame = compressFrame(raw, frames)
      target.fill(0x55)
      assert.equal(decompressInto(frame, target, 5, raw.length, frames), true)
      assert.deepEqual(target.subarray(5, 5 + raw.length), raw)
      assert.deepEqual(target.subarray(0, 5), Buffer.alloc(5, 0x55))
      for (const size of [raw.length - 1, raw.length + 1])
        assert.equal(decompressInto(frame, target, 5, size, frames), false)
      assert.equal(decompressInto(frame.subarray(1), target, 5, raw.length, frames), false)
      assert.equal(decompressInto(frame, target, 0, raw.length, frames), true)
    }
  })
}

test('a frame of one kind is no frame of the other, and the next one is read', () => {
  const raw = Buffer.from('Subject: words\r\n'.repeat(200))
  const target = Buffer.alloc(raw.length + 1)
  const frame = compressFrame(raw, MAIL_FRAMES)
  assert.equal(decompressInto(frame, target, 0, raw.length), false)
  assert.equal(decompressInto(compressFrame(raw), target, 0, raw.length), true)
  assert.equal(decompressInto(frame, target, 0, raw.length, MAIL_FRAMES), true)
})
