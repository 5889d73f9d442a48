import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { ChunkCache } from '../../../src/store/chunk-cache.js'
import { CHUNK_BYTES } from '../../../src/store/chunk-codec.js'
import { accountFolder } from '../../helpers/account-folder.js'
import { appendAll } from '../../helpers/temporary-store.js'

/** @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore */

const MiB = 1024 * 1024

/** As far as the thread may be ahead. */
const AHEAD_BYTES = 8 * CHUNK_BYTES
const TOTAL_BYTES = 8 * MiB

/**
 * @param {number} chunks
 * @returns {Buffer} a message whose chunks are stored in each way: as text, as base64, and as they are
 */
function longMail(chunks) {
  /** @type {Uint8Array[]} */
  const parts = [Buffer.from('Subject: long\r\n\r\n')]
  for (let index = 0; index < chunks; index++) {
    const random = Buffer.alloc(CHUNK_BYTES)
    for (let at = 0; at < random.length; at++) random[at] = (at * at * (index + 7)) >> 3
    /** @type {Uint8Array[]} */
    const text = [
      Buffer.alloc(CHUNK_BYTES, `line ${index} of the text\r\n`),
      Buffer.from(random.toString('base64').replace(/.{76}/g, '$&\r\n')),
      random
    ]
    parts.push(/** @type {Uint8Array} */ (text[index % 3]).subarray(0, CHUNK_BYTES))
  }
  return Buffer.concat(parts).subarray(0, chunks * CHUNK_BYTES)
}

/**
 * @param {AccountStore} store
 * @param {number} start
 * @param {number} [end]
 * @returns {Promise<Buffer>}
 */
async function read(store, start, end) {
  const pieces = []
  for await (const piece of store.readContent(1, start, end)) pieces.push(piece)
  return Buffer.concat(pieces)
}

/**
 * Waits for the thread; fails instead of going on for ever.
 *
 * @param {ChunkCache} cache
 * @param {number} bytes
 */
async function untilUsed(cache, bytes) {
  for (let looks = 0; looks < 10_000 && cache.usedBytes < bytes; looks++) await setTimeout(5)
  assert.ok(cache.usedBytes >= bytes, `${cache.usedBytes} bytes`)
}

/**
 * Waits until the thread has waited in vain and left: only then are the chunks that it may bring no longer kept free.
 *
 * @param {ChunkCache} cache
 */
async function untilGone(cache) {
  while (!cache.reserve(TOTAL_BYTES / 2)) await setTimeout(1)
  cache.release(TOTAL_BYTES / 2)
}

/**
 * @param {import('node:test').TestContext} t
 * @param {{ bytes: Buffer }} options
 */
async function storeWith(t, { bytes }) {
  const cache = new ChunkCache({ totalBytes: TOTAL_BYTES })
  const account = await accountFolder(t)
  const store = await account.create({ chunkCache: cache })
  await appendAll(store, 'INBOX', [{ bytes }])
  /** @param {string} where - of content_chunks */
  const deleteChunks = (where) => {
    const { db } = openEncryptedDatabase({
      path: `${account.folder}/mail.db`,
      key: account.key,
      cipher: 'chacha20',
      // The index may just be written.
      isBlocking: true
    })
    db.exec(`DELETE FROM content_chunks WHERE ${where}`)
    db.close()
  }
  return { cache, store, deleteChunks }
}

test('who reads on finds the next chunks ready; who jumps about or takes all does not', async (t) => {
  const bytes = longMail(30)
  const { cache, store, deleteChunks } = await storeWith(t, { bytes })
  for (const chunk of [5, 20, 4, 12, 2])
    await read(store, chunk * CHUNK_BYTES, (chunk + 1) * CHUNK_BYTES)
  await read(store, 0)
  assert.equal(cache.usedBytes, 0)
  await read(store, 0, CHUNK_BYTES)
  await read(store, CHUNK_BYTES, 2 * CHUNK_BYTES)
  await untilUsed(cache, AHEAD_BYTES)
  // From now on they are in memory alone.
  deleteChunks('id % 65536 BETWEEN 2 AND 9')
  const piece = 64 * 1024
  for (let at = 2 * CHUNK_BYTES; at < 10 * CHUNK_BYTES; at += piece)
    assert.ok((await read(store, at, at + piece)).equals(bytes.subarray(at, at + piece)), `${at}`)
  await assert.rejects(read(store, 3 * CHUNK_BYTES, 4 * CHUNK_BYTES), { code: 'ACCOUNT_DAMAGED' })
})

test('who pauses longer than the thread waits finds what it had read, and has the next read', async (t) => {
  const bytes = longMail(40)
  const { cache, store, deleteChunks } = await storeWith(t, { bytes })
  const readChunks = async (/** @type {number} */ from, /** @type {number} */ to) => {
    for (let at = from * CHUNK_BYTES; at < to * CHUNK_BYTES; at += CHUNK_BYTES)
      assert.ok(
        (await read(store, at, at + CHUNK_BYTES)).equals(bytes.subarray(at, at + CHUNK_BYTES))
      )
  }
  await readChunks(0, 2)
  for (let chunk = 2; chunk < 30;) {
    await untilGone(cache)
    const { usedBytes } = cache
    assert.ok(usedBytes >= AHEAD_BYTES / 2 && usedBytes <= AHEAD_BYTES, `${usedBytes} bytes`)
    // They are in memory alone now.
    const end = chunk + usedBytes / CHUNK_BYTES
    deleteChunks(`id % 65536 BETWEEN ${chunk} AND ${end - 1}`)
    await readChunks(chunk, end)
    chunk = end
  }
})

const NOISE = createHash('shake256', { outputLength: 5 * MiB })
  .update('noise')
  .digest()

for (const [what, bytes] of /** @type {const} */ ([
  ['of large chunks', longMail(40)],
  ['of small chunks', NOISE]
]))
  test(`the bytes are the message’s ${what}, however they are asked for, and by how many`, async (t) => {
    const { store } = await storeWith(t, { bytes })
    const inPieces = async (/** @type {number} */ size) => {
      for (let at = 0; at < bytes.length; at += size) {
        const piece = await read(store, at, at + size)
        assert.ok(piece.equals(bytes.subarray(at, at + size)), `${size} at ${at}`)
      }
    }
    for (const size of [60_000, CHUNK_BYTES, 200_000, 3 * MiB]) await inPieces(size)
    const whole = async () => assert.ok((await read(store, 0)).equals(bytes))
    await whole()
    await Promise.all([whole(), whole(), inPieces(64 * 1024), inPieces(64 * 1024), inPieces(MiB)])
  })

test('a damaged chunk is told to who reads it, and not to who reads what is before it', async (t) => {
  const bytes = longMail(16)
  const { store, deleteChunks } = await storeWith(t, { bytes })
  deleteChunks('id % 65536 = 6')
  for (let chunk = 0; chunk < 6; chunk++)
    assert.ok(
      (await read(store, chunk * CHUNK_BYTES, (chunk + 1) * CHUNK_BYTES)).equals(
        bytes.subarray(chunk * CHUNK_BYTES, (chunk + 1) * CHUNK_BYTES)
      )
    )
  await assert.rejects(read(store, 6 * CHUNK_BYTES), { code: 'ACCOUNT_DAMAGED' })
  const rest = await read(store, 7 * CHUNK_BYTES)
  assert.ok(rest.equals(bytes.subarray(7 * CHUNK_BYTES)))
})

test('small chunks are read some at a time, but for those that the thread brings', async (t) => {
  const { cache, store, deleteChunks } = await storeWith(t, { bytes: NOISE })
  const piece = 32 * 1024
  const pieceAt = (/** @type {number} */ at) => NOISE.subarray(at, at + piece)
  const whole = store.readContent(1)
  assert.ok((await whole.next()).value?.equals(pieceAt(0)))
  // What follows the first three has not been read yet.
  deleteChunks('id % 65536 BETWEEN 1 AND 5')
  for (const chunk of [1, 2, 3])
    assert.ok((await whole.next()).value?.equals(pieceAt(chunk * piece)), `${chunk}`)
  await assert.rejects(whole.next(), { code: 'ACCOUNT_DAMAGED' })

  await read(store, 6 * piece, 7 * piece)
  await read(store, 7 * piece, 8 * piece)
  await untilUsed(cache, AHEAD_BYTES)
  // But for one, which is taken, they are in memory alone now.
  deleteChunks('id % 65536 BETWEEN 8 AND 39 AND id % 65536 <> 10')
  await read(store, 10 * piece, 11 * piece)
  const rest = await read(store, 8 * piece)
  assert.ok(rest.equals(NOISE.subarray(8 * piece)))
})

test('many readers stay within the memory that they have together, and give all of it back', async (t) => {
  const cache = new ChunkCache({ totalBytes: 3 * MiB })
  const bytes = longMail(24)
  const stores = []
  for (let index = 0; index < 4; index++) {
    const store = await (await accountFolder(t)).create({ chunkCache: cache })
    await appendAll(store, 'INBOX', [{ bytes }])
    stores.push(store)
  }
  // Half of it is for chunks that nobody has asked for yet; now others have it.
  assert.ok(cache.reserve(MiB))
  for (const store of stores) {
    await read(store, 0, 2 * CHUNK_BYTES)
    await read(store, 2 * CHUNK_BYTES, 3 * CHUNK_BYTES)
  }
  await setTimeout(50)
  assert.equal(cache.usedBytes, 0)
  cache.release(MiB)
  await read(/** @type {AccountStore} */ (stores[0]), 3 * CHUNK_BYTES, 4 * CHUNK_BYTES)
  await untilUsed(cache, AHEAD_BYTES)
  let most = 0
  await Promise.all(
    stores.map(async (store) => {
      for (let at = 4 * CHUNK_BYTES; at < bytes.length; at += 64 * 1024) {
        const piece = await read(store, at, at + 64 * 1024)
        assert.ok(piece.equals(bytes.subarray(at, at + 64 * 1024)))
        most = Math.max(most, cache.usedBytes)
      }
    })
  )
  assert.ok(most > CHUNK_BYTES && most <= 3 * MiB, `${most} bytes`)
  await Promise.all(stores.map((store) => store.close()))
  assert.equal(cache.usedBytes, 0)
  // What was reserved is free again.
  assert.ok(cache.reserve(1.5 * MiB))
})

test('a store closes while a thread reads ahead', async (t) => {
  const bytes = longMail(40)
  for (const pauseMs of [0, 1, 5, 20]) {
    const { cache, store } = await storeWith(t, { bytes })
    await read(store, 0, CHUNK_BYTES)
    await read(store, CHUNK_BYTES, 2 * CHUNK_BYTES)
    await setTimeout(pauseMs)
    await store.close()
    assert.equal(cache.usedBytes, 0)
    assert.ok(cache.reserve(TOTAL_BYTES / 2))
  }
})
