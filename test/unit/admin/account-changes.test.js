/**
 * Changes of accounts and tenants over /v1: what was asked for is so, and stands in the audit log with whose it is.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startAdmin } from '../../helpers/admin.js'
import { PASSWORD } from '../../helpers/server.js'
import { WireClient } from '../../helpers/wire-client.js'

test('an account and a tenant have from the beginning what was asked for, and keep it until it is changed', async (t) => {
  const { ask, token } = await startAdmin(t)
  const all = { token: await token(['all']) }
  const limits = { label: 'Acme', quotaBytes: 5_000_000, maxAccounts: 7 }
  const tenant = await ask('POST', '/v1/tenants', { ...all, body: { id: 'acme', ...limits } })
  const { label, quotaBytes, maxAccounts } = tenant.body
  assert.deepEqual({ label, quotaBytes, maxAccounts }, limits)
  const wish = { quotaBytes: 1000, quotaMessages: 20, tenant: 'acme' }
  const made = await ask('POST', '/v1/accounts', {
    ...all,
    body: { address: 'anna@example.org', password: PASSWORD, ...wish }
  })
  const { account } = made.body
  assert.deepEqual({ ...account, ...wish, isEnabled: true }, account)
  const url = `/v1/accounts/${account.id}`
  const changed = await ask('PATCH', url, { ...all, body: { isEnabled: false, quotaBytes: 0 } })
  assert.deepEqual(changed.body, { ...account, isEnabled: false, quotaBytes: 0 })
  assert.deepEqual((await ask('GET', url, all)).body, changed.body)
})

test('an account is deleted only by its own address', async (t) => {
  const { ask, token, addAccount } = await startAdmin(t)
  const all = { token: await token(['all']) }
  const { id } = await addAccount('anna@example.org')
  await addAccount('bert@example.org')
  const url = `/v1/accounts/${id}`
  for (const [query, status] of /** @type {const} */ ([
    ['', 400],
    ['?confirm=bert@example.org', 422],
    ['?confirm=anna@example.com', 422]
  ])) {
    assert.equal((await ask('DELETE', `${url}${query}`, all)).status, status, query)
    assert.equal((await ask('GET', url, all)).status, 200, query)
  }
  assert.equal((await ask('DELETE', `${url}?confirm=Anna@Example.org`, all)).status, 204)
})

test('what is changed stands in the audit log with account, token and outcome, and what is read does not', async (t) => {
  const { ask, token, services, port, accountId } = await startAdmin(t, { users: ['anna', 'bert'] })
  const { directory } = services
  const [anna, bert] = [await accountId('anna'), await accountId('bert')]
  const bearer = await token(['all'])
  const { body: own } = await ask('GET', '/v1/token', { token: bearer })
  const client = await WireClient.connect(port)
  t.after(() => client.destroy())
  await client.login('anna', `"${PASSWORD}"`)
  const { body } = await ask('GET', '/v1/sessions', { token: bearer })
  const aliases = `/v1/accounts/${anna}/aliases`
  const steps = /** @type {[string, string, unknown, number][]} */ ([
    ['POST', aliases, { address: 'info@example.org' }, 201],
    ['DELETE', `${aliases}/info@example.org`, undefined, 204],
    ['DELETE', `${aliases}/info@example.org`, undefined, 404],
    ['PATCH', `/v1/accounts/${anna}`, { quotaBytes: 9 }, 200],
    ['DELETE', `/v1/sessions/${body.sessions[0].id}`, undefined, 204],
    ['POST', '/v1/maintenance', { accountId: anna }, 202],
    ['POST', '/v1/maintenance', {}, 202]
  ])
  await directory.flush()
  const requested = []
  const [last] = await directory.pageAudit({ limit: 1 })
  for (const [method, url, sent, status] of steps) {
    for (const looks of ['GET', 'HEAD'])
      assert.equal((await ask(looks, `/v1/accounts/${anna}`, { token: bearer })).status, 200)
    assert.equal((await ask(method, url, { token: bearer, body: sent })).status, status, url)
    await directory.flush()
    const asked = await directory.listMaintenanceRequests([anna, bert])
    requested.push([...asked.keys()].toSorted())
  }
  assert.deepEqual(requested.slice(-3), [[], [anna], [anna, bert].toSorted()])
  const rows = await directory.pageAudit({ limit: 100, afterId: last?.id ?? 0 })
  const write = (
    /** @type {string} */ operation,
    /** @type {number} */ status,
    /** @type {string | null} */ accountId = anna
  ) => ['api-write', accountId, '127.0.0.1', { token: own.id, operation, status }]
  assert.deepEqual(
    rows
      .toReversed()
      .map(({ action, accountId, remoteAddress, detail }) => [
        action,
        accountId,
        remoteAddress,
        detail
      ]),
    [
      ['alias-add', anna, null, undefined],
      write('addAlias', 201),
      ['alias-remove', anna, null, undefined],
      write('removeAlias', 204),
      write('removeAlias', 404),
      ['account-set', anna, null, { quotaBytes: 9 }],
      write('updateAccount', 200),
      write('endSession', 204),
      write('requestMaintenance', 202),
      write('requestMaintenance', 202, null)
    ]
  )
})

test('what a tenant’s token has done is in the tenant’s audit log, also where it concerned no account', async (t) => {
  const { ask, token, addAccount, services } = await startAdmin(t)
  await addAccount('anna@example.org')
  const own = { token: await token(['all'], 'example.org') }
  assert.equal((await ask('DELETE', '/v1/sessions/nobodys', own)).status, 404)
  await services.directory.flush()
  const { body } = await ask('GET', '/v1/audit?action=api-write', own)
  assert.deepEqual(
    body.events.map((/** @type {any} */ { tenant, detail }) => [tenant, detail.operation]),
    [['example.org', 'endSession']]
  )
})

test('whose account was deleted stands in the audit log', async (t) => {
  const { ask, token, addAccount, services } = await startAdmin(t)
  const { id } = await addAccount('anna@example.org')
  const all = { token: await token(['all']) }
  await ask('DELETE', `/v1/accounts/${id}?confirm=anna@example.org`, all)
  await services.directory.flush()
  const [row] = await services.directory.pageAudit({ limit: 1 })
  assert.deepEqual([row?.action, row?.accountId], ['api-write', id])
})

test('an alias of any length that an address may have is taken away again', async (t) => {
  const { ask, token, addAccount } = await startAdmin(t)
  const { id } = await addAccount('anna@example.org')
  const all = { token: await token(['all']) }
  const address = `${'a'.repeat(64)}@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.example.org`
  const url = `/v1/accounts/${id}/aliases`
  assert.equal((await ask('POST', url, { ...all, body: { address } })).status, 201)
  const taken = await ask('DELETE', `${url}/${encodeURIComponent(address)}`, all)
  assert.equal(taken.status, 204)
})

test('a session that has gone by itself was not ended here', async (t) => {
  const { ask, token, port, imap } = await startAdmin(t, { users: ['anna'] })
  const all = { token: await token(['all']) }
  const client = await WireClient.connect(port)
  t.after(() => client.destroy())
  await client.login('anna', `"${PASSWORD}"`)
  const { body } = await ask('GET', '/v1/sessions', all)
  t.mock.method(imap, 'endSession', () => false, { times: 1 })
  const url = `/v1/sessions/${body.sessions[0].id}`
  assert.equal((await ask('DELETE', url, all)).status, 404)
  assert.equal((await ask('DELETE', url, all)).status, 204)
})
