import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3-multiple-ciphers'
import { releaseBuffer, takeBuffer } from '../../../src/support/release-buffer.js'

test('a blob from SQLite gives its memory back, also when it is smaller than the pool of Node', () => {
  const db = new Database(':memory:')
  for (const size of [10_000, Buffer.poolSize - 1, Buffer.poolSize, Buffer.poolSize + 1, 131_072]) {
    const blob = /** @type {Buffer} */ (db.prepare('SELECT zeroblob(?)').pluck().get(size))
    assert.equal(blob.length, size)
    releaseBuffer(blob)
    assert.ok(/** @type {ArrayBuffer} */ (blob.buffer).detached, `${size} bytes`)
  }
  db.close()
})

test('a piece of the pool of Node is left alone, with all that lies beside it', () => {
  const pair = () => ({ beside: Buffer.from('beside'), piece: Buffer.from('piece') })
  const first = pair()
  // A new pool may begin between the two, but not twice in a row.
  const { beside, piece } = first.piece.buffer === first.beside.buffer ? first : pair()
  assert.equal(piece.buffer, beside.buffer)
  releaseBuffer(piece)
  assert.equal(beside.toString(), 'beside')
})

test('no piece of the pool is so large that it could be taken for memory of its own', () => {
  const largest = (Buffer.poolSize >>> 1) - 1
  for (const piece of [Buffer.allocUnsafe(largest), Buffer.from('x'.repeat(largest))]) {
    releaseBuffer(piece)
    assert.equal(piece.length, largest)
  }
  const [half, whole] = [Buffer.allocUnsafe(largest + 1), Buffer.allocUnsafeSlow(Buffer.poolSize)]
  assert.equal(half.buffer.byteLength, largest + 1)
  for (const piece of [half, whole]) {
    releaseBuffer(piece)
    assert.equal(piece.length, 0)
  }
})

const CHUNK_BYTES = 128 * 1024

test('memory of a chunk that is given back is what the next one gets, and who had it has nothing of it any more', () => {
  const first = takeBuffer(CHUNK_BYTES).fill('a')
  const piece = first.subarray(10, 20)
  releaseBuffer(first)
  assert.deepEqual([first.length, piece.length], [0, 0])
  const second = takeBuffer(100_000)
  assert.equal(second.toString('latin1', 0, 3), 'aaa', 'the same memory')
  assert.equal(second.length, 100_000)
})

test('given back twice, by whichever piece of it, memory is given to one alone', () => {
  const first = takeBuffer(CHUNK_BYTES)
  const piece = first.subarray(10)
  for (const again of [first, first, piece, piece]) releaseBuffer(again)
  const taken = Array.from({ length: 20 }, (_, index) => takeBuffer(CHUNK_BYTES).fill(index))
  for (const [index, buffer] of taken.entries()) assert.ok(buffer.every((byte) => byte === index))
  taken.forEach(releaseBuffer)
  // Of more than a few nothing is kept.
  const fresh = new Set(Array.from({ length: 20 }, () => takeBuffer(CHUNK_BYTES).buffer))
  assert.equal(fresh.size, 20)
})

test('of another size than a chunk memory is made for each', () => {
  for (const bytes of [1, 16_000, CHUNK_BYTES + 65, 1_000_000]) {
    const buffer = takeBuffer(bytes)
    assert.equal(buffer.buffer.byteLength, bytes)
    releaseBuffer(buffer)
  }
})
