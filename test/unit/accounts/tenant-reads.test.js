/**
 * What is asked of the directory for one tenant, or for the mailboxes that a process has open, reads no row of others: told by
 * the programs of SQLite's statements, in which reading all of a table or index is an instruction of its own.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { DirectoryConnection } from '../../../src/accounts/directory-connection.js'
import { DirectoryLists } from '../../../src/accounts/directory-lists.js'
import { DirectoryMaintenance } from '../../../src/accounts/directory-maintenance.js'
import { DirectoryTenants } from '../../../src/accounts/directory-tenants.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { recordingLogger } from '../../helpers/log-lines.js'
import { ManualClock } from '../../helpers/manual-clock.js'

/** Of tables that grow with the accounts or tenants of the host. */
const LARGE = /^(accounts|domains|tenants|maintenance_accounts|maintenance_jobs)$/

/** @param {import('node:test').TestContext} t */
async function setUp(t) {
  const path = join(await scratchFolder(t), 'directory.db')
  const { logger } = recordingLogger()
  const connection = new DirectoryConnection({ path, clock: new ManualClock(), logger })
  t.after(() => connection.close())
  const { db } = connection
  db.exec(`INSERT INTO tenants (id, created_at_ms, quota_bytes) VALUES ('one.test', 1, 9), ('two.test', 1, 9);
    INSERT INTO domains (id, name, created_at_ms, tenant_id) VALUES (1, 'one.test', 1, 'one.test'), (2, 'two.test', 1, 'two.test')`)
  const add = db.prepare(
    'INSERT INTO accounts (id, domain_id, address, folder, created_at_ms, tenant_id) VALUES (?, ?, ?, ?, 1, ?)'
  )
  for (const n of [1, 2, 3, 4]) {
    const domain = n === 1 ? 'one.test' : 'two.test'
    const tenant = n === 2 ? 'one.test' : null
    add.run(`a${n}`, n === 1 ? 1 : 2, `u${n}@${domain}`, `mail/${n}`, tenant)
  }
  db.exec(
    "INSERT INTO maintenance_accounts (account_id, file_bytes, free_bytes) SELECT id, 10, 1 FROM accounts WHERE id <> 'a2'"
  )
  /** @type {[string, any[]][]} */
  const asked = []
  const prepare = connection.prepare.bind(connection)
  connection.prepare = (sql) => {
    const statement = prepare(sql)
    const noted =
      (/** @type {'get' | 'all' | 'run'} */ way) =>
      (/** @type {any[]} */ ...values) => {
        asked.push([sql, values])
        return statement[way](...values)
      }
    return { get: noted('get'), all: noted('all'), run: noted('run') }
  }
  /** @returns {string[]} tables and indexes that were read from one end to the other */
  const readWhole = () => {
    const names = new Map(
      /** @type {any[]} */ (
        db.prepare('SELECT rootpage, tbl_name, name FROM sqlite_schema').all()
      ).map((row) => [row.rootpage, row])
    )
    return asked.splice(0).flatMap(([sql, values]) => {
      const steps = /** @type {any[]} */ (db.prepare(`EXPLAIN ${sql}`).all(...values))
      const roots = new Map(
        steps.filter(({ opcode }) => opcode === 'OpenRead').map(({ p1, p2 }) => [p1, p2])
      )
      return steps
        .filter(({ opcode, p1 }) => /^(Rewind|Last|Count)$/.test(opcode) && roots.has(p1))
        .map(({ p1 }) => names.get(roots.get(p1)))
        .filter((entry) => LARGE.test(entry.tbl_name))
        .map(({ name }) => name)
    })
  }
  return { connection, db, readWhole }
}

test('what a tenant’s token asks for reads none of the accounts, domains and tenants of others', async (t) => {
  const { connection, readWhole } = await setUp(t)
  const tenants = new DirectoryTenants(connection)
  const lists = new DirectoryLists(connection)
  await tenants.listTenants()
  assert.ok(readWhole().includes('tenants'), 'what lists all of them is found')

  const found = await tenants.findTenant('one.test')
  assert.deepEqual(
    [found?.accounts, found?.domains, found?.fileBytes, found?.freeBytes],
    [2, ['one.test'], 10, 1]
  )
  assert.equal(await tenants.findTenant('nobody'), null)
  assert.equal(await tenants.tenantRoom('two.test'), 9)
  assert.deepEqual(readWhole(), [])

  const query = { tenant: 'one.test', isDescending: true, limit: 10, offset: 0 }
  const sorts = /** @type {const} */ ([
    ...['address', 'tenant', 'createdAtMs', 'usedBytes', 'usedMessages', 'fileBytes'],
    'fragmentation'
  ])
  for (const sort of sorts) {
    const { total, accounts } = await lists.pageAccounts({
      ...query,
      sort: /** @type {'address'} */ (sort)
    })
    assert.deepEqual([total, accounts.map(({ id }) => id).sort()], [2, ['a1', 'a2']], sort)
    assert.deepEqual(readWhole(), [], sort)
  }
  const page = await lists.pageAccounts({
    ...{ ...query, sort: 'address', search: 'u' },
    afterAddress: 'u1@one.test'
  })
  assert.deepEqual([page.total, page.accounts.map(({ id }) => id)], [2, ['a2']])
  const one = { ...query, sort: /** @type {const} */ ('address') }
  assert.equal((await lists.pageAccounts({ ...one, accountId: 'a2' })).total, 1)
  assert.equal((await lists.pageAccounts({ ...one, accountId: 'a3' })).total, 0)
  assert.deepEqual(readWhole(), [])
})

test('of the jobs that fail those alone are read, however many accounts there are', async (t) => {
  const { connection, db, readWhole } = await setUp(t)
  const add = db.prepare(
    'INSERT INTO maintenance_jobs (account_id, job, failures) VALUES (?, ?, ?)'
  )
  for (const [id, job, failures] of /** @type {const} */ ([
    ['a1', 'optimize', 0],
    ['a1', 'vacuum', 2],
    ['a2', 'vacuum', 3],
    ['a2', 'optimize', 2],
    ['a3', 'optimize', 0]
  ]))
    add.run(id, job, failures)
  const maintenance = new DirectoryMaintenance(connection)
  const { failing, failingTotal } = await maintenance.listMaintenanceFailures(2)
  assert.deepEqual(
    failing.map(({ accountId, job }) => [accountId, job]),
    [
      ['a2', 'vacuum'],
      ['a1', 'vacuum']
    ]
  )
  assert.equal(failingTotal, 3)
  assert.deepEqual([...new Set(readWhole())], ['maintenance_failing'])
  await maintenance.listDamaged(2)
  assert.deepEqual(readWhole(), ['maintenance_failing'])
})

test('what all tenants hold, each and together, is summed up a slice of the accounts in each turn', async (t) => {
  const { connection, db } = await setUp(t)
  db.exec(`WITH RECURSIVE n(i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 12000)
    INSERT INTO accounts (id, domain_id, address, folder, created_at_ms, tenant_id, used_bytes, used_messages)
    SELECT 'b' || i, 1 + i % 2, 'b' || i || '@x', 'mail/b' || i, 1, iif(i % 5 = 0, 'one.test', NULL), i, 2 FROM n`)
  let turns = 0
  let next = setImmediate(function count() {
    turns++
    next = setImmediate(count)
  })
  const tenants = new DirectoryTenants(connection)
  const listed = await tenants.listTenants()
  assert.ok(turns > 1, `${turns} turns`)
  turns = 0
  const totals = await tenants.totals()
  clearImmediate(next)
  assert.ok(turns > 1, `${turns} turns`)
  const own = (/** @type {number} */ i) => (i % 5 === 0 || i % 2 === 0 ? 'one.test' : 'two.test')
  /** @type {Record<string, [number, number, number, number, number]>} */
  const sums = { 'one.test': [2, 0, 0, 10, 1], 'two.test': [2, 0, 0, 20, 2] }
  for (let i = 1; i <= 12_000; i++) {
    const sum = sums[own(i)] ?? assert.fail()
    sum[0] += 1
    sum[1] += i
    sum[2] += 2
  }
  assert.deepEqual(
    listed.map((row) => [
      row.id,
      [row.accounts, row.usedBytes, row.usedMessages, row.fileBytes, row.freeBytes]
    ]),
    Object.entries(sums)
  )
  const { accounts, usedBytes, usedMessages, fileBytes, freeBytes } = totals
  assert.deepEqual(
    [accounts, usedBytes, usedMessages, fileBytes, freeBytes],
    [12_004, 72_006_000, 24_000, 30, 3]
  )
  assert.equal(totals.tenants, listed.length)
})

test('maintenance of all accounts is asked for in one row, and looked for by the open ones alone', async (t) => {
  const { connection, db, readWhole } = await setUp(t)
  const maintenance = new DirectoryMaintenance(connection)
  assert.equal(await maintenance.requestMaintenance(null, { tenant: 'one.test' }), 2)
  assert.deepEqual(readWhole(), [])
  assert.equal(await maintenance.requestMaintenance(null), 4)
  readWhole()
  const rows = (/** @type {string} */ sql) => db.prepare(`SELECT count(*) ${sql}`).pluck().get()
  assert.equal(rows('FROM maintenance_requests'), 2)
  assert.equal(rows('FROM maintenance_accounts WHERE requested_at_ms IS NOT NULL'), 0)
  const requests = await maintenance.listMaintenanceRequests(['a1', 'a2', 'a3'])
  assert.deepEqual([...requests.keys()], ['a1', 'a2', 'a3'])
  for (const [id, atMs] of requests) await maintenance.finishMaintenanceRequest(id, atMs)
  assert.equal((await maintenance.findMaintenance('a1')).requestedAtMs, null)
  assert.deepEqual([...(await maintenance.listMaintenanceRequests(['a1', 'a4'])).keys()], ['a4'])
  assert.deepEqual(readWhole(), [])
})
