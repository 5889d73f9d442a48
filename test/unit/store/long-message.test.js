/**
 * Messages of more than one chunk: how they are cut, and what is read of them.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { CHUNK_BYTES } from '../../../src/store/chunk-codec.js'
import { accountFolder, appendOne, makeMessage, readBytes } from '../../helpers/account-folder.js'

/** @param {import('node:test').TestContext} t */
async function setup(t) {
  const account = await accountFolder(t)
  const store = await account.create()
  const { view } = await store.openView('INBOX')
  /** Another connection, beside the store's. */
  const database = () => {
    const { folder, key } = account
    const { db } = openEncryptedDatabase({ path: `${folder}/mail.db`, key, cipher: 'chacha20' })
    t.after(() => db.close())
    return db
  }
  return { store, view, database }
}

/** @param {number} outputLength - bytes */
const noise = (outputLength) => createHash('shake256', { outputLength }).update('x').digest()

for (const [what, bytes] of /** @type {const} */ ([
  ['text', makeMessage('ranges', 3 * CHUNK_BYTES + 4567)],
  ['noise', noise(3 * CHUNK_BYTES + 4567)]
]))
  test(`any range of a large message of ${what} is exactly that range`, async (t) => {
    const { store, view } = await setup(t)
    const uid = await appendOne(store, 'INBOX', bytes)
    const end = bytes.length + 1000
    await fc.assert(
      fc.asyncProperty(fc.nat(end), fc.nat(end), async (from, to) => {
        assert.deepEqual(
          await readBytes(store, view, uid, from, to),
          bytes.subarray(from, Math.max(from, to))
        )
      }),
      { numRuns: 60 }
    )
    assert.deepEqual((await store.verify()).problems, [])
  })

test('a long message has chunks as large as they may be without a long row', async (t) => {
  const { store, database } = await setup(t)
  const base64 = noise(300_000).toString('base64').replace(/.{76}/g, '$&\r\n')
  const digits = Array.from(noise(300_000), (byte) => byte % 10).join('')
  const long = [base64, digits, noise(300_000)].map((body) =>
    Buffer.concat([Buffer.from('Subject: long\r\n\r\n'), Buffer.from(body)])
  )
  await appendOne(store, 'INBOX', noise(CHUNK_BYTES))
  await appendOne(store, 'INBOX', makeMessage('text', CHUNK_BYTES + 1))
  for (const bytes of long) await appendOne(store, 'INBOX', bytes)
  const contents = database().prepare(
    `SELECT size, chunk_size / 1024 AS kibibytes, count(*) AS chunks, max(length(data)) <= 32768 AS isShort
      FROM contents c JOIN content_chunks k ON k.id / 65536 = c.id GROUP BY c.id ORDER BY c.id`
  )
  const [base64Size = 0, digitsSize = 0, noiseSize = 0] = long.map(({ length }) => length)
  const chunks = (/** @type {number} */ size, /** @type {number} */ kibibytes) => {
    return { size, kibibytes, chunks: Math.ceil(size / kibibytes / 1024) }
  }
  assert.deepEqual(contents.all(), [
    { ...chunks(CHUNK_BYTES, 128), isShort: 0 },
    { ...chunks(CHUNK_BYTES + 1, 128), isShort: 1 },
    { ...chunks(base64Size, 32), isShort: 1 },
    { ...chunks(digitsSize, 64), isShort: 1 },
    { ...chunks(noiseSize, 32), isShort: 1 }
  ])
})

test('a partial read touches only the chunks it needs', async (t) => {
  const { store, view, database } = await setup(t)
  const uid = await appendOne(store, 'INBOX', makeMessage('partial', 4 * CHUNK_BYTES))
  database().exec('DELETE FROM content_chunks WHERE id % 65536 IN (0, 3)')
  const [from, to] = [CHUNK_BYTES, 3 * CHUNK_BYTES]
  const bytes = await readBytes(store, view, uid, from, to)
  assert.equal(bytes.length, to - from)
  await assert.rejects(readBytes(store, view, uid, from, to + 1), {
    code: 'ACCOUNT_DAMAGED'
  })
})
