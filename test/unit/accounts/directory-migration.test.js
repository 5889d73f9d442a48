/**
 * A directory of an older version, filled as that one did, is the same directory afterwards.
 */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { openDirectory } from '../../../src/accounts/directory.js'
import { migrate, readMigrations } from '../../../src/database/migrate.js'
import { openPlainDatabase } from '../../../src/database/open.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { recordingLogger } from '../../helpers/log-lines.js'
import { ManualClock } from '../../helpers/manual-clock.js'

const MIGRATIONS = fileURLToPath(new URL('../../../migrations/directory/', import.meta.url))

/**
 * @param {import('node:test').TestContext} t
 * @param {number} version
 */
async function oldDirectory(t, version) {
  const folder = await scratchFolder(t)
  const older = join(folder, 'migrations')
  mkdirSync(older)
  for (const name of readdirSync(MIGRATIONS))
    if (Number(name.slice(0, 4)) <= version) copyFileSync(join(MIGRATIONS, name), join(older, name))
  const path = join(folder, 'directory.db')
  const db = openPlainDatabase(path)
  const clock = new ManualClock()
  migrate(db, readMigrations(pathToFileURL(older)), { clock })
  const { logger } = recordingLogger()
  return { db, open: () => openDirectory({ path, clock, logger }) }
}

test('keys that stood in the rows of accounts stand beside them (0006)', async (t) => {
  const { db, open } = await oldDirectory(t, 5)
  db.exec(`INSERT INTO tenants (id, created_at_ms) VALUES ('example.org', 1);
    INSERT INTO domains (id, name, created_at_ms, tenant_id) VALUES (1, 'example.org', 1, 'example.org')`)
  const seal = (/** @type {number} */ n) => Buffer.alloc(1216, n)
  for (const n of [1, 2, 3]) {
    db.prepare(
      `INSERT INTO accounts (id, domain_id, address, folder, created_at_ms, cipher, used_bytes, seal_recipient, seal_public_key)
       VALUES (?, 1, ?, ?, 1, 'chacha20', ?, ?, ?)`
    ).run(`a${n}`, `u${n}@example.org`, `mail/${n}`, n * 100, `age1pq1${n}`.repeat(200), seal(n))
    db.prepare('INSERT INTO addresses VALUES (?, ?)').run(`u${n}@example.org`, `a${n}`)
    for (const number of [1, 2])
      db.prepare('INSERT INTO seal_identities VALUES (?, ?, ?, 1, ?, 1)').run(
        ...[`a${n}`, number, `age1pq1${n}${number}`.repeat(200), Buffer.alloc(61, 10 * n + number)]
      )
  }
  db.close()

  const directory = open()
  t.after(() => directory.close())
  for (const n of [1, 2, 3]) {
    const account = await directory.findByAddress(`u${n}@example.org`)
    assert.equal(account?.id, `a${n}`)
    assert.equal(account.usedBytes, n * 100)
    assert.equal(account.sealRecipient, `age1pq1${n}`.repeat(200))
    assert.deepEqual(account.sealPublicKey, seal(n))
    assert.deepEqual(
      (await directory.listSealIdentities(`a${n}`)).map(({ number, recipient, wrappedSecret }) => [
        number,
        recipient.slice(0, 9),
        wrappedSecret[0]
      ]),
      [
        [2, `age1pq1${n}2`, 10 * n + 2],
        [1, `age1pq1${n}1`, 10 * n + 1]
      ]
    )
  }
  await directory.deleteAccount('a2')
  assert.equal(await directory.findByAddress('u2@example.org'), null)
  assert.deepEqual(await directory.listSealIdentities('a2'), [])
  assert.deepEqual((await directory.quickCheck()).problems, [])
})

test('each tenant of an older audit log has its share (0008), and nothing of one that had its id before (0011)', async (t) => {
  const { db, open } = await oldDirectory(t, 7)
  db.exec(`INSERT INTO tenants (id, created_at_ms) VALUES ('again', 1), ('first', 1);
    INSERT INTO audit (at_ms, action, tenant_id, detail) VALUES (1, 'tenant-create', 'again', NULL),
      (2, 'tenant-create', 'first', NULL), (3, 'tenant-delete', NULL, '{"tenant":"again"}'), (4, 'backup', NULL, NULL),
      (5, 'tenant-set', 'again', NULL)`)
  db.close()
  const directory = open()
  t.after(() => directory.close())
  const seen = async (/** @type {string} */ tenant, isPresentTenant = true) =>
    (await directory.pageAudit({ tenant, isPresentTenant, limit: 9 })).map(({ atMs }) => atMs)
  assert.deepEqual(await seen('again'), [5])
  assert.deepEqual(await seen('again', false), [5, 1])
  assert.deepEqual(await seen('first'), [2])
  assert.deepEqual(await seen('gone'), [])
  await directory.close()
  const after = openPlainDatabase(db.name, { isReadOnly: true })
  assert.deepEqual(after.prepare('SELECT tenant, events FROM audit_shares').raw().all(), [
    ['', 1],
    ['again', 2],
    ['first', 1]
  ])
  after.close()
})

test('restores that the audit log knows of are counted (0013)', async (t) => {
  const { db, open } = await oldDirectory(t, 12)
  const note = db.prepare('INSERT INTO audit (at_ms, account_id, action) VALUES (1, ?, ?)')
  for (const action of [
    'account-create',
    'restore-switched',
    'restore-checked',
    'restore-switched'
  ])
    note.run('a1', action)
  note.run('a2', 'restore-deleted')
  note.run('a3', 'account-delete')
  db.close()
  const directory = open()
  t.after(() => directory.close())
  const lifts = await Promise.all(['a1', 'a2', 'a3'].map((id) => directory.findLifts(id)))
  assert.deepEqual(lifts, [2, 1, 0])
})
