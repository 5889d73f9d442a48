/**
 * Chunks that refer to shared parts: the bytes come back, and damage is found.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isMailError } from '../../../../src/errors.js'
import { CODEC_SHARED } from '../../../../src/store/chunk-codec.js'
import {
  encodeSharedChunk,
  parseSharedChunk,
  unpackSharedChunk
} from '../../../../src/store/shared-parts/shared-chunk.js'
import { base64Text, noise } from '../../../helpers/attachments.js'

/** @typedef {import('../../../../src/store/shared-parts/shared-chunk.js').Reference} Reference */

const PART = noise('part', 6000)
const TEXT = base64Text(PART)
const PART_ID = 2 ** 36 + 5

/** @type {import('../../../../src/store/shared-parts/shared-chunk.js').ReadPart} */
const readPart = ({ partId, size }, { start, end }) => {
  assert.deepEqual([partId, size], [PART_ID, PART.length])
  return Buffer.from(PART.subarray(start, end))
}

/**
 * @param {number} at
 * @param {number} from
 * @param {number} bytes
 * @returns {Reference}
 */
const reference = (at, from, bytes) => ({
  at,
  bytes,
  partId: PART_ID,
  size: PART.length,
  line: 76,
  from
})

const HEAD = 'Subject: x\r\n\r\n'

/** @type {readonly (readonly [string, string, readonly Reference[]])[]} */
const CHUNKS = [
  ['the part amid text', `${HEAD}${TEXT}\r\n--b--\r\n`, [reference(HEAD.length, 0, TEXT.length)]],
  ['nothing but the part', TEXT, [reference(0, 0, TEXT.length)]],
  ['its middle', TEXT.slice(1000, 5000), [reference(0, 1000, 4000)]],
  [
    'its end, and all of it once more',
    `${TEXT.slice(6000)}\r\n${HEAD}${TEXT}`,
    [
      reference(0, 6000, TEXT.length - 6000),
      reference(TEXT.length - 6000 + 2 + HEAD.length, 0, TEXT.length)
    ]
  ],
  [
    'beside a part that compresses',
    `${'again and again\r\n'.repeat(300)}${TEXT}`,
    [reference(17 * 300, 0, TEXT.length)]
  ],
  ['no part', HEAD, []]
]

for (const [what, text, references] of CHUNKS) {
  test(`a chunk with ${what} comes back`, () => {
    const raw = Buffer.from(text)
    const { codec, data } = encodeSharedChunk(raw, references)
    assert.equal(codec, CODEC_SHARED)
    if (references.length > 0) assert.ok(data.length < raw.length / 2)
    assert.deepEqual(parseSharedChunk(data, raw.length)?.references, references)
    assert.deepEqual(unpackSharedChunk(data, raw.length, readPart), raw)
  })
}

test('of damaged ones no more is read than there is, and none brings the reader down', () => {
  const [, text = '', references = []] = CHUNKS[3] ?? []
  const raw = Buffer.from(text)
  const { data } = encodeSharedChunk(raw, references)
  let found = 0
  const unpack = (/** @type {Buffer} */ bytes, size = raw.length) => {
    try {
      return unpackSharedChunk(bytes, size, ({ size: partBytes }, { start, end }) => {
        assert.ok(start >= 0 && start < end && end <= partBytes)
        // The file would not have it.
        return Buffer.alloc(Math.min(end - start, raw.length * 2))
      })
    } catch (error) {
      if (!isMailError(error, 'ACCOUNT_DAMAGED')) throw error
      return null
    }
  }
  for (let length = 0; length < data.length; length++) {
    const unpacked = unpack(data.subarray(0, length))
    if (unpacked === null) found++
  }
  assert.equal(found, data.length)
  for (let at = 0; at < 3 + 2 * 28; at++) {
    for (const bit of [1, 16, 128]) {
      const damaged = Buffer.from(data)
      damaged[at] = (damaged[at] ?? 0) ^ bit
      const unpacked = unpack(damaged)
      assert.ok(unpacked === null || unpacked.length === raw.length)
    }
  }
  for (const size of [0, 1, raw.length - 1, raw.length + 1]) assert.equal(unpack(data, size), null)
})
