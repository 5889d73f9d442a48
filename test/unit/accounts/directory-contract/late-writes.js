/**
 * What every directory writes a moment later: last uses, usage, the audit log.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { newAccount } from '../../../helpers/directory-rows.js'

/** @typedef {import('../../../../src/accounts/directory-port.js').AuditEvent} AuditEvent */
/** @typedef {import('../../../../src/accounts/directory-port.js').AuditQuery} AuditQuery */

/** @typedef {import('./index.js').ContractOptions} ContractOptions */

/** @param {ContractOptions} options */
export function lateWritesContract({ name, setUp }) {
  test(`${name}: last use, usage and audit wait in memory and are there after a flush and at close`, async (t) => {
    const { data, directory, open, clock } = await setUp(t)
    const input = newAccount(data, 'anna@example.org')
    await directory.createAccount(input)
    const credentialId = String(input.keys.credentials[0]?.id)
    clock.advance(1000)
    directory.recordUse(credentialId)
    directory.recordUsage(input.id, { bytes: 1, messages: 1 })
    directory.recordUsage(input.id, { bytes: 10, messages: 2 })
    directory.audit({ action: 'login', accountId: input.id, remoteAddress: '192.0.2.1' })
    assert.equal((await directory.findAccount(input.id))?.usedBytes, 0)
    await directory.flush()
    const account = await directory.findAccount(input.id)
    assert.deepEqual([account?.usedBytes, account?.usedMessages], [10, 2])
    assert.equal((await directory.findCredential(credentialId))?.lastUsedAtMs, clock.nowMs())
    directory.audit({ action: 'session-end', accountId: input.id, detail: { reason: 'gone' } })
    await directory.close()
    const again = open()
    const rows = await again.pageAudit({ accountId: input.id, limit: 100 })
    assert.deepEqual(
      rows.map(({ action, remoteAddress, detail }) => ({ action, remoteAddress, detail })),
      [
        { action: 'session-end', remoteAddress: null, detail: { reason: 'gone' } },
        { action: 'login', remoteAddress: '192.0.2.1', detail: undefined }
      ]
    )
    await again.close()
  })

  test(`${name}: what waits is written within about a second by itself`, async (t) => {
    const { data, directory } = await setUp(t)
    const input = newAccount(data, 'anna@example.org')
    await directory.createAccount(input)
    directory.recordUsage(input.id, { bytes: 10, messages: 2 })
    for (let tries = 0; tries < 300; tries++) {
      if ((await directory.findAccount(input.id))?.usedBytes === 10) return
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    assert.fail('the usage was not written')
  })

  test(`${name}: the audit log forgets after a year, and counts what did not fit into memory`, async (t) => {
    const { directory, clock } = await setUp(t)
    directory.audit({ action: 'backup' })
    await directory.flush()
    clock.advance(364 * 24 * 3_600_000)
    directory.audit({ action: 'login' })
    await directory.flush()
    clock.advance(2 * 24 * 3_600_000)
    for (let index = 0; index < 10_003; index++) directory.audit({ action: 'login' })
    await directory.flush()
    const rows = await directory.pageAudit({ limit: 20_000 })
    assert.equal(rows.length, 10_002)
    assert.deepEqual(rows[0]?.detail, { dropped: 3 })
    assert.ok(!rows.some(({ action }) => action === 'backup'))
  })

  test(`${name}: a clock that is years ahead for less than a day empties no audit log`, async (t) => {
    const { open, clock } = await setUp(t)
    const directory = open({ audit: { days: 365, maxEvents: 1000, deletionDays: 10 } })
    const record = async (/** @type {AuditEvent['action']} */ action) => {
      directory.audit({ action })
      await directory.flush()
      return (await directory.pageAudit({ limit: 10, isOldestFirst: true })).map(
        (event) => event.action
      )
    }
    await record('account-delete')
    clock.advance(3650 * 24 * 3_600_000)
    assert.deepEqual(await record('login'), ['account-delete', 'login'])
    clock.advance(23 * 3_600_000)
    assert.deepEqual(await record('backup'), ['account-delete', 'login', 'backup'])
    // So late, it is the time.
    clock.advance(2 * 3_600_000)
    assert.deepEqual(await record('restore'), ['login', 'backup', 'restore'])
    await directory.close()
  })

  test(`${name}: the audit log keeps its largest number of events, the newest of them`, async (t) => {
    const { open } = await setUp(t)
    const directory = open({ audit: { days: 365, maxEvents: 1000 } })
    const kept = async () => {
      const rows = await directory.pageAudit({ limit: 20_000, isOldestFirst: true })
      return [rows.length, rows[0]?.detail?.['nth'], rows.at(-1)?.detail?.['nth']]
    }
    let nth = 0
    const record = async (/** @type {number} */ count) => {
      for (let n = 0; n < count; n++) directory.audit({ action: 'login', detail: { nth: ++nth } })
      await directory.flush()
    }
    await record(999)
    assert.deepEqual(await kept(), [999, 1, 999])
    await record(3)
    assert.deepEqual(await kept(), [1000, 3, 1002])
    await record(9000)
    assert.deepEqual(await kept(), [1000, 9003, 10_002])
    await directory.close()
  })

  test(`${name}: deletions of accounts outlast the audit log's limits until the backups have let go of the keys`, async (t) => {
    const { open, clock } = await setUp(t)
    const directory = open({ audit: { days: 2, maxEvents: 1000, deletionDays: 10 } })
    directory.audit({ action: 'account-delete', accountId: '0123456789abcdef' })
    for (let index = 0; index < 2000; index++) directory.audit({ action: 'login' })
    await directory.flush()
    clock.advance(9 * 24 * 3_600_000)
    directory.audit({ action: 'login' })
    // Old events go a part with each write.
    for (let writes = 0; writes < 3; writes++) await directory.flush()
    assert.deepEqual(
      (await directory.pageAudit({ limit: 100 })).map(({ action }) => action),
      ['login', 'account-delete']
    )
    assert.equal((await directory.listDeletions()).length, 1)
    clock.advance(2 * 24 * 3_600_000)
    directory.audit({ action: 'login' })
    await directory.flush()
    assert.deepEqual(await directory.listDeletions(), [])
    await directory.close()
  })

  test(`${name}: events that have gone by their age leave room in the audit log to later ones`, async (t) => {
    const { open, clock } = await setUp(t)
    const directory = open({ audit: { days: 2, maxEvents: 1000, deletionDays: 100 } })
    const record = async (/** @type {number} */ count) => {
      for (let nth = 0; nth < count; nth++) directory.audit({ action: 'login', tenant: 'acme' })
      await directory.flush()
    }
    directory.audit({ action: 'account-delete', accountId: '0123456789abcdef' })
    await record(900)
    clock.advance(9 * 24 * 3_600_000)
    for (let writes = 0; writes < 10; writes++) await record(90)
    assert.equal((await directory.pageAudit({ tenant: 'acme', limit: 5000 })).length, 900)
    await directory.close()
  })

  test(`${name}: of many who have alike many events in a full audit log nobody loses all`, async (t) => {
    const { open } = await setUp(t)
    const directory = open({ audit: { days: 365, maxEvents: 1000 } })
    const tenants = Array.from({ length: 20 }, (_, index) => `t${index}`)
    const record = async (/** @type {number} */ count) => {
      for (let nth = 0; nth < count; nth++)
        for (const tenant of tenants) directory.audit({ action: 'alias-add', tenant })
      await directory.flush()
    }
    await record(50)
    await record(5)
    for (const tenant of tenants) {
      const { length } = await directory.pageAudit({ tenant, limit: 1000 })
      assert.ok(length >= 45 && length <= 55, `${tenant} has ${length}`)
    }
    await directory.close()
  })

  test(`${name}: refused logins of one account and address are one row for each write, with their number`, async (t) => {
    const { directory } = await setUp(t)
    const refuse = (/** @type {string | null} */ accountId, /** @type {string} */ remoteAddress) =>
      directory.audit({ action: 'login-failed', accountId, remoteAddress })
    for (let index = 0; index < 10_000; index++) refuse(null, '192.0.2.1')
    refuse(null, '192.0.2.2')
    refuse('0123456789abcdef', '192.0.2.1')
    await directory.flush()
    refuse(null, '192.0.2.1')
    await directory.flush()
    const rows = await directory.pageAudit({ limit: 10, isOldestFirst: true })
    assert.deepEqual(
      rows.map(({ remoteAddress, accountId, detail }) => [remoteAddress, accountId, detail]),
      [
        ['192.0.2.1', null, { count: 10_000 }],
        ['192.0.2.2', null, undefined],
        ['192.0.2.1', '0123456789abcdef', undefined],
        ['192.0.2.1', null, undefined]
      ]
    )
  })

  test(`${name}: requests of a token that are alike are one row for each write, with their number`, async (t) => {
    const { directory } = await setUp(t)
    const write = (/** @type {string} */ token, /** @type {string} */ operation, status = 404) =>
      directory.audit({
        action: 'api-write',
        accountId: null,
        tenant: 'acme',
        remoteAddress: '192.0.2.1',
        detail: { token, operation, status }
      })
    for (let index = 0; index < 10_000; index++) write('a', 'endSession')
    write('a', 'endSession', 204)
    write('a', 'deleteAccount')
    write('b', 'endSession')
    await directory.flush()
    const rows = await directory.pageAudit({ limit: 10, isOldestFirst: true })
    assert.deepEqual(
      rows.map(({ detail }) => detail),
      [
        { token: 'a', operation: 'endSession', status: 404, count: 10_000 },
        { token: 'a', operation: 'endSession', status: 204 },
        { token: 'a', operation: 'deleteAccount', status: 404 },
        { token: 'b', operation: 'endSession', status: 404 }
      ]
    )
  })

  test(`${name}: whoever has most events in a full audit log loses the oldest, and nobody else any`, async (t) => {
    const { data, open, clock } = await setUp(t)
    const directory = open({ audit: { days: 365, maxEvents: 1000, deletionDays: 10 } })
    const { id } = await directory.createAccount(newAccount(data, 'anna@small.test'))
    const record = async (/** @type {AuditEvent} */ event, /** @type {number} */ count) => {
      for (let nth = 1; nth <= count; nth++) directory.audit({ ...event, detail: { nth } })
      await directory.flush()
      clock.advance(1000)
    }
    const kept = async (/** @type {Omit<AuditQuery, 'limit'>} */ query) =>
      (await directory.pageAudit({ ...query, limit: 20_000 })).length
    await record({ action: 'backup' }, 1)
    await record({ action: 'token-create' }, 5)
    await record({ action: 'login', accountId: id }, 300)
    await record({ action: 'alias-add', tenant: 'middle' }, 250)
    await directory.deleteAccount(id)
    for (let turn = 0; turn < 4; turn++) await record({ action: 'login', tenant: 'big' }, 1000)
    assert.equal(await kept({ tenant: 'small.test' }), 301)
    assert.equal(await kept({ tenant: 'middle' }), 250)
    assert.equal(await kept({ action: 'token-create' }), 5)
    assert.equal(await kept({ action: 'backup' }), 1)
    assert.equal(await kept({ tenant: 'big' }), 445)
    const [newest, ...others] = await directory.pageAudit({ tenant: 'big', limit: 445 })
    assert.deepEqual([newest?.detail, others.at(-1)?.detail], [{ nth: 1000 }, { nth: 556 }])
    // Two that have the most lose alike, as near as a step.
    await record({ action: 'login', tenant: 'small.test' }, 1000)
    const [big, small] = [await kept({ tenant: 'big' }), await kept({ tenant: 'small.test' })]
    assert.equal(big + small, 746)
    assert.ok(Math.abs(big - small) <= 101, `${big} and ${small}`)
    assert.equal(await kept({ tenant: 'middle' }), 250)
    await directory.close()
  })

  test(`${name}: strangers push out of the host's audit log what strangers did`, async (t) => {
    const { open } = await setUp(t)
    const directory = open({ audit: { days: 365, maxEvents: 1000 } })
    directory.audit({ action: 'token-create' })
    for (let nth = 0; nth < 3000; nth++)
      directory.audit({ action: 'login-failed', remoteAddress: `2001:db8::${nth}` })
    await directory.flush()
    const rows = await directory.pageAudit({ limit: 20_000, isOldestFirst: true })
    assert.equal(rows.length, 1000)
    assert.deepEqual(
      [rows[0]?.action, rows[1]?.remoteAddress, rows.at(-1)?.remoteAddress],
      ['token-create', '2001:db8::2001', '2001:db8::2999']
    )
    for (let nth = 0; nth < 2000; nth++) directory.audit({ action: 'tenant-set', detail: { nth } })
    await directory.flush()
    const left = await directory.pageAudit({ limit: 20_000, isOldestFirst: true })
    assert.deepEqual([left.length, left[0]?.detail], [1000, { nth: 1000 }])
    await directory.close()
  })

  test(`${name}: pages of the audit log are cut by number, time, action, account and tenant`, async (t) => {
    const { data, directory, clock } = await setUp(t)
    const { id } = await directory.createAccount(newAccount(data, 'anna@example.org'))
    const startedAtMs = clock.nowMs()
    /** @type {AuditEvent[]} */
    const events = [
      { action: 'login', accountId: id },
      { action: 'tenant-create', tenant: 'acme' },
      { action: 'login', accountId: id },
      { action: 'backup' }
    ]
    for (const event of events) {
      directory.audit(event)
      await directory.flush()
      clock.advance(1000)
    }
    const page = async (/** @type {Omit<AuditQuery, 'limit'>} */ query) =>
      (await directory.pageAudit({ limit: 10, ...query })).map(({ action, tenant }) => [
        action,
        tenant
      ])
    const login = ['login', 'example.org']
    const made = ['tenant-create', 'acme']
    const backup = ['backup', null]
    assert.deepEqual(await page({}), [backup, login, made, login])
    assert.deepEqual(await page({ isOldestFirst: true }), [login, made, login, backup])
    assert.deepEqual(await page({ action: 'login' }), [login, login])
    assert.deepEqual(await page({ accountId: id }), [login, login])
    assert.deepEqual(await page({ tenant: 'acme' }), [made])
    assert.deepEqual(await page({ sinceMs: startedAtMs + 1000, untilMs: startedAtMs + 3000 }), [
      login,
      made
    ])
    const [last, third] = await directory.pageAudit({ limit: 2 })
    assert.ok(last && third)
    assert.deepEqual(await page({ beforeId: third.id }), [made, login])
    assert.deepEqual(await page({ afterId: third.id }), [backup])
    await directory.deleteAccount(id)
    const deleted = ['account-delete', 'example.org']
    const left = await page({ accountId: id })
    assert.deepEqual(left, [deleted, login, login], 'it outlives the account')
  })

  // A process that is killed a moment later has told whoever asked for it, and the backups would keep the keys.
  test(`${name}: a deletion stands in the audit log together with its own end`, async (t) => {
    const { data, directory, open, clock } = await setUp(t)
    const { id } = await directory.createAccount(newAccount(data, 'anna@example.org'))
    await directory.deleteAccount(id)
    const other = open()
    assert.deepEqual(await other.listDeletions(), [{ accountId: id, atMs: clock.nowMs() }])
    await assert.rejects(directory.deleteAccount(id), { code: 'ACCOUNT_NOT_FOUND' })
    assert.equal((await other.pageAudit({ accountId: id, limit: 100 })).length, 1)
    await other.close()
  })
}
