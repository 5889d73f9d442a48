/**
 * A tenant's token sees and touches nothing of another tenant: over every route of the OpenAPI document, whatever is asked.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createAppPassword } from '../../src/accounts/app-passwords.js'
import { operationsOf, startAdmin } from '../helpers/admin.js'
import { plainRequestsOf, requestOf } from '../helpers/openapi-arbitrary.js'
import { PASSWORD } from '../helpers/server.js'
import { WireClient } from '../helpers/wire-client.js'

/** Requests for each operation. */
const RUNS = 40

/**
 * Two tenants with all that one can have.
 *
 * @param {import('node:test').TestContext} t
 */
async function twoTenants(t) {
  const parts = await startAdmin(t)
  const { services, port, addAccount, token } = parts
  const { directory } = services
  /** @type {WireClient[]} */
  const clients = []
  t.after(() => clients.forEach((client) => client.destroy()))
  const fill = async (/** @type {string} */ name) => {
    const account = await addAccount(`anna@${name}.test`)
    await directory.addAlias(account.id, `info@${name}.test`)
    const secret = Buffer.from(PASSWORD)
    const { appPassword } = await createAppPassword({
      services,
      account,
      secret,
      label: `label-of-${name}`
    })
    directory.recordMaintenance({
      accountId: account.id,
      job: 'space',
      state: { doneAtMs: 1, failures: 0, failedCode: null, nextTryAtMs: null },
      run: {
        atMs: 1,
        why: 'asked for',
        result: 'done',
        note: null,
        before: {},
        after: {},
        tookMs: 1
      }
    })
    const client = await WireClient.connect(port)
    clients.push(client)
    await client.login(`anna@${name}.test`, `"${PASSWORD}"`)
    await directory.flush()
    const session = (await parts.imap.listSessions()).find(
      ({ accountId }) => accountId === account.id
    )
    return {
      account,
      credential: appPassword.id,
      session: session?.id ?? '',
      domain: `${name}.test`
    }
  }
  const ours = await fill('ours')
  const theirs = await fill('theirs')
  return {
    ...parts,
    ours,
    theirs,
    ownToken: await token(['all'], ours.domain),
    allToken: await token(['all'])
  }
}

test('no route shows a tenant’s token anything of another tenant, nor changes it', async (t) => {
  const { ask, admin, services, imap, ours, theirs, ownToken, allToken } = await twoTenants(t)
  const { directory } = services
  const markers = [
    theirs.account.id,
    theirs.credential,
    theirs.session,
    theirs.domain,
    'label-of-theirs'
  ]
  const stateOfTheirs = async () => {
    const accounts = await directory.listAccounts({ tenant: theirs.domain })
    return JSON.stringify({
      accounts,
      aliases: await directory.listAliases(theirs.account.id),
      credentials: (await directory.listCredentials(theirs.account.id)).map(({ id }) => id),
      tenant: await directory.findTenant(theirs.domain),
      requested: (await directory.listMaintenanceRequests([theirs.account.id])).size > 0,
      sessions: imap.listSessions().filter(({ accountId }) => accountId === theirs.account.id)
        .length
    })
  }
  const before = await stateOfTheirs()
  const known = [
    ...[theirs.account.id, theirs.credential, theirs.session, theirs.domain, 'anna@theirs.test'],
    ...['info@theirs.test', 'new@theirs.test', 'anna@ours.test', 'info@ours.test', 'new@ours.test'],
    ...[ours.account.id, ours.credential, ours.domain, 'new@unknown.test']
  ]
  const operations = operationsOf(admin.app.swagger())
  assert.ok(operations.length > 20, 'the document has the routes')
  /** @param {{ method: string, url: string, body: unknown }} request */
  const check = async ({ method, url, body }) => {
    const answer = await ask(method, url, { token: ownToken, body })
    assert.ok(answer.status < 500, `${method} ${url}: ${answer.text}`)
    for (const marker of markers) {
      assert.ok(!answer.text.includes(marker), `${method} ${url} shows ${marker}: ${answer.text}`)
    }
  }
  for (const operation of operations) {
    for (const request of plainRequestsOf(operation, known)) await check(request)
    await fc.assert(fc.asyncProperty(requestOf(operation, known), check), { numRuns: RUNS })
    assert.equal(
      await stateOfTheirs(),
      before,
      `${operation.method} ${operation.path} changed them`
    )
  }
  // The same questions with a token of the whole host do show them: the property is not empty.
  for (const path of [
    'accounts',
    'tenants',
    'sessions',
    'maintenance',
    'audit?tenant=theirs.test'
  ]) {
    assert.match((await ask('GET', `/v1/${path}`, { token: allToken })).text, /theirs\.test/, path)
  }
})

test('a tenant’s token does within its tenant what its scopes say', async (t) => {
  const { ask, ours, ownToken, token } = await twoTenants(t)
  const base = `/v1/accounts/${ours.account.id}`
  const made = await ask('POST', '/v1/accounts', {
    token: ownToken,
    body: { address: 'ben@ours.test', password: 'a good one' }
  })
  assert.equal(made.status, 201)
  assert.match(made.body.recoveryCode, /^llrec-/)
  const good = [
    ['GET', '/v1/accounts'],
    ['GET', base],
    ['GET', `${base}/aliases`],
    ['GET', `${base}/credentials`],
    ['GET', '/v1/sessions'],
    ['GET', '/v1/tenants'],
    ['GET', '/v1/maintenance'],
    ['GET', '/v1/backups'],
    ['GET', '/v1/audit'],
    ['DELETE', `/v1/sessions/${ours.session}`],
    ['DELETE', `${base}/credentials/${ours.credential}`],
    ['DELETE', `${base}/aliases/info@ours.test`],
    ['DELETE', `/v1/accounts/${made.body.account.id}?confirm=ben@ours.test`]
  ]
  for (const [method = '', url = ''] of good) {
    const { status, text } = await ask(method, url, { token: ownToken })
    assert.ok(status >= 200 && status < 300, `${method} ${url}: ${status} ${text}`)
  }
  const reader = await token(['read'], ours.domain)
  assert.equal((await ask('GET', base, { token: reader })).status, 200)
  for (const [method = '', url = ''] of good.filter(([method]) => method === 'DELETE')) {
    assert.equal((await ask(method, url, { token: reader })).status, 403)
  }
  const backups = await token(['backups'])
  assert.equal((await ask('GET', '/v1/backups', { token: backups })).status, 200)
  assert.equal((await ask('GET', '/v1/accounts', { token: backups })).status, 403)
})

test('another’s domain is closed to a tenant: no account, no alias, no tenant of that name', async (t) => {
  const { ask, ours, theirs, ownToken } = await twoTenants(t)
  const tries = [
    ['POST', '/v1/accounts', { address: 'new@theirs.test', password: 'x'.repeat(12) }],
    ['POST', '/v1/accounts', { address: 'new@unknown.test', password: 'x'.repeat(12) }],
    [
      'POST',
      '/v1/accounts',
      { address: 'new@ours.test', password: 'x'.repeat(12), tenant: theirs.domain }
    ],
    ['POST', `/v1/accounts/${ours.account.id}/aliases`, { address: 'boss@theirs.test' }],
    ['PATCH', `/v1/accounts/${ours.account.id}`, { tenant: theirs.domain }],
    ['POST', '/v1/tenants', { id: 'another' }],
    ['PATCH', `/v1/tenants/${ours.domain}`, { quotaBytes: 0 }],
    ['PUT', `/v1/tenants/${ours.domain}/domains/theirs.test`, undefined]
  ]
  for (const [method, url, body] of /** @type {[string, string, unknown][]} */ (tries)) {
    const { status } = await ask(method, url, { token: ownToken, body })
    assert.ok(status === 403 || status === 404, `${method} ${url}: ${status}`)
  }
})
