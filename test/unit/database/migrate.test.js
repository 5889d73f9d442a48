import assert from 'node:assert/strict'
import { appendFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { test } from 'node:test'
import { migrate, pendingMigrations, readMigrations } from '../../../src/database/migrate.js'
import { openPlainDatabase } from '../../../src/database/open.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { ManualClock } from '../../helpers/manual-clock.js'

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} files
 */
async function setup(t, files) {
  const folder = await scratchFolder(t)
  const write = (/** @type {Record<string, string>} */ more) => {
    for (const [name, sql] of Object.entries(more)) writeFileSync(join(folder, name), sql)
  }
  write(files)
  const db = openPlainDatabase(join(folder, 'a.db'))
  t.after(() => db.close())
  const clock = new ManualClock(1000)
  const url = pathToFileURL(folder)
  return { folder, write, db, clock, url, run: () => migrate(db, readMigrations(url), { clock }) }
}

const FIRST = { '0001-first.sql': 'CREATE TABLE a (x INTEGER) STRICT;' }
const BROKEN = { '0003-broken.sql': 'CREATE TABLE b (x); INSERT INTO nowhere VALUES (1);' }
const SECOND = { '0002-second.sql': 'ALTER TABLE a ADD COLUMN y INTEGER;' }

/** @param {import('better-sqlite3-multiple-ciphers').Database} db */
const tablesOf = (db) =>
  db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY name").pluck().all()

test('migrations are applied once, in order, and remembered with their checksum', async (t) => {
  const { db, run, write } = await setup(t, FIRST)
  assert.equal(run(), 1)
  assert.equal(run(), 0)
  write(SECOND)
  assert.equal(run(), 1)
  db.exec('INSERT INTO a (x, y) VALUES (1, 2)')
  const rows = db.prepare('SELECT version, name, applied_at FROM schema_migrations').all()
  assert.deepEqual(rows, [
    { version: 1, name: '0001-first.sql', applied_at: 1000 },
    { version: 2, name: '0002-second.sql', applied_at: 1000 }
  ])
})

test('a file of a newer program is refused with FILE_TOO_NEW', async (t) => {
  const { db, run } = await setup(t, FIRST)
  run()
  db.exec("INSERT INTO schema_migrations VALUES (2, '0002-later.sql', '', 0)")
  assert.throws(run, {
    code: 'FILE_TOO_NEW',
    detail: /^\S+\.db has schema 2, and this program knows none above 1: start the newer one/
  })
})

test('a migration that was edited after it was applied is refused', async (t) => {
  const { folder, run } = await setup(t, FIRST)
  run()
  appendFileSync(join(folder, '0001-first.sql'), '\n-- edited')
  assert.throws(run, { code: 'SCHEMA_MISMATCH' })
})

test('a migration that fails leaves nothing of itself, and those before it stay', async (t) => {
  const { db, run, write } = await setup(t, FIRST)
  run()
  write({ ...SECOND, ...BROKEN })
  assert.throws(run, /nowhere/)
  assert.equal(db.inTransaction, false)
  assert.deepEqual(tablesOf(db), ['a', 'schema_migrations'])
  db.exec('INSERT INTO a (x, y) VALUES (1, 2)')
})

test('a new file gets all migrations or none: they are one transaction, which waits for the disk once', async (t) => {
  const { db, run } = await setup(t, { ...FIRST, ...SECOND, ...BROKEN })
  assert.throws(run, /nowhere/)
  assert.equal(db.inTransaction, false)
  assert.deepEqual(tablesOf(db), [])
})

test('numbers must follow each other', async (t) => {
  const { url } = await setup(t, { ...FIRST, '0003-third.sql': '' })
  assert.throws(() => readMigrations(url), /0003-third/)
})

test('a new file has everything pending, and other files in the folder do not count', async (t) => {
  const { db, url } = await setup(t, { ...FIRST, ...SECOND, 'notes.txt': 'x' })
  const names = pendingMigrations(db, readMigrations(url)).map(({ name }) => name)
  assert.deepEqual(names, ['0001-first.sql', '0002-second.sql'])
})

test('two connections that migrate at the same time apply each file once', async (t) => {
  const { folder, url, clock, run } = await setup(t, FIRST)
  const other = openPlainDatabase(join(folder, 'a.db'))
  t.after(() => other.close())
  assert.equal(run() + migrate(other, readMigrations(url), { clock }), 1)
})
