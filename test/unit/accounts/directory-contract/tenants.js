/**
 * What every directory keeps about tenants, and about the tokens of the admin interface.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { isMailError } from '../../../../src/errors.js'
import { newAccount } from '../../../helpers/directory-rows.js'

/**
 * @typedef {import('./index.js').ContractOptions} ContractOptions
 * @typedef {import('../../../../src/accounts/directory-port.js').Account} Account
 * @typedef {import('../../../../src/accounts/directory-port.js').ApiToken} ApiToken
 */

/**
 * @param {string} id
 * @param {Partial<ApiToken>} change
 * @returns {Omit<ApiToken, 'lastUsedAtMs'> & { hash: Buffer }}
 */
function token(id, change) {
  const scopes = /** @type {ApiToken['scopes']} */ (['all'])
  const row = { label: '', scopes, tenant: null, createdAtMs: 1, expiresAtMs: null, ...change }
  return { ...row, id, hash: randomBytes(32) }
}

/** @param {ContractOptions} options */
export function tenantsContract({ name, setUp }) {
  test(`${name}: a domain with more accounts than a tenant may have is not given to it`, async (t) => {
    const { data, directory } = await setUp(t)
    for (const user of ['anna', 'ben'])
      await directory.createAccount(newAccount(data, `${user}@example.org`))
    await directory.createTenant({ id: 'small', label: '', quotaBytes: 0, maxAccounts: 1 })
    await assert.rejects(directory.assignDomain('example.org', 'small'), { code: 'LIMIT' })
    assert.equal(await directory.findTenantOfDomain('example.org'), 'example.org')
    // One without accounts takes no seat.
    await directory.assignDomain('example.net', 'small')
    await directory.updateTenant('small', { maxAccounts: 2 })
    await directory.assignDomain('example.org', 'small')
    assert.equal(await directory.findTenantOfDomain('example.org'), 'small')
  })

  test(`${name}: a tenant has domains, accounts and their sums`, async (t) => {
    const { data, directory, clock } = await setUp(t)
    await directory.createTenant({ id: 'acme', label: 'Acme', quotaBytes: 1000, maxAccounts: 2 })
    await assert.rejects(
      directory.createTenant({ id: 'acme', label: '', quotaBytes: 0, maxAccounts: 0 }),
      (error) => isMailError(error, 'TENANT_EXISTS')
    )
    assert.equal(await directory.findTenantOfDomain('one.test'), null)
    await directory.assignDomain('one.test', 'acme')
    assert.equal(await directory.findTenantOfDomain('one.test'), 'acme')
    const isUnknown = (/** @type {unknown} */ error) => isMailError(error, 'TENANT_NOT_FOUND')
    await assert.rejects(directory.assignDomain('one.test', 'nobody'), isUnknown)

    const anna = await directory.createAccount(newAccount(data, 'anna@one.test'))
    const bert = await directory.createAccount(newAccount(data, 'bert@two.test'))
    assert.deepEqual([anna.tenant, bert.tenant], ['acme', 'two.test'])
    await directory.updateAccount(bert.id, { tenant: 'acme' })
    const states = await directory.accountStates([anna.id, bert.id, 'nobody'])
    assert.deepEqual(
      [...states].map(([id, { tenant }]) => [id, tenant]).sort(),
      [
        [anna.id, 'acme'],
        [bert.id, 'acme']
      ].sort()
    )
    const isFull = (/** @type {unknown} */ error) => isMailError(error, 'LIMIT')
    await assert.rejects(directory.createAccount(newAccount(data, 'cy@one.test')), isFull)
    await assert.rejects(
      directory.createAccount({ ...newAccount(data, 'cy@three.test'), tenant: 'acme' }),
      isFull
    )
    await assert.rejects(directory.updateAccount(bert.id, { tenant: 'nobody' }), isUnknown)

    directory.recordUsage(anna.id, { bytes: 300, messages: 3 })
    directory.recordUsage(bert.id, { bytes: 200, messages: 2 })
    await directory.flush()
    assert.equal(await directory.tenantRoom('acme'), 500)
    assert.equal(await directory.tenantRoom('two.test'), null, 'no limit')
    assert.deepEqual(await directory.findTenant('acme'), {
      id: 'acme',
      label: 'Acme',
      createdAtMs: clock.nowMs(),
      quotaBytes: 1000,
      maxAccounts: 2,
      domains: ['one.test'],
      accounts: 2,
      usedBytes: 500,
      usedMessages: 5,
      fileBytes: 0,
      freeBytes: 0
    })
    await directory.updateTenant('acme', { label: 'Acme Ltd', quotaBytes: 400 })
    assert.equal(await directory.tenantRoom('acme'), 0, 'it is over, and gets nothing')
    assert.deepEqual(
      (await directory.listTenants()).map(({ id, label, accounts }) => [id, label, accounts]),
      [
        ['acme', 'Acme Ltd', 2],
        ['two.test', '', 0]
      ]
    )
    assert.equal((await directory.listAccounts({ tenant: 'acme' })).length, 2)
    assert.deepEqual(
      [await directory.hasTenant('acme'), await directory.hasTenant('nobody')],
      [true, false]
    )
    await assert.rejects(directory.updateTenant('nobody', { label: '' }), isUnknown)
  })

  test(`${name}: a tenant's room is what its own accounts leave, whatever domains they are in`, async (t) => {
    const { data, directory, clock } = await setUp(t)
    for (const id of ['acme', 'other'])
      await directory.createTenant({ id, label: '', quotaBytes: 1000, maxAccounts: 0 })
    await directory.assignDomain('one.test', 'acme')
    await directory.assignDomain('two.test', 'acme')
    const made = []
    const addresses = ['a@one.test', 'b@one.test', 'c@two.test', 'd@three.test', 'e@two.test']
    for (const address of addresses)
      made.push(await directory.createAccount(newAccount(data, address)))
    const [, , , d, e] = /** @type {[Account, Account, Account, Account, Account]} */ (
      /** @type {unknown} */ (made)
    )
    await directory.updateAccount(d.id, { tenant: 'acme' })
    await directory.updateAccount(e.id, { tenant: 'other' })
    const used = [7, 20, 300, 400, 999]
    made.forEach(({ id }, nth) => {
      directory.recordUsage(id, { bytes: used[nth] ?? 0, messages: 1 })
    })
    await directory.flush()
    assert.equal(await directory.tenantRoom('acme'), 1000 - 727)
    assert.equal(await directory.tenantRoom('other'), 1)
    await directory.updateAccount(d.id, { tenant: 'other' })
    clock.advance(1001)
    assert.equal(await directory.tenantRoom('acme'), 1000 - 327)
    assert.equal(await directory.tenantRoom('other'), 0)
  })

  test(`${name}: a tenant in use stays, and one that goes takes its tokens along`, async (t) => {
    const { data, directory } = await setUp(t)
    const anna = await directory.createAccount(newAccount(data, 'anna@one.test'))
    const isUsed = (/** @type {unknown} */ error) => isMailError(error, 'TENANT_IN_USE')
    await assert.rejects(directory.deleteTenant('one.test'), isUsed)
    await directory.createTenant({ id: 'acme', label: '', quotaBytes: 0, maxAccounts: 0 })
    await directory.assignDomain('one.test', 'acme')
    assert.equal((await directory.findAccount(anna.id))?.tenant, 'acme', 'it follows its domain')
    assert.equal(await directory.findTenant('one.test'), null, 'nothing was left in it')
    await assert.rejects(directory.deleteTenant('acme'), isUsed)
    await directory.createTenant({ id: 'empty', label: '', quotaBytes: 0, maxAccounts: 0 })
    await directory.insertApiToken(token('0001', { tenant: 'empty' }))
    await directory.deleteTenant('empty')
    assert.deepEqual(await directory.listApiTokens(), [])
    await assert.rejects(directory.deleteTenant('empty'), (error) =>
      isMailError(error, 'TENANT_NOT_FOUND')
    )
  })

  test(`${name}: a token is found by its hash until it is revoked`, async (t) => {
    const { directory, clock } = await setUp(t)
    const first = token('0001', { scopes: ['read', 'backups'], expiresAtMs: 5 })
    const second = token('0002', { createdAtMs: 2 })
    await directory.insertApiToken(second)
    await directory.insertApiToken(first)
    const { hash, ...rest } = first
    assert.deepEqual(await directory.findApiToken(hash), { ...rest, lastUsedAtMs: null })
    assert.equal(await directory.findApiToken(randomBytes(32)), null)
    assert.deepEqual(
      (await directory.listApiTokens()).map(({ id }) => id),
      ['0001', '0002']
    )
    directory.recordTokenUse('0001')
    await directory.flush()
    assert.equal((await directory.findApiToken(hash))?.lastUsedAtMs, clock.nowMs())
    assert.equal(await directory.deleteApiToken('0001'), true)
    assert.equal(await directory.deleteApiToken('0001'), false)
    assert.equal(await directory.findApiToken(hash), null)
  })
}
