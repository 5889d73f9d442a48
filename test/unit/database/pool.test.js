import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { openPlainDatabase } from '../../../src/database/open.js'
import { CachePool } from '../../../src/database/pool.js'
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
  const leave = files.slice(0, 2).map((db) => pool.join(db))
  const cacheKiB = () => files[0]?.pragma('cache_size', { simple: true })
  assert.equal(cacheKiB(), -2048)
  leave.push(...files.slice(2, 5).map((db) => pool.join(db)))
  assert.equal(cacheKiB(), -512)
  leave.push(...files.slice(5).map((db) => pool.join(db)))
  assert.equal(cacheKiB(), -256)
  for (const end of leave.slice(1)) end()
  assert.equal(cacheKiB(), -2048)
})
