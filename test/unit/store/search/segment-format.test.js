import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  MAX_DIRECTORY_BYTES,
  decodeDirectory,
  decodeTermBlock,
  encodeDirectory,
  encodeTermBlock,
  packBlock,
  postingRow,
  termRow,
  unpackBlock
} from '../../../../src/store/search/segment-format.js'

const MIB = 1024 * 1024
const damaged = { code: 'ACCOUNT_DAMAGED' }

test('the blocks of a segment are where indexes on disk have them', () => {
  assert.equal(termRow(0, 7), 7)
  assert.equal(termRow(3, 7), 3 * 2_097_152 + 7)
  assert.equal(postingRow(3, 7), 3 * 2_097_152 + 1_048_576 + 7)
})

test('a block unpacks to what was packed, and one that is anything else is damaged', () => {
  for (const raw of [Buffer.alloc(0), Buffer.from('terms'), Buffer.alloc(MIB, 'ab')]) {
    assert.deepEqual(unpackBlock(packBlock(raw)), raw)
    const longer = packBlock(raw)
    longer.writeUInt32LE(raw.length + 1)
    assert.throws(() => unpackBlock(longer), damaged)
  }
  const packed = packBlock(Buffer.from('terms'.repeat(1000)))
  const shorter = Buffer.from(packed)
  shorter.writeUInt32LE(4999)
  const changed = Buffer.from(packed)
  changed.fill(0, 4, 8)
  for (const bytes of [shorter, changed, packed.subarray(0, -1), packed.subarray(0, 3)])
    assert.throws(() => unpackBlock(bytes), damaged)
  const large = packBlock(Buffer.alloc(MIB + 1))
  assert.throws(() => unpackBlock(large), damaged)
  assert.equal(unpackBlock(large, MAX_DIRECTORY_BYTES).length, MIB + 1)
})

test('a block of terms knows where each list begins and the last one ends', () => {
  const terms = Buffer.from('\xffone\xfftwo\xff', 'latin1')
  assert.deepEqual(decodeTermBlock(encodeTermBlock(terms, [300, 1], 70_000)), {
    terms,
    offsets: [70_000, 70_300, 70_301]
  })
})

test('a directory has the first terms, of long ones the beginning, and one that is cut is damaged', () => {
  const long = `<${'\xe4'.repeat(90)}@example.org>`
  const packed = encodeDirectory({ classes: [1, 3, 4], firsts: ['one', long, ''] })
  const raw = unpackBlock(packed, MAX_DIRECTORY_BYTES)
  assert.deepEqual(decodeDirectory(raw), {
    classes: [1, 3, 4],
    firsts: ['one', long.slice(0, 72), '']
  })
  assert.throws(() => decodeDirectory(raw.subarray(0, -1)), damaged)
})
