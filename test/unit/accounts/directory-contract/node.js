/**
 * What every directory keeps for the host that has the mailboxes: restores and maintenance.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { isMailError } from '../../../../src/errors.js'
import { newAccount } from '../../../helpers/directory-rows.js'

/**
 * @typedef {import('./index.js').ContractOptions} ContractOptions
 * @typedef {import('../../../../src/accounts/directory-port.js').PendingRestore} PendingRestore
 */

/** @param {ContractOptions} options */
export function nodeContract({ name, setUp }) {
  test(`${name}: a restore goes from state to state, and is followed once`, async (t) => {
    const { data, directory, open } = await setUp(t)
    const { id } = await directory.createAccount(newAccount(data, 'anna@example.org'))
    assert.equal(await directory.findRestore(id), null)
    /** @type {PendingRestore} */
    const restore = {
      accountId: id,
      generation: 'g1',
      state: 'asked',
      staged: 'staged-1',
      replaced: 'replaced-1',
      cipher: 'aegis-256',
      requestedAtMs: 7
    }
    await directory.beginRestore({ ...restore, generation: 'g0' })
    await directory.beginRestore(restore)
    assert.deepEqual(await directory.findRestore(id), restore)
    const off = { from: restore.state, to: null }
    assert.equal(await directory.advanceRestore(id, { ...off, staged: 'staged-0' }), false)
    const other = open()
    const step = { from: /** @type {const} */ ('asked'), to: /** @type {const} */ ('switching') }
    const taken = await Promise.all([directory, other].map((each) => each.advanceRestore(id, step)))
    assert.deepEqual(taken.sort(), [false, true])
    await other.close()
    assert.equal(await directory.advanceRestore(id, { from: 'switching', to: 'lift' }), true)
    assert.equal((await directory.findAccount(id))?.cipher, 'aegis-256', 'of the file now there')
    assert.equal(await directory.advanceRestore(id, { from: 'check', to: null }), false)
    assert.equal(await directory.advanceRestore(id, { from: 'lift', to: null }), true)
    assert.equal(await directory.findRestore(id), null)
    await directory.beginRestore(restore)
    assert.equal(await directory.advanceRestore(id, { ...off, staged: 'staged-1' }), true)
    assert.equal(await directory.findRestore(id), null)
  })

  test(`${name}: a restore that is called off gives way to the one before, as far as that has come`, async (t) => {
    const { data, directory } = await setUp(t)
    const input = { ...newAccount(data, 'anna@example.org'), restoredFrom: 'g1' }
    const { id: accountId } = await directory.createAccount(input)
    const next = {
      accountId,
      state: /** @type {const} */ ('asked'),
      staged: 's',
      replaced: 'r',
      cipher: null,
      requestedAtMs: 8
    }
    const ask = (/** @type {string} */ generation) =>
      directory.beginRestore({ ...next, generation })
    const advance = (
      /** @type {PendingRestore['state']} */ from,
      /** @type {PendingRestore['state'] | null} */ to
    ) => directory.advanceRestore(accountId, { from, to })
    const found = async () => {
      const { state, generation, staged, isUnlifted } =
        (await directory.findRestore(accountId)) ?? {}
      return [state, generation, staged, isUnlifted]
    }
    await ask('g2')
    await ask('g3')
    assert.deepEqual(await found(), ['asked', 'g3', 's', true])
    await advance('asked', null)
    assert.deepEqual(await found(), ['lift', 'g1', '', undefined])
    await ask('g2')
    await directory.noteLifted(accountId, 1)
    assert.deepEqual(await found(), ['asked', 'g2', 's', undefined])
    await advance('asked', null)
    assert.deepEqual(await found(), ['check', 'g1', '', undefined])
    await ask('g2')
    await advance('asked', 'switching')
    await advance('switching', 'lift')
    await directory.noteLifted(accountId, 1)
    assert.deepEqual(await found(), ['check', 'g2', 's', undefined])
    await advance('check', null)
    assert.equal(await directory.findRestore(accountId), null)
  })

  test(`${name}: lifts are counted for each restore, also of an account that is deleted and comes back`, async (t) => {
    const { data, directory } = await setUp(t)
    const input = newAccount(data, 'anna@example.org')
    const { id } = await directory.createAccount(input)
    const lifts = () => directory.findLifts(id)
    assert.equal(await lifts(), 0)
    /** @type {PendingRestore} */
    const restore = {
      accountId: id,
      generation: 'g1',
      state: 'asked',
      staged: 's',
      replaced: 'r',
      cipher: null,
      requestedAtMs: 8
    }
    await directory.beginRestore(restore)
    await directory.advanceRestore(id, { from: 'asked', to: null })
    assert.equal(await lifts(), 0, 'called off')
    await directory.beginRestore(restore)
    await directory.advanceRestore(id, { from: 'asked', to: 'switching' })
    await directory.advanceRestore(id, { from: 'switching', to: 'lift' })
    assert.equal(await lifts(), 1)
    await directory.noteLifted(id, 1)
    assert.equal(await lifts(), 1)
    // The copy had them already.
    await directory.noteLifted(id, 3)
    assert.equal(await lifts(), 3)
    await directory.deleteAccount(id)
    const folder = join(data, 'mail', 'example.org', 'again')
    await directory.createAccount({ ...input, folder, restoredFrom: 'g1' })
    assert.equal(await lifts(), 4)
  })

  test(`${name}: a folder that was planned is to be removed an hour later, unless an account stands in it`, async (t) => {
    const { data, directory, clock } = await setUp(t)
    const [anna, bert] = /** @type {const} */ (['anna', 'bert']).map((name) =>
      newAccount(data, `${name}@example.org`)
    )
    assert.ok(anna && bert)
    for (const { folder } of [anna, bert]) await directory.planFolder(folder)
    await directory.createAccount(anna)
    assert.deepEqual(await directory.listFolders(), {
      ofAccounts: [anna.folder],
      passing: [bert.folder]
    })
    clock.advance(60 * 60_000 - 1)
    assert.deepEqual(await directory.listRemovals(), [])
    clock.advance(1)
    assert.deepEqual(await directory.listRemovals(), [bert.folder])
    await assert.rejects(directory.createAccount(bert), (error) => isMailError(error, 'BUSY'))
    await directory.finishRemoval(bert.folder)
    assert.deepEqual(await directory.listRemovals(), [])
    await directory.planFolder(anna.folder)
    await directory.deleteAccount(anna.id)
    assert.deepEqual(await directory.listFolders(), { ofAccounts: [], passing: [anna.folder] })
    assert.deepEqual(await directory.listRemovals(), [anna.folder])
    clock.advance(60 * 60_000)
    assert.deepEqual(await directory.listRemovals(), [anna.folder])
    await directory.finishRemoval(anna.folder)
    assert.deepEqual(await directory.listRemovals(), [])
  })

  test(`${name}: an account that comes out of a backup is never there without what its mailbox still needs`, async (t) => {
    const { data, directory, clock } = await setUp(t)
    const input = newAccount(data, 'anna@example.org')
    await directory.createAccount({ ...input, restoredFrom: 'g1' })
    assert.deepEqual(await directory.findRestore(input.id), {
      accountId: input.id,
      generation: 'g1',
      state: 'lift',
      staged: '',
      replaced: '',
      cipher: input.cipher,
      requestedAtMs: clock.nowMs()
    })
  })

  test(`${name}: what maintenance did, has to do and failed at is on record, mailbox by mailbox`, async (t) => {
    const { data, directory, clock } = await setUp(t)
    const anna = await directory.createAccount(newAccount(data, 'anna@example.org'))
    const bert = await directory.createAccount(newAccount(data, 'bert@example.com'))
    assert.deepEqual(await directory.findMaintenance(anna.id), {
      requestedAtMs: null,
      jobs: new Map()
    })
    const good = { doneAtMs: 5, failures: 0, failedCode: null, nextTryAtMs: null }
    const bad = { doneAtMs: null, failures: 3, failedCode: 'DISK_FULL', nextTryAtMs: 99 }
    const run = {
      atMs: clock.nowMs(),
      why: 'due',
      note: null,
      before: { bytes: 10 },
      after: { bytes: 5 },
      tookMs: 12
    }
    directory.recordMaintenance({
      accountId: anna.id,
      job: 'optimize',
      state: good,
      run: { ...run, result: 'done' }
    })
    directory.recordMaintenance({
      accountId: bert.id,
      job: 'vacuum',
      state: bad,
      run: { ...run, result: 'failed', note: 'DISK_FULL' }
    })
    directory.recordMaintenance({ accountId: anna.id, job: 'vacuum', state: good, run: null })
    const space = { fileBytes: 4096, freeBytes: 1024 }
    directory.recordMaintenance({ accountId: anna.id, atMs: 6, space })
    directory.recordMaintenance({ accountId: 'gone', atMs: 6, space })
    const { jobs } = await directory.findMaintenance(anna.id)
    assert.deepEqual([...jobs].sort(), [
      ['optimize', good],
      ['vacuum', good]
    ])
    await directory.flush()
    assert.deepEqual(await directory.listMaintenanceFailures(), {
      failing: [
        { accountId: bert.id, job: 'vacuum', failures: 3, code: 'DISK_FULL', nextTryAtMs: 99 }
      ],
      failingTotal: 1
    })
    assert.deepEqual(
      (await directory.listMaintenance()).map((row) => [
        row.address,
        row.fileBytes,
        row.freeBytes,
        row.doneAtMs,
        row.failingJobs
      ]),
      [
        ['anna@example.org', 4096, 1024, 5, 0],
        ['bert@example.com', null, null, null, 1]
      ]
    )
    assert.equal((await directory.listMaintenance({ accountId: anna.id })).length, 1)
    const runs = await directory.listMaintenanceRuns()
    assert.deepEqual(
      runs.map(({ accountId, job, result }) => [accountId, job, result]),
      [
        [bert.id, 'vacuum', 'failed'],
        [anna.id, 'optimize', 'done']
      ]
    )
    assert.deepEqual(runs[1], { accountId: anna.id, job: 'optimize', ...run, result: 'done' })
    const page = await directory.pageMaintenanceRuns({ tenant: 'example.com', limit: 10 })
    assert.deepEqual(
      page.map(({ address }) => address),
      ['bert@example.com']
    )
    const before = { beforeId: Number(page[0]?.id), limit: 10 }
    assert.deepEqual(
      (await directory.pageMaintenanceRuns(before)).map(({ address }) => address),
      ['anna@example.org']
    )
  })

  test(`${name}: of the accounts whose mailbox is damaged some are named, each once, until their jobs go well`, async (t) => {
    const { data, directory } = await setUp(t)
    const anna = await directory.createAccount(newAccount(data, 'anna@example.org'))
    const bert = await directory.createAccount(newAccount(data, 'bert@example.com'))
    const damaged = { doneAtMs: 0, failures: 1, failedCode: 'ACCOUNT_DAMAGED', nextTryAtMs: 0 }
    const record = async (/** @type {string} */ accountId, /** @type {any} */ change = {}) => {
      for (const job of ['quick-check', 'vacuum'])
        directory.recordMaintenance({ accountId, job, state: { ...damaged, ...change }, run: null })
      await directory.flush()
    }
    await record(anna.id)
    assert.deepEqual(await directory.listDamaged(2), { damaged: 1, damagedIds: [anna.id] })
    await record(bert.id)
    const [first = ''] = [anna.id, bert.id].sort()
    assert.deepEqual(await directory.listDamaged(1), { damaged: 2, damagedIds: [first] })
    await record(anna.id, { failedCode: 'DISK_FULL' })
    await record(bert.id, { failures: 0, failedCode: null })
    assert.deepEqual(await directory.listDamaged(1), { damaged: 0, damagedIds: [] })
  })

  test(`${name}: maintenance is asked for, and a later wish outlives the end of an earlier one`, async (t) => {
    const { data, directory, clock } = await setUp(t)
    const anna = await directory.createAccount(newAccount(data, 'anna@example.org'))
    const bert = await directory.createAccount(newAccount(data, 'bert@example.com'))
    const requests = () => directory.listMaintenanceRequests([anna.id, bert.id, 'nobody'])
    const first = clock.nowMs()
    assert.equal(await directory.requestMaintenance(anna.id), 1)
    assert.deepEqual(await requests(), new Map([[anna.id, first]]))
    clock.advance(10)
    assert.equal(await directory.requestMaintenance(null, { tenant: 'example.org' }), 1)
    await directory.finishMaintenanceRequest(anna.id, first)
    assert.equal((await directory.findMaintenance(anna.id)).requestedAtMs, first + 10)
    await directory.finishMaintenanceRequest(anna.id, first + 10)
    assert.equal((await requests()).size, 0)
    assert.equal(await directory.requestMaintenance(null), 2)
    assert.equal(await directory.requestMaintenance('nobody'), 0)
  })

  test(`${name}: maintenance of all is done by each account when it comes, and by none that was made later`, async (t) => {
    const { data, directory, clock } = await setUp(t)
    const anna = await directory.createAccount(newAccount(data, 'anna@example.org'))
    const bert = await directory.createAccount(newAccount(data, 'bert@example.com'))
    const requests = async () =>
      Object.fromEntries(await directory.listMaintenanceRequests([anna.id, bert.id]))
    const shown = async () =>
      (await directory.listMaintenance()).map(({ requestedAtMs }) => requestedAtMs)
    const first = clock.nowMs()
    await directory.requestMaintenance(null)
    clock.advance(10)
    await directory.requestMaintenance(null, { tenant: 'example.org' })
    assert.deepEqual(await requests(), { [anna.id]: first + 10, [bert.id]: first })
    assert.deepEqual(await shown(), [first + 10, first])
    await directory.finishMaintenanceRequest(anna.id, first)
    assert.deepEqual(await requests(), { [anna.id]: first + 10, [bert.id]: first })
    await directory.finishMaintenanceRequest(anna.id, first + 10)
    await directory.finishMaintenanceRequest(bert.id, first)
    assert.deepEqual(await requests(), {})
    assert.deepEqual(await shown(), [null, null])

    // Of two wishes the clock may be set back between.
    clock.advance(-5)
    assert.equal(await directory.requestMaintenance(null), 2)
    assert.deepEqual(Object.keys(await requests()).sort(), [anna.id, bert.id].sort())
    clock.advance(1000)
    const carl = await directory.createAccount(newAccount(data, 'carl@example.org'))
    assert.equal((await directory.findMaintenance(carl.id)).requestedAtMs, null)
    const { requestedAtMs } = await directory.findMaintenance(anna.id)
    assert.ok(requestedAtMs !== null)
    await directory.finishMaintenanceRequest(anna.id, requestedAtMs)
    assert.deepEqual(Object.keys(await requests()), [bert.id])

    // A tenant's wish goes with it.
    await directory.createTenant({ id: 'acme', label: '', quotaBytes: 0, maxAccounts: 0 })
    assert.equal(await directory.requestMaintenance(null, { tenant: 'acme' }), 0)
    await directory.deleteTenant('acme')
    await directory.createTenant({ id: 'acme', label: '', quotaBytes: 0, maxAccounts: 0 })
    await directory.assignDomain('example.org', 'acme')
    assert.deepEqual(Object.keys(await requests()), [bert.id])
    assert.equal(await directory.requestMaintenance(null, { tenant: 'nobody' }), 0)
  })

  test(`${name}: an account that was made while the clock was ahead is looked after with all others`, async (t) => {
    const { data, directory, clock } = await setUp(t)
    const bert = await directory.createAccount(newAccount(data, 'bert@example.com'))
    const aheadMs = 1000 * 24 * 3_600_000
    clock.advance(aheadMs)
    const anna = await directory.createAccount(newAccount(data, 'anna@example.org'))
    clock.advance(1 - aheadMs)
    const asked = async () => [
      ...(await directory.listMaintenanceRequests([anna.id, bert.id])).keys()
    ]
    for (const filter of [{}, { tenant: 'example.org' }]) {
      const count = await directory.requestMaintenance(null, filter)
      const ids = await asked()
      assert.equal(ids.length, count)
      assert.ok(ids.includes(anna.id))
      for (const id of ids) {
        const { requestedAtMs } = await directory.findMaintenance(id)
        await directory.finishMaintenanceRequest(id, Number(requestedAtMs))
      }
      assert.deepEqual(await asked(), [])
    }
  })

  test(`${name}: what was asked of a tenant’s accounts is asked of those that go to another before they have answered`, async (t) => {
    const { data, directory, clock } = await setUp(t)
    const limits = { label: '', quotaBytes: 0, maxAccounts: 0 }
    for (const id of ['acme', 'other']) await directory.createTenant({ id, ...limits })
    await directory.assignDomain('example.org', 'acme')
    const [anna = '', bert = '', carl = '', dora = '', eve = ''] = await Promise.all(
      [
        ...['anna', 'bert', 'carl', 'dora'].map((user) => `${user}@example.org`),
        'eve@other.test'
      ].map(async (address) => (await directory.createAccount(newAccount(data, address))).id)
    )
    await directory.assignDomain('other.test', 'other')
    const ids = [anna, bert, carl, dora, eve]
    const requests = async () => Object.fromEntries(await directory.listMaintenanceRequests(ids))
    const first = clock.nowMs()
    await directory.requestMaintenance(null, { tenant: 'acme' })
    clock.advance(10)
    await directory.finishMaintenanceRequest(bert, first)
    await directory.requestMaintenance(dora)
    await directory.updateAccount(carl, { tenant: 'other' })
    await directory.assignDomain('example.org', 'other')
    assert.deepEqual(await requests(), { [anna]: first, [carl]: first, [dora]: first + 10 })
    await directory.finishMaintenanceRequest(anna, first)
    await directory.updateAccount(carl, { tenant: 'acme' })
    assert.deepEqual(await requests(), { [carl]: first, [dora]: first + 10 })
  })

  test(`${name}: its own state is asked for, and is well`, async (t) => {
    const { directory } = await setUp(t)
    assert.deepEqual(await directory.quickCheck(), { problems: [], misfits: [], keyless: [] })
  })
}
