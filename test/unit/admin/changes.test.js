/**
 * What is written down of changes over /v1, and changes that meet each other.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createConnection } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createAppPassword } from '../../../src/accounts/app-passwords.js'
import { MailError } from '../../../src/errors.js'
import { startAdmin } from '../../helpers/admin.js'
import { PASSWORD } from '../../helpers/server.js'
import { WireClient } from '../../helpers/wire-client.js'

test('who goes before the answer is written down as well', async (t) => {
  const { admin, services, token } = await startAdmin(t)
  const { argon2, directory } = services
  const all = await token(['all'])
  const { port } = await admin.listen({ host: '127.0.0.1', port: 0 })
  const socket = createConnection({ host: '127.0.0.1', port })
  const body = JSON.stringify({ address: 'anna@example.org', password: 'a good password' })
  socket.write(
    `POST /v1/accounts HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${all}\r\n` +
      `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`
  )
  while (argon2.figures.derivations === 0) await sleep(1)
  const [connection] = await Promise.all([once(socket, 'close'), socket.destroy()])
  assert.ok(connection)
  /** @type {import('../../../src/accounts/directory-port.js').AuditRow[]} */
  let rows = []
  // The last of what is written down.
  while (!rows.some(({ action }) => action === 'api-write')) {
    await sleep(10)
    await directory.flush()
    rows = await directory.pageAudit({ limit: 100 })
  }
  assert.ok(rows.some(({ action }) => action === 'account-create'))
  const write = rows.find(({ action }) => action === 'api-write')
  assert.equal(write?.detail?.['operation'], 'createAccount')
  assert.equal(write?.detail?.['status'], 201)
  assert.equal(write?.accountId, (await directory.findByAddress('anna@example.org'))?.id)
})

test('who breaks the connection behind a change is written down with the address', async (t) => {
  const { admin, services, token } = await startAdmin(t, { settings: { 'admin.isTls': true } })
  const { directory } = services
  const all = await token(['all'])
  const { port } = await admin.listen({ host: '127.0.0.1', port: 0 })
  const socket = createConnection({ host: '127.0.0.1', port })
  const secured = connectTls({ socket, rejectUnauthorized: false })
  await once(secured, 'secureConnect')
  // So the server has seen more of this client than a handshake.
  secured.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await once(secured, 'data')
  secured.write(
    `POST /v1/maintenance HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${all}\r\n` +
      'Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}'
  )
  // Before anything of it has been read.
  socket.resetAndDestroy()
  let [row] = await directory.pageAudit({ limit: 1 })
  for (; row?.action !== 'api-write'; [row] = await directory.pageAudit({ limit: 1 })) {
    await sleep(10)
    await directory.flush()
  }
  assert.deepEqual(
    [row.detail?.['operation'], row.remoteAddress],
    ['requestMaintenance', '127.0.0.1']
  )
})

test('what is taken away over /v1 is gone: an alias, an app password, sessions, an account', async (t) => {
  const { ask, services, port, token, addAccount } = await startAdmin(t)
  const all = await token(['all'])
  const account = await addAccount('anna@example.org')
  const url = `/v1/accounts/${account.id}`
  await services.directory.addAlias(account.id, 'info@example.org')
  const secret = Buffer.from(PASSWORD)
  const { appPassword } = await createAppPassword({ services, account, secret, label: 'phone' })
  const clients = []
  for (let count = 0; count < 3; count++) {
    const client = await WireClient.connect(port)
    t.after(() => client.destroy())
    await client.login('anna@example.org', `"${PASSWORD}"`)
    clients.push({ client, closed: once(client.socket, 'close') })
  }
  const take = async (/** @type {string} */ path) => {
    const { status, body } = await ask('DELETE', path, { token: all })
    return [status, body]
  }
  const left = async (/** @type {string} */ part) =>
    (await ask('GET', `${url}/${part}`, { token: all })).body[part]

  assert.deepEqual(await take(`${url}/aliases/info@example.org`), [204, null])
  assert.deepEqual(await left('aliases'), [])

  const credential = `${url}/credentials/${appPassword.id}`
  const kept = (await left('credentials')).filter(
    (/** @type {{ id: string }} */ { id }) => id !== appPassword.id
  )
  assert.deepEqual(await take(credential), [204, null])
  assert.deepEqual(await left('credentials'), kept)
  assert.equal((await take(credential))[0], 404)

  const { sessions } = (await ask('GET', '/v1/sessions', { token: all })).body
  assert.deepEqual(await take(`/v1/sessions/${sessions[0].id}`), [204, null])
  await Promise.race(clients.map(({ closed }) => closed))
  assert.equal(clients.filter(({ client }) => client.isClosed).length, 1)
  assert.deepEqual(await take(`${url}/sessions`), [200, { ended: 2 }])
  await Promise.all(clients.map(({ closed }) => closed))

  assert.deepEqual(await take(`${url}?confirm=anna@example.org`), [204, null])
  assert.equal((await ask('GET', url, { token: all })).status, 404)
})

test('the audit log is read also while the disk takes no more of it', async (t) => {
  const { ask, services, token } = await startAdmin(t)
  const { directory } = services
  const all = await token(['all'])
  await directory.flush()
  const { flush } = directory
  directory.flush = async () => {
    throw new MailError('DISK_FULL')
  }
  const { status, body } = await ask('GET', '/v1/audit', { token: all })
  directory.flush = flush
  assert.equal(status, 200)
  assert.ok(
    body.events.some((/** @type {{ action: string }} */ { action }) => action === 'token-create')
  )
})

test('the audit log is asked for actions that there are', async (t) => {
  const { ask, services, token } = await startAdmin(t)
  const all = await token(['all'])
  await services.directory.flush()
  const made = await ask('GET', '/v1/audit?action=token-create', { token: all })
  assert.deepEqual([made.status, made.body.events.length], [200, 1])
  const { status, body } = await ask('GET', '/v1/audit?action=token-made', { token: all })
  assert.equal(status, 400)
  assert.match(JSON.stringify(body), /action/)
})

test('the audit log says which tenant and which domain was changed', async (t) => {
  const { ask, services, token } = await startAdmin(t)
  const all = await token(['all'])
  const steps = /** @type {const} */ ([
    ['POST', '/v1/tenants', { id: 'acme' }],
    ['PATCH', '/v1/tenants/acme', { maxAccounts: 3 }],
    ['PUT', '/v1/tenants/acme/domains/Example.COM', undefined],
    ['POST', '/v1/tenants', { id: 'other' }],
    ['DELETE', '/v1/tenants/other', undefined],
    ['DELETE', '/v1/tenants/acme', undefined]
  ])
  const statuses = []
  for (const [method, url, body] of steps) {
    statuses.push((await ask(method, url, { token: all, body })).status)
  }
  assert.deepEqual(statuses, [201, 200, 200, 201, 204, 409])
  await services.directory.flush()
  const rows = await services.directory.pageAudit({ limit: 100 })
  assert.deepEqual(
    rows
      .toReversed()
      .filter(({ action }) => /^(tenant|domain)-/.test(action))
      .map(({ action, tenant, detail }) => [action, tenant, detail ?? {}]),
    [
      ['tenant-create', 'acme', {}],
      ['tenant-set', 'acme', { maxAccounts: 3 }],
      ['domain-assign', 'acme', { domain: 'example.com' }],
      ['tenant-create', 'other', {}],
      ['tenant-delete', null, { tenant: 'other' }]
    ]
  )
})

test('a tenant whose id another one had before sees nothing of what that one did', async (t) => {
  const { ask, services, token, addAccount } = await startAdmin(t)
  const { directory } = services
  const all = await token(['all'])
  const shop = { token: all, body: { id: 'shop' } }
  await ask('POST', '/v1/tenants', shop)
  await ask('PUT', '/v1/tenants/shop/domains/example.org', { token: all })
  const { id } = await addAccount('anna@example.org')
  await ask('DELETE', `/v1/accounts/${id}`, { token: all })
  await ask('POST', '/v1/tenants', { token: all, body: { id: 'other' } })
  await ask('PUT', '/v1/tenants/other/domains/example.org', { token: all })
  await ask('DELETE', '/v1/tenants/shop', { token: all })
  // What waits to be written is of the former one, too.
  directory.audit({ action: 'domain-assign', tenant: 'shop', detail: { domain: 'late.test' } })
  await ask('POST', '/v1/tenants', shop)
  const own = await token(['read'], 'shop')
  const told = async (/** @type {string} */ bearer, query = '') => {
    const { body } = await ask('GET', `/v1/audit?tenant=shop${query}`, { token: bearer })
    return body.events.map((/** @type {{ action: string }} */ { action }) => action)
  }
  assert.deepEqual(await told(own), ['token-create', 'tenant-create'])
  assert.deepEqual(await told(own, `&accountId=${id}`), [])
  const former = await told(all)
  assert.ok(former.length > 4, 'the host sees both')
  assert.deepEqual(former.slice(-2), ['domain-assign', 'tenant-create'])
})

test('a list of a tenant that there is not is refused, and not empty; the log of one that there was is told', async (t) => {
  const { ask, token } = await startAdmin(t)
  const all = { token: await token(['all']) }
  await ask('POST', '/v1/tenants', { ...all, body: { id: 'shop' } })
  const statusOf = async (/** @type {string} */ path) => {
    const { status, body } = await ask('GET', `/v1/${path}`, all)
    return body.code ?? status
  }
  for (const path of ['accounts', 'sessions', 'maintenance', 'audit']) {
    assert.equal(await statusOf(`${path}?tenant=shop`), 200, path)
    assert.equal(await statusOf(`${path}?tenant=shpo`), 'TENANT_NOT_FOUND', path)
  }
  await ask('DELETE', '/v1/tenants/shop', all)
  for (const page of ['', '&before=1', '&action=login'])
    assert.equal(await statusOf(`audit?tenant=shop${page}`), 200, page)
  assert.equal(await statusOf('accounts?tenant=shop'), 'TENANT_NOT_FOUND')
})

test('what somebody else deletes while it is looked at or changed is answered as not there', async (t) => {
  const { ask, services, token, addAccount } = await startAdmin(t)
  const { directory } = services
  const all = await token(['all'])
  const { findAccount, updateAccount, updateTenant } = directory
  const account = await addAccount('anna@example.org')
  const url = `/v1/accounts/${account.id}`
  directory.findAccount = async (id) => {
    const found = await findAccount(id)
    if (found) await directory.deleteAccount(id)
    return found
  }
  const read = await ask('GET', url, { token: all })
  directory.findAccount = findAccount
  const { id } = await addAccount('anna@example.org')
  directory.updateAccount = async (accountId, change) => {
    await updateAccount(accountId, change)
    await directory.deleteAccount(accountId)
  }
  const body = { quotaBytes: 5 }
  const changed = await ask('PATCH', `/v1/accounts/${id}`, { token: all, body })
  await directory.createTenant({ id: 'acme', label: '', quotaBytes: 0, maxAccounts: 0 })
  directory.updateTenant = async (tenant, change) => {
    await updateTenant(tenant, change)
    await directory.deleteTenant(tenant)
  }
  const tenant = await ask('PATCH', '/v1/tenants/acme', { token: all, body })
  assert.deepEqual(
    [read, changed, tenant].map(({ status, body: problem }) => [status, problem?.code]),
    [
      [404, 'ACCOUNT_NOT_FOUND'],
      [404, 'ACCOUNT_NOT_FOUND'],
      [404, 'TENANT_NOT_FOUND']
    ]
  )
})

test('who goes through all accounts by address misses none and sees none twice, whatever is made and deleted', async (t) => {
  const { ask, services, token, addAccount } = await startAdmin(t)
  const all = await token(['read'])
  /** @type {Map<string, string>} */
  const ids = new Map()
  for (const name of ['a', 'b', 'c', 'd', 'e']) {
    ids.set(name, (await addAccount(`${name}@example.org`)).id)
  }
  const seen = []
  for (let after = ''; ;) {
    const search = after === '' ? '' : `&after=${encodeURIComponent(after)}`
    const { body } = await ask('GET', `/v1/accounts?limit=2${search}`, { token: all })
    const page = body.accounts.map((/** @type {any} */ { address }) => address)
    seen.push(...page)
    if (page.length < 2) break
    after = page.at(-1)
    if (seen.length > 2) continue
    // One before the place where it goes on, and one in front of all.
    await services.directory.deleteAccount(ids.get('a') ?? '')
    await addAccount('0@example.org')
    assert.equal(body.total, 5)
  }
  assert.deepEqual(
    seen,
    ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}@example.org`)
  )
  for (const other of ['sort=usedBytes', 'order=desc']) {
    const url = `/v1/accounts?after=a%40example.org&${other}`
    assert.equal((await ask('GET', url, { token: all })).status, 400, other)
  }
})

test('a tenant’s label has no control characters', async (t) => {
  const { ask, token } = await startAdmin(t)
  const all = await token(['all'])
  const made = await ask('POST', '/v1/tenants', {
    token: all,
    body: { id: 'acme', label: 'Äcme 1' }
  })
  assert.equal(made.status, 201)
  for (const label of ['a\tb', 'a\nb', 'a\u001b[2Jb', 'a\u007fb', 'a\u009bb']) {
    const body = { label }
    const answers = [
      await ask('POST', '/v1/tenants', { token: all, body: { id: 'other', label } }),
      await ask('PATCH', '/v1/tenants/acme', { token: all, body })
    ]
    for (const { status, body: problem } of answers) {
      assert.equal(status, 400)
      assert.equal(problem.errors[0].path, '/label')
    }
  }
})
