/**
 * What the lists of /v1 give: which rows, in which order, and how many of them at a time.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { initBackups } from '../../../src/backup/init.js'
import { Repository } from '../../../src/backup/repository.js'
import { runBackup } from '../../../src/backup/run.js'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { startAdmin } from '../../helpers/admin.js'
import { PASSWORD } from '../../helpers/server.js'
import { WireClient } from '../../helpers/wire-client.js'

/** @typedef {Awaited<ReturnType<typeof startAdmin>>} Admin */

/**
 * @param {Admin} admin
 * @param {string} path
 * @param {string} bearer
 */
async function list({ ask }, path, bearer) {
  const { status, body, text } = await ask('GET', `/v1/${path}`, { token: bearer })
  assert.equal(status, 200, text)
  return body
}

test('accounts are found by a part of the address, in either order, and page by page', async (t) => {
  const admin = await startAdmin(t)
  const all = await admin.token(['read'])
  for (const [address, quotaBytes] of /** @type {const} */ ([
    ['anna@example.org', 3],
    ['bert@example.com', 1],
    ['hanna@example.com', 2]
  ])) {
    const { id } = await admin.addAccount(address)
    await admin.services.directory.updateAccount(id, { quotaBytes })
  }
  for (const [query, total, names] of /** @type {const} */ ([
    ['', 3, ['anna', 'bert', 'hanna']],
    ['?order=desc', 3, ['hanna', 'bert', 'anna']],
    ['?sort=createdAtMs', 3, ['anna', 'bert', 'hanna']],
    ['?sort=tenant', 3, ['bert', 'hanna', 'anna']],
    ['?search=ANNA', 2, ['anna', 'hanna']],
    ['?search=example.com&order=desc', 2, ['hanna', 'bert']],
    ['?search=nobody', 0, []],
    ['?limit=1&offset=1', 3, ['bert']],
    ['?limit=2&offset=2', 3, ['hanna']],
    ['?tenant=example.com', 2, ['bert', 'hanna']]
  ])) {
    const page = await list(admin, `accounts${query}`, all)
    const found = page.accounts.map((/** @type {any} */ { address }) => address.split('@')[0])
    assert.deepEqual([query, page.total, found.toSorted()], [query, total, names.toSorted()])
    if (!query.includes('createdAtMs')) assert.deepEqual([query, found], [query, names])
  }
  assert.deepEqual(await list(admin, 'backups', all), { isSetUp: false, backups: [] })
  const { tenants } = await list(admin, 'tenants', all)
  assert.deepEqual(
    tenants.map((/** @type {any} */ { id, domains, accounts }) => [id, domains, accounts]),
    [
      ['example.com', ['example.com'], 2],
      ['example.org', ['example.org'], 1]
    ]
  )
})

test('sessions are found by the account’s address or the client’s, and page by page', async (t) => {
  const admin = await startAdmin(t, { users: ['anna', 'bert'] })
  const all = await admin.token(['read'])
  for (const user of ['anna', 'bert', 'anna']) {
    const client = await WireClient.connect(admin.port)
    t.after(() => client.destroy())
    await client.login(user, `"${PASSWORD}"`)
  }
  for (const [query, total, names] of /** @type {const} */ ([
    ['', 3, ['anna', 'bert', 'anna']],
    ['?search=BERT', 1, ['bert']],
    ['?search=127.0.0.1', 3, ['anna', 'bert', 'anna']],
    ['?search=nobody', 0, []],
    ['?limit=1&offset=1', 3, ['bert']],
    ['?search=anna&limit=1', 2, ['anna']]
  ])) {
    const page = await list(admin, `sessions${query}`, all)
    const found = page.sessions.map((/** @type {any} */ { address }) => address.split('@')[0])
    assert.deepEqual([query, page.total, found], [query, total, names])
  }
})

test('the audit log and the runs of maintenance are cut by time, number and account', async (t) => {
  const admin = await startAdmin(t, { users: ['anna', 'bert'] })
  const { directory, clock } = admin.services
  const all = await admin.token(['read'])
  const [anna, bert] = [await admin.accountId('anna'), await admin.accountId('bert')]
  const state = { doneAtMs: 1, failures: 0, failedCode: null, nextTryAtMs: null }
  const run = { why: 'asked for', note: null, before: {}, after: {}, tookMs: 1 }
  for (const [accountId, atMs] of /** @type {const} */ ([
    [anna, 1],
    [bert, 2],
    [anna, 3]
  ])) {
    const done = { ...run, atMs, result: /** @type {const} */ ('done') }
    directory.recordMaintenance({ accountId, job: 'space', state, run: done })
    await directory.flush()
  }
  const timesOf = async (/** @type {string} */ query) =>
    (await list(admin, `maintenance${query}`, all)).runs.map((/** @type {any} */ { atMs }) => atMs)
  assert.deepEqual(await timesOf(''), [3, 2, 1])
  assert.deepEqual(await timesOf('?limit=2'), [3, 2])
  assert.deepEqual(await timesOf(`?accountId=${anna}`), [3, 1])
  const { runs } = await list(admin, 'maintenance', all)
  assert.deepEqual(await timesOf(`?before=${runs[0].id}`), [2, 1])

  directory.audit({ action: 'alias-add', accountId: anna })
  await directory.flush()
  const { events } = await list(admin, 'audit', all)
  const [newest] = events
  assert.deepEqual([newest.action, newest.accountId], ['alias-add', anna])
  const audited = async (/** @type {string} */ query) =>
    (await list(admin, `audit?action=alias-add&${query}`, all)).events.length
  assert.equal(await audited(`accountId=${anna}`), 1)
  assert.equal(await audited(`accountId=${bert}`), 0)
  assert.equal(await audited(`since=${newest.atMs}`), 1)
  assert.equal(await audited(`since=${newest.atMs + 1}`), 0)
  assert.equal(await audited(`until=${newest.atMs}`), 0)
  assert.equal(await audited(`until=${clock.nowMs() + 1000}`), 1)
  assert.equal(await audited(`before=${newest.id}`), 0)
})

test('of backups a tenant is told when they were made, and the host what they hold', async (t) => {
  const folder = await scratchFolder(t)
  const admin = await startAdmin(t, { settings: { 'backup.folder': folder } })
  const { config, clock, logger } = admin.services
  await admin.addAccount('anna@example.org')
  const all = await admin.token(['read'])
  const ofTenant = await admin.token(['read'], 'example.org')
  const target = openFolderTarget(folder)
  const repository = new Repository(target)
  await initBackups({ data: config.data, repository, clock, showKey: () => {} })
  const made = await runBackup({ config, target, clock, logger })
  await admin.services.directory.flush()
  const { backups, isSetUp } = await list(admin, 'backups', all)
  assert.deepEqual([isSetUp, backups.length], [true, 1])
  const [{ name, startedAtMs, accounts, failed, newBytes }] = backups
  assert.deepEqual([name, accounts, failed, newBytes], [made.generation, 1, 0, made.newBytes])
  const told = await list(admin, 'backups', ofTenant)
  const nothing = { accounts: null, failed: null, newBytes: null, sharedBytes: null }
  const row = { name, startedAtMs, ...nothing, storedBytes: null, durationMs: null }
  assert.deepEqual(told, { isSetUp: true, backups: [row] })
})
