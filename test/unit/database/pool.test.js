import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPlainDatabase } from '../../../src/database/open.js'
import { CachePool, cacheBudget } from '../../../src/database/pool.js'
import { scratchFolder } from '../../helpers/account-folder.js'

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

test('page caches leave seven eighths of a small machine to others', () => {
  assert.equal(cacheBudget(256 * MiB, 1024 * MiB), 128 * MiB)
  assert.equal(cacheBudget(256 * MiB, 16 * 1024 * MiB), 256 * MiB)
  assert.equal(cacheBudget(256 * MiB, 100 * MiB + 7), 12.5 * MiB)
})
