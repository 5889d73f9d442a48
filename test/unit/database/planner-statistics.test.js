import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { test } from 'node:test'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { refreshStatistics } from '../../../src/database/planner-statistics.js'
import { scratchFolder } from '../../helpers/account-folder.js'

test('only large tables have statistics, and nothing is written where nothing is new', async (t) => {
  const path = join(await scratchFolder(t), 'a.db')
  const { db } = openEncryptedDatabase({
    path,
    key: randomBytes(32),
    cipher: 'chacha20',
    isNew: true
  })
  const known = () => db.prepare('SELECT tbl FROM sqlite_stat1 ORDER BY tbl').pluck().all()
  db.exec(
    'CREATE TABLE "a ""small"" one" (a); CREATE TABLE large (a); CREATE INDEX by_a ON large (a)'
  )
  db.exec('INSERT INTO "a ""small"" one" VALUES (1)')
  refreshStatistics(db)
  assert.equal(
    db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'").get(),
    undefined
  )

  db.exec(
    'INSERT INTO large WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT i FROM n'
  )
  refreshStatistics(db)
  assert.deepEqual(known(), ['large'])

  const changes = () => db.prepare('SELECT total_changes()').pluck().get()
  const before = changes()
  refreshStatistics(db)
  assert.equal(changes(), before)
  db.close()
})
