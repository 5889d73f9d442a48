/**
 * Which token opens which route: all routes of the OpenAPI document, with every kind of token.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createApiToken, revokeApiToken } from '../../src/accounts/api-tokens.js'
import { operationsOf, startAdmin } from '../helpers/admin.js'

/** @typedef {import('../../src/accounts/directory-port.js').ApiScope} ApiScope */

/**
 * docs/admin.md, “Tokens”, route by route. `host`: the token of one tenant is refused.
 *
 * @type {Record<string, { scopes: ApiScope[], host?: boolean }>}
 */
const ROUTES = {
  getToken: { scopes: ['read', 'accounts', 'backups', 'all'] },
  getHealth: { scopes: ['read', 'all'], host: true },
  getFigures: { scopes: ['read', 'all'], host: true },
  listTenants: { scopes: ['read', 'accounts', 'all'] },
  getTenant: { scopes: ['read', 'accounts', 'all'] },
  createTenant: { scopes: ['all'], host: true },
  updateTenant: { scopes: ['all'], host: true },
  deleteTenant: { scopes: ['all'], host: true },
  assignDomain: { scopes: ['all'], host: true },
  listAccounts: { scopes: ['read', 'accounts', 'all'] },
  createAccount: { scopes: ['accounts', 'all'] },
  getAccount: { scopes: ['read', 'accounts', 'all'] },
  updateAccount: { scopes: ['accounts', 'all'] },
  deleteAccount: { scopes: ['accounts', 'all'] },
  listAliases: { scopes: ['read', 'accounts', 'all'] },
  addAlias: { scopes: ['accounts', 'all'] },
  removeAlias: { scopes: ['accounts', 'all'] },
  listCredentials: { scopes: ['read', 'accounts', 'all'] },
  revokeAppPassword: { scopes: ['accounts', 'all'] },
  endAccountSessions: { scopes: ['accounts', 'all'] },
  listSessions: { scopes: ['read', 'accounts', 'all'] },
  endSession: { scopes: ['accounts', 'all'] },
  listMaintenanceRuns: { scopes: ['read', 'accounts', 'backups', 'all'] },
  requestMaintenance: { scopes: ['accounts', 'all'] },
  listBackups: { scopes: ['read', 'backups', 'all'] },
  listAudit: { scopes: ['read', 'all'] }
}

/** @type {ApiScope[]} */
const SCOPES = ['read', 'accounts', 'backups', 'all']

test('each route opens for the scopes that the documentation names, and for nothing else', async (t) => {
  const { ask, admin, services, token, addAccount } = await startAdmin(t)
  await addAccount('anna@example.org')
  const revoked = await createApiToken({
    services,
    label: '',
    scopes: ['all'],
    tenant: null,
    expiresAtMs: null
  })
  await revokeApiToken({ services, id: revoked.token.id })
  const later = await createApiToken({
    services,
    label: '',
    scopes: ['read'],
    tenant: null,
    expiresAtMs: services.clock.nowMs() + 3_600_000
  })
  assert.equal((await ask('GET', '/v1/token', { token: later.text })).body.id, later.token.id)
  await services.directory.flush()
  const written = await services.directory.pageAudit({ limit: 3, isOldestFirst: true })
  assert.deepEqual(
    written.map(({ action, detail }) => [action, detail?.['token'], detail?.['scopes']]),
    [
      ['account-create', undefined, undefined],
      ['token-create', revoked.token.id, 'all'],
      ['token-revoke', revoked.token.id, undefined]
    ]
  )
  const expired = await createApiToken({
    services,
    label: '',
    scopes: ['all'],
    tenant: null,
    expiresAtMs: services.clock.nowMs()
  })
  await assert.rejects(token(['all'], 'nobody.test'), { code: 'TENANT_NOT_FOUND' })
  const good = await token(['all'])
  const nobodys = [
    undefined,
    revoked.text,
    expired.text,
    `${good}x`,
    good.toUpperCase(),
    good.slice(0, -1)
  ]
  const tokens = await Promise.all(
    SCOPES.map(async (scope) => ({
      scope,
      ofHost: await token([scope]),
      ofTenant: await token([scope], 'example.org')
    }))
  )
  const operations = operationsOf(admin.app.swagger())
  assert.deepEqual(
    operations.map(({ operation }) => operation.operationId).sort(),
    Object.keys(ROUTES).sort(),
    'every route is in the table'
  )
  for (const { method, path, operation } of operations) {
    const { scopes, host } = /** @type {(typeof ROUTES)[string]} */ (ROUTES[operation.operationId])
    // Nothing there has such a name: whoever is let in is told so.
    const url = path.replaceAll(/\{\w+\}/g, 'ffffffffffffffff')
    const body = method === 'POST' || method === 'PATCH' ? { isNothing: true } : undefined
    const statusOf = async (/** @type {string | undefined} */ text) =>
      (await ask(method, url, { ...(text !== undefined && { token: text }), body })).status
    for (const text of nobodys) assert.equal(await statusOf(text), 401, `${method} ${path}`)
    for (const { scope, ofHost, ofTenant } of tokens) {
      const isOpen = scopes.includes(scope)
      const where = `${method} ${path} with ${scope}`
      assert.equal((await statusOf(ofHost)) !== 403, isOpen, where)
      assert.equal((await statusOf(ofTenant)) !== 403, isOpen && !host, `${where} of a tenant`)
    }
  }
})
