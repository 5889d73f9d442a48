import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPlainDatabase } from '../../../src/database/open.js'
import { CachePool, cacheBudget } from '../../../src/database/pool.js'
import { scratchFolder } from '../../helpers/account-folder.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

const MiB = 1024 * 1024

test('open files share one budget by halves, down to a floor, and get it back', async (t) => {
  const folder = await scratchFolder(t)
  const pool = new CachePool({ totalBytes: 4 * MiB, maxShareBytes: 2 * MiB })
  const files = Array.from({ length: 40 }, (_, index) => {
    const db = openPlainDatabase(join(folder, `${index}.db`))
    t.after(() => db.close())
    return db
  })
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
  const folder = await scratchFolder(t)
  const pool = new CachePool({
    totalBytes: 64 * MiB,
    maxShareBytes: 4 * MiB,
    maxReaderBytes: 32 * MiB
  })
  const files = Array.from({ length: 16 }, (_, index) => {
    const db = openPlainDatabase(join(folder, `${index}.db`))
    t.after(() => db.close())
    return db
  })
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

test('page caches leave seven eighths of a small machine to others', () => {
  assert.equal(cacheBudget(256 * MiB, 1024 * MiB), 128 * MiB)
  assert.equal(cacheBudget(256 * MiB, 16 * 1024 * MiB), 256 * MiB)
  assert.equal(cacheBudget(256 * MiB, 100 * MiB + 7), 12.5 * MiB)
})
