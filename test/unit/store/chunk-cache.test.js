import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { ChunkCache } from '../../../src/store/chunk-cache.js'
import { CHUNK_BYTES } from '../../../src/store/chunk-codec.js'
import { accountFolder, makeMessage } from '../../helpers/account-folder.js'
import { appendAll } from '../../helpers/temporary-store.js'

const KiB = 1024

/**
 * @param {import('../../../src/store/account-store.js').AccountStore} store
 * @param {number} contentId
 * @param {number} start
 * @param {number} end
 * @returns {Promise<Buffer>}
 */
async function read(store, contentId, start, end) {
  const pieces = []
  for await (const piece of store.readContent(contentId, start, end)) pieces.push(piece)
  return Buffer.concat(pieces)
}

test('what has been there longest goes first, whosever it is, and is wiped; what is taken is the taker’s', () => {
  const cache = new ChunkCache({ totalBytes: 3 * KiB })
  const [one, two] = [cache.share(), cache.share()]
  const chunk = (/** @type {number} */ value) => Buffer.alloc(KiB, value)
  const second = chunk(2)
  one.keep(1, chunk(1))
  two.keep(1, second)
  one.keep(2, chunk(3))
  assert.deepEqual([one.take(1), one.take(1), cache.usedBytes], [chunk(1), null, 2 * KiB])
  one.keep(1, chunk(1))
  one.keep(3, chunk(4))
  assert.equal(two.take(1), null)
  assert.deepEqual(second, Buffer.alloc(KiB))
  one.keep(3, chunk(5))
  const values = new Map([
    [1, 1],
    [2, 3],
    [3, 5]
  ])
  for (const [id, value] of values) {
    assert.equal(one.take(id)?.[0], value)
    one.keep(id, chunk(value))
  }
  assert.equal(cache.usedBytes, 3 * KiB)
  two.keep(9, Buffer.alloc(4 * KiB))
  assert.equal(cache.usedBytes, 0)
  assert.equal(two.take(9), null)
  one.keep(1, chunk(1))
  one.clear()
  assert.equal(cache.usedBytes, 0)
})

test('pieces of any size come as they went in, and each chunk is read from the file once', async (t) => {
  const cache = new ChunkCache({ totalBytes: 1024 * KiB })
  const account = await accountFolder(t)
  const store = await account.create({ chunkCache: cache })
  const base64 = Buffer.alloc(600_000, 'what is in here ')
    .toString('base64')
    .replace(/.{76}/g, '$&\r\n')
  const bytes = Buffer.concat([makeMessage('long', 300_000), Buffer.from(base64)])
  await appendAll(store, 'INBOX', [{ bytes }])
  for (const size of [64 * KiB, 60_000, 10_001]) {
    const pieces = []
    for (let at = 0; at < bytes.length; at += size) pieces.push(await read(store, 1, at, at + size))
    assert.ok(Buffer.concat(pieces).equals(bytes), `${size}`)
    assert.ok(cache.usedBytes <= CHUNK_BYTES)
  }
  // The rest of a chunk that was begun comes from memory.
  await read(store, 1, CHUNK_BYTES, CHUNK_BYTES + 64 * KiB)
  const { db } = openEncryptedDatabase({
    path: `${account.folder}/mail.db`,
    key: account.key,
    cipher: 'chacha20',
    // The index may just be written.
    isBlocking: true
  })
  db.exec('DELETE FROM content_chunks WHERE id % 65536 = 1')
  db.close()
  const rest = () => read(store, 1, CHUNK_BYTES + 64 * KiB, 2 * CHUNK_BYTES)
  assert.ok((await rest()).equals(bytes.subarray(CHUNK_BYTES + 64 * KiB, 2 * CHUNK_BYTES)))
  await assert.rejects(rest(), { code: 'ACCOUNT_DAMAGED' })
  await read(store, 1, 0, 100)
  assert.equal(cache.usedBytes, CHUNK_BYTES)
  await store.close()
  assert.equal(cache.usedBytes, 0)
})

test('a piece is the caller’s: what is done to it does not reach the next', async (t) => {
  const store = await (await accountFolder(t)).create()
  const bytes = makeMessage('long', 300_000)
  await appendAll(store, 'INBOX', [{ bytes }])
  for (let round = 0; round < 3; round++) {
    for await (const piece of store.readContent(1, 1000, 90_000)) {
      assert.ok(piece.equals(bytes.subarray(1000, 90_000)))
      piece.fill(0)
      if (piece.buffer instanceof ArrayBuffer) piece.buffer.transfer(0)
    }
  }
})
