import assert from 'node:assert/strict'
import { test } from 'node:test'
import Database from 'better-sqlite3-multiple-ciphers'
import { releaseBuffer } from '../../../src/support/release-buffer.js'

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
