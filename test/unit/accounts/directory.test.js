import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, open as openFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import Database from 'better-sqlite3-multiple-ciphers'
import { openDirectory } from '../../../src/accounts/directory.js'
import { credential, newAccount } from '../../helpers/directory-rows.js'
import { isOnDisk } from '../../helpers/disk-search.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { recordingLogger } from '../../helpers/log-lines.js'
import { countTurns } from '../../helpers/turns.js'
import { directoryContract } from './directory-contract/index.js'

/** @typedef {import('../../../src/accounts/directory-port.js').Credential} Credential */

/** @param {import('node:test').TestContext} t */
async function setUp(t) {
  const data = await mkdtemp(join(tmpdir(), 'letterlock-directory-'))
  const path = join(data, 'directory.db')
  const clock = new ManualClock()
  const { logger, lines } = recordingLogger()
  const open = (/** @type {Partial<Parameters<typeof openDirectory>[0]>} */ options = {}) =>
    openDirectory({ path, defaultDomain: 'example.org', clock, logger, ...options })
  const directory = open()
  t.after(async () => {
    await directory.close().catch(() => {})
    await rm(data, { recursive: true, force: true })
  })
  return { data, path, clock, directory, open, lines }
}

directoryContract('directory.db', setUp)

test('a revoked credential is gone from the file and from the write-ahead log', async (t) => {
  const { data, path, directory } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  for (let index = 0; index < 30; index++) {
    await directory.createAccount(newAccount(data, `other${index}@example.org`))
  }
  const app = credential(input.id, {
    kind: 'app-password',
    argon2: null,
    pepperId: null,
    lookup: randomBytes(8)
  })
  const [password] = /** @type {[Credential]} */ (input.keys.credentials)
  await directory.insertCredential(app, password)
  assert.equal(isOnDisk(path, app.wrappedKey), true, 'the search finds what is there')
  assert.deepEqual(
    await directory.findAppPassword(input.id, /** @type {Buffer} */ (app.lookup)),
    app
  )

  assert.equal(await directory.deleteCredential(app.id), true)
  assert.equal(await directory.deleteCredential(app.id), false)
  for (const bytes of [app.wrappedKey, app.commitment, app.salt]) {
    assert.equal(isOnDisk(path, bytes), false)
  }
  assert.equal((await stat(`${path}-wal`)).size, 0)
})

test('a replaced credential leaves nothing of the old wrap', async (t) => {
  const { data, path, directory } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  const [old] = /** @type {[Credential]} */ (input.keys.credentials)
  const next = { ...old, version: 2, wrappedKey: randomBytes(61), salt: randomBytes(16) }
  assert.equal(await directory.replaceCredentials([next], { version: 1 }), true)
  assert.deepEqual(await directory.findSingleCredential(input.id, 'password'), next)
  assert.equal(isOnDisk(path, old.wrappedKey), false)
  assert.equal(isOnDisk(path, old.salt), false)
  assert.equal(isOnDisk(path, next.wrappedKey), true)
})

test('deleting an account erases every wrapped key of it first, and lists the folder', async (t) => {
  const { data, path, directory } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  await directory.createAccount(newAccount(data, 'bert@example.org'))
  await directory.deleteAccount(input.id)
  for (const { wrappedKey, salt, commitment } of input.keys.credentials) {
    for (const bytes of [wrappedKey, salt, commitment]) assert.equal(isOnDisk(path, bytes), false)
  }
  for (const { wrappedSecret } of input.keys.sealIdentities) {
    assert.equal(isOnDisk(path, wrappedSecret), false)
  }
  assert.equal(await directory.findByAddress('anna@example.org'), null)
  assert.deepEqual(await directory.listRemovals(), [input.folder])
  await directory.finishRemoval(input.folder)
  assert.deepEqual(await directory.listRemovals(), [])
})

test('a folder that was listed for removal before an account came to stand in it stays, and goes with the account', async (t) => {
  const { data, path, directory } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  const db = new Database(path)
  db.prepare('INSERT INTO removals VALUES (?, 1)').run(relative(data, input.folder))
  db.close()
  assert.deepEqual(await directory.listRemovals(), [])
  await directory.deleteAccount(input.id)
  assert.deepEqual(await directory.listRemovals(), [input.folder])
})

test('a rekey waits beside the present rows, and takes their place or is forgotten', async (t) => {
  const { data, path, directory } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  const next = { ...newAccount(data, 'x@example.org').keys, keyEpoch: 2 }
  next.credentials = next.credentials.map((row) => ({ ...row, accountId: input.id }))
  next.sealIdentities = next.sealIdentities.map((row) => ({ ...row, accountId: input.id }))
  const rekey = {
    accountId: input.id,
    wrappedNextKey: randomBytes(61),
    next,
    startedAtMs: 5
  }
  await directory.beginRekey(rekey)
  assert.deepEqual(await directory.findRekey(input.id), rekey)
  assert.equal((await directory.findAccount(input.id))?.keyEpoch, 1)
  await directory.cancelRekey(input.id, 2)
  assert.equal(await directory.findRekey(input.id), null)
  assert.equal(isOnDisk(path, rekey.wrappedNextKey), false)

  await directory.beginRekey(rekey)
  await directory.finishRekey(input.id, 2)
  assert.equal(await directory.findRekey(input.id), null)
  const account = await directory.findAccount(input.id)
  assert.equal(account?.keyEpoch, 2)
  assert.deepEqual(account?.sealPublicKey, next.sealPublicKey)
  assert.deepEqual(await directory.listSealIdentities(input.id), next.sealIdentities)
  for (const { wrappedKey } of input.keys.credentials) {
    assert.equal(isOnDisk(path, wrappedKey), false)
  }
})

test('a reader in another process postpones the truncation, and says so', async (t) => {
  const { data, path, directory, open, lines } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await directory.createAccount(input)
  const other = open()
  // A second connection with a read transaction stands for the other process.
  const reader = new Database(path)
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM accounts').get()
  await directory.deleteCredential(String(input.keys.credentials[0]?.id))
  assert.ok(lines.some(({ msg }) => String(msg).includes('truncated')))
  assert.notEqual((await stat(`${path}-wal`)).size, 0)
  reader.exec('COMMIT')
  reader.close()
  await directory.flush()
  assert.equal((await stat(`${path}-wal`)).size, 0)
  await other.close()
})

test('keys that a command has erased, and whose log a reader held until its end, go from the log of a quiet server', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { data, path, directory: server, open } = await setUp(t)
  const input = newAccount(data, 'anna@example.org')
  await server.createAccount(input)
  const [{ wrappedKey }] = /** @type {[Credential]} */ (input.keys.credentials)
  const reader = new Database(path)
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM accounts').get()
  const command = open()
  await command.deleteAccount(input.id)
  await command.close()
  t.mock.timers.tick(60_000)
  assert.equal(isOnDisk(path, wrappedKey), true, 'the reader may still ask for it')
  reader.exec('COMMIT')
  reader.close()
  t.mock.timers.tick(60_000)
  while ((await stat(`${path}-wal`)).size > 0) await sleep(20)
  assert.equal(isOnDisk(path, wrappedKey), false)
})

test('two processes may open a new directory side by side', async (t) => {
  const { data } = await setUp(t)
  const script = `
    import { openDirectory } from '${new URL('../../../src/accounts/directory.js', import.meta.url)}'
    const logger = { warn() {}, error() {} }
    const directory = openDirectory({ path: process.argv[1], clock: { nowMs: () => 1 }, logger })
    await directory.listAccounts()
    await directory.close()`
  const path = join(data, 'fresh', 'directory.db')
  const run = () =>
    promisify(execFile)(process.execPath, ['--input-type=module', '-e', script, path])
  await Promise.all([run(), run(), run()])
  assert.ok((await stat(path)).size > 0)
})

test('a page of a long audit log in which a filter lets little through is put together in many turns', async (t) => {
  const { path, directory } = await setUp(t)
  const db = new Database(path)
  db.exec(
    `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 100000)
     INSERT INTO audit (at_ms, action, tenant_id) SELECT n, iif(n % 45000 = 7, 'rare', 'login'), 'acme' FROM n`
  )
  db.close()
  const { answer: rare, turns } = await countTurns(() =>
    directory.pageAudit({ action: 'rare', limit: 50 })
  )
  assert.deepEqual(
    rare.map(({ id }) => id),
    [90_007, 45_007, 7]
  )
  assert.ok(turns >= 5, `${turns} turns`)
  const idsOf = async (/** @type {Parameters<typeof directory.pageAudit>[0]} */ query) =>
    (await directory.pageAudit(query)).map(({ id }) => id)
  const action = 'rare'
  assert.deepEqual(await idsOf({ action, limit: 2, tenant: 'acme' }), [90_007, 45_007])
  assert.deepEqual(await idsOf({ action, limit: 2, beforeId: 45_007 }), [7])
  assert.deepEqual(await idsOf({ action, limit: 2, isOldestFirst: true }), [7, 45_007])
  assert.deepEqual(
    await idsOf({ action, limit: 2, isOldestFirst: true, afterId: 7 }),
    [45_007, 90_007]
  )
  assert.deepEqual(await idsOf({ action, limit: 9, sinceMs: 45_007, untilMs: 90_007 }), [45_007])
  assert.deepEqual(await idsOf({ limit: 2, beforeId: 1 }), [])
})

test('a page of what maintenance did to one tenant or account of many does not hold up others', async (t) => {
  const { data, path, directory } = await setUp(t)
  const anna = await directory.createAccount(newAccount(data, 'anna@example.org'))
  const bert = await directory.createAccount(newAccount(data, 'bert@example.com'))
  const db = new Database(path)
  db.prepare(
    `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)
     INSERT INTO maintenance_runs (at_ms, account_id, job, why, result, before, after, took_ms)
     SELECT n, iif(n % 9000 = 7, $bert, $anna), 'optimize', 'by schedule', 'done', '{}', '{}', 1 FROM n`
  ).run({ anna: anna.id, bert: bert.id })
  db.close()
  const ask = async (/** @type {Parameters<typeof directory.pageMaintenanceRuns>[0]} */ query) =>
    (await directory.pageMaintenanceRuns(query)).map(({ id }) => id)
  const tenant = 'example.com'
  const { answer, turns } = await countTurns(() => ask({ tenant, limit: 50 }))
  assert.deepEqual(answer, [18_007, 9007, 7])
  assert.ok(turns >= 5, `${turns} turns`)
  assert.deepEqual(await ask({ tenant, limit: 2 }), [18_007, 9007])
  assert.deepEqual(await ask({ tenant, limit: 9, beforeId: 9007 }), [7])
  assert.deepEqual(await ask({ tenant, limit: 9, accountId: anna.id }), [])
  assert.deepEqual(await ask({ limit: 9, accountId: bert.id }), [18_007, 9007, 7])
  assert.deepEqual(await ask({ limit: 2 }), [20_000, 19_999])
  assert.deepEqual(await ask({ limit: 2, beforeId: 1 }), [])
})

test('what has become old is removed a part at a time, and all of it by itself', async (t) => {
  const { data, path, directory, clock } = await setUp(t)
  const anna = await directory.createAccount(newAccount(data, 'anna@example.org'))
  await directory.flush()
  const db = new Database(path)
  db.exec(
    `DELETE FROM audit;
     WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2000)
     INSERT INTO audit (at_ms, action) SELECT n, 'login' FROM n`
  )
  db.prepare(
    `WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 2000)
     INSERT INTO maintenance_runs (at_ms, account_id, job, why, result, before, after, took_ms)
     SELECT n, ?, 'optimize', 'by schedule', 'done', '{}', '{}', 1 FROM n`
  ).run(anna.id)
  // An event of yesterday says that the clock is right.
  db.prepare("INSERT INTO audit (at_ms, action) VALUES (?, 'login')").run(clock.nowMs())
  db.close()
  const left = async () => [
    (await directory.pageAudit({ limit: 5000 })).length,
    (await directory.listMaintenanceRuns({ limit: 5000 })).length
  ]
  clock.advance(2 * 24 * 3_600_000)
  directory.audit({ action: 'token-create' })
  await directory.flush()
  const [events = 0, runs = 0] = await left()
  assert.ok(events > 1000 && runs > 1000, `${events} events and ${runs} runs after one write`)
  for (let now = await left(); now.join() !== '2,0'; now = await left()) await sleep(20)
})

test('a damaged directory is called that, and no mailbox is', async (t) => {
  const { data, path, directory, open } = await setUp(t)
  await directory.createAccount(newAccount(data, 'anna@example.org'))
  await directory.close()
  const db = new Database(path)
  const pages = /** @type {number[]} */ (
    db
      .prepare("SELECT pageno FROM dbstat WHERE name NOT IN ('sqlite_schema', 'schema_migrations')")
      .pluck()
      .all()
  )
  db.close()
  const file = await openFile(path, 'r+')
  for (const page of pages) await file.write(Buffer.alloc(4096, 0xff), 0, 4096, (page - 1) * 4096)
  await file.close()
  const again = open()
  const damaged = { code: 'DIRECTORY_DAMAGED', detail: /^directory\.db: SQLITE_CORRUPT/ }
  await assert.rejects(again.findByAddress('anna@example.org'), damaged)
  await assert.rejects(again.createAccount(newAccount(data, 'ben@example.org')), damaged)
  await again.close()
  await writeFile(path, Buffer.alloc(8192, 0xff))
  assert.throws(open, { code: 'DIRECTORY_DAMAGED', detail: /^directory\.db: SQLITE_NOTADB; / })
})

test('a directory that cannot be written says so once a minute, and writes what waited when it can', async (t) => {
  const { directory, path, clock, lines } = await setUp(t)
  const failures = () => lines.filter(({ msg }) => /writing failed/.test(String(msg))).length
  const db = new Database(path)
  t.after(() => db.close())
  db.exec('ALTER TABLE audit RENAME TO away')
  directory.audit({ action: 'login' })
  while (failures() === 0) await sleep(10)
  // Some attempts more.
  await sleep(2000)
  assert.equal(failures(), 1)
  clock.advance(60_000)
  while (failures() === 1) await sleep(10)
  db.exec('ALTER TABLE away RENAME TO audit')
  while ((await directory.pageAudit({ limit: 100 })).length === 0) await sleep(10)
  assert.equal(failures(), 2)
})

test('while another process holds the lock, no more waits in memory than may, what is being written included', async (t) => {
  const { data, path, directory } = await setUp(t)
  const { id: accountId } = await directory.createAccount(newAccount(data, 'anna@example.org'))
  const db = new Database(path)
  t.after(() => db.close())
  const count = (/** @type {string} */ sql) => db.prepare(sql).pluck().get()
  const add = (/** @type {number} */ number) => {
    for (let index = 0; index < number; index++) {
      directory.audit({ action: 'login' })
      directory.recordMaintenance({
        accountId,
        job: 'optimize',
        state: { doneAtMs: 5, failures: 0, failedCode: null, nextTryAtMs: null },
        run: { atMs: 1, why: 'due', note: null, before: {}, after: {}, tookMs: 1, result: 'done' }
      })
    }
  }
  db.exec('BEGIN IMMEDIATE')
  add(9000)
  const flushed = directory.flush()
  await sleep(1)
  add(1003)
  db.exec('ROLLBACK')
  await flushed
  await directory.flush()
  assert.equal(count("SELECT count(*) FROM audit WHERE action = 'login'"), 10_000)
  assert.equal(count("SELECT detail FROM audit WHERE action = 'audit-overflow'"), '{"dropped":3}')
  assert.equal(count('SELECT count(*) FROM maintenance_runs'), 10_000)
  // Written, they leave their places to others.
  add(10_000)
  await directory.flush()
  assert.equal(count("SELECT count(*) FROM audit WHERE action = 'login'"), 20_000)
})
