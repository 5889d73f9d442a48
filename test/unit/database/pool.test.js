import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPlainDatabase } from '../../../src/database/open.js'
import { CachePool, cacheBudget } from '../../../src/database/pool.js'
import { scratchFolder } from '../../helpers/account-folder.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */
/** @typedef {{ db: Database, idleMs: number }} File */

const MiB = 1024 * 1024

/**
 * @param {import('node:test').TestContext} t - they are closed after it
 * @param {number} count
 * @returns {Promise<Database[]>} open files
 */
async function openFiles(t, count) {
  const folder = await scratchFolder(t)
  return Array.from({ length: count }, (_, index) => {
    const db = openPlainDatabase(join(folder, `${index}.db`))
    t.after(() => db.close())
    return db
  })
}

test('open files share one budget by halves, down to a floor, and get it back', async (t) => {
  const pool = new CachePool({ totalBytes: 4 * MiB, maxShareBytes: 2 * MiB })
  const files = await openFiles(t, 40)
  for (const db of files.slice(0, 2)) pool.join(db)
  const cacheKiB = () => files[0]?.pragma('cache_size', { simple: true })
  assert.equal(cacheKiB(), -2048)
  for (const db of files.slice(2, 5)) pool.join(db)
  assert.equal(cacheKiB(), -512)
  for (const db of files.slice(5)) pool.join(db)
  assert.equal(cacheKiB(), -256)
  for (const db of files.slice(1)) pool.leave(db)
  assert.equal(cacheKiB(), -2048)
})

test('files of which many messages are read get what is left of the budget, until others need it', async (t) => {
  const pool = new CachePool({
    totalBytes: 64 * MiB,
    maxShareBytes: 4 * MiB,
    maxReaderBytes: 32 * MiB
  })
  const files = await openFiles(t, 16)
  const caches = () =>
    files.map((db) => -Number(db.pragma('cache_size', { simple: true })) / 1024).slice(0, 3)
  const [one, two, three] = /** @type {[Database, Database, Database]} */ (files.slice(0, 3))
  for (const db of [one, two, three]) pool.join(db)
  pool.noteReads(one, 999)
  assert.deepEqual(caches(), [4, 4, 4])
  pool.noteReads(one, 1)
  assert.deepEqual(caches(), [32, 4, 4])
  assert.equal(pool.grantedBytes, 40 * MiB)
  pool.noteReads(two, 5000)
  assert.deepEqual(caches(), [16, 16, 4])
  for (const db of files.slice(3)) pool.join(db)
  assert.deepEqual(caches(), [4, 4, 4])
  assert.equal(pool.grantedBytes, 64 * MiB)
  for (const db of files.slice(3)) pool.leave(db)
  // One that was closed and is opened again has to be read again first.
  pool.leave(two)
  pool.join(two)
  assert.deepEqual(caches(), [32, 4, 4])
})

test('where there is not enough for all, files that nobody uses leave their room to those that are used', async (t) => {
  const pool = new CachePool({
    totalBytes: 64 * MiB,
    maxShareBytes: 8 * MiB,
    maxReaderBytes: 32 * MiB
  })
  const files = (await openFiles(t, 33)).map((db) => ({ db, idleMs: 0 }))
  const cachesKiB = () =>
    files.slice(0, 3).map(({ db }) => -Number(db.pragma('cache_size', { simple: true })))
  const [one, two, three] = /** @type {[File, File, File]} */ (files.slice(0, 3))
  for (const file of files.slice(0, 8)) pool.join(file.db, () => file.idleMs)
  for (const file of files.slice(1)) file.idleMs = 60_000
  pool.look()
  assert.deepEqual(cachesKiB(), [8192, 8192, 8192], 'there is enough')
  for (const file of files.slice(8)) pool.join(file.db, () => file.idleMs)
  assert.deepEqual(cachesKiB(), [1024, 1024, 1024], 'whoever has just come may be about to work')
  pool.look()
  assert.deepEqual(cachesKiB(), [8192, 128, 128])
  pool.noteReads(one.db, 1000)
  assert.deepEqual(cachesKiB(), [32_768, 128, 128])
  pool.noteReads(two.db, 1)
  assert.deepEqual(
    cachesKiB(),
    [32_768, 8192, 128],
    'who reads again need not wait for the next look'
  )
  three.idleMs = 1
  two.idleMs = 1
  pool.look()
  assert.deepEqual(cachesKiB(), [32_768, 8192, 8192])
  assert.ok(pool.grantedBytes <= 64 * MiB)
  for (const { db } of files.slice(8)) pool.leave(db)
  assert.deepEqual(cachesKiB(), [8192, 8192, 8192])
})

test('a file of which SQLite can be told nothing is not in the way of others', async (t) => {
  const pool = new CachePool({ totalBytes: 2 * MiB, maxShareBytes: 2 * MiB })
  const [broken, sound] = /** @type {[Database, Database]} */ (await openFiles(t, 2))
  pool.join(broken)
  broken.close()
  assert.throws(() => pool.join(broken), /not open/)
  pool.join(sound)
  assert.equal(sound.pragma('cache_size', { simple: true }), -1024)
  pool.look()
  pool.leave(broken)
  assert.equal(sound.pragma('cache_size', { simple: true }), -2048)
})

test('page caches leave seven eighths of a small machine to others', () => {
  assert.equal(cacheBudget(256 * MiB, 1024 * MiB), 128 * MiB)
  assert.equal(cacheBudget(256 * MiB, 16 * 1024 * MiB), 256 * MiB)
  assert.equal(cacheBudget(256 * MiB, 100 * MiB + 7), 12.5 * MiB)
})
