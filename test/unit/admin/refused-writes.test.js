/**
 * What the disk does not take is not said to be done: the answer to a change comes after it.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { createAppPassword } from '../../../src/accounts/app-passwords.js'
import { SecretBuffer } from '../../../src/crypto/secret-buffer.js'
import { MailError } from '../../../src/errors.js'
import { startAdmin } from '../../helpers/admin.js'
import { PASSWORD } from '../../helpers/server.js'

test('a change that the disk does not take is refused, whichever it is', async (t) => {
  const { ask, services, token, addAccount } = await startAdmin(t)
  const { directory } = services
  const all = await token(['all'])
  const account = await addAccount('anna@example.org')
  await directory.addAlias(account.id, 'info@example.org')
  await directory.createTenant({ id: 'acme', label: '', quotaBytes: 0, maxAccounts: 0 })
  const secret = Buffer.from(PASSWORD)
  const { appPassword } = await createAppPassword({ services, account, secret, label: 'phone' })
  const url = `/v1/accounts/${account.id}`
  const fault = async () => {
    await setImmediate()
    throw new MailError('DISK_FULL')
  }
  const address = 'new@example.org'
  for (const [write, method, path, body] of /** @type {const} */ ([
    ['addAlias', 'POST', `${url}/aliases`, { address }],
    ['removeAlias', 'DELETE', `${url}/aliases/info@example.org`],
    ['deleteCredential', 'DELETE', `${url}/credentials/${appPassword.id}`],
    ['updateAccount', 'PATCH', url, { isEnabled: false }],
    ['deleteAccount', 'DELETE', `${url}?confirm=anna@example.org`],
    ['requestMaintenance', 'POST', '/v1/maintenance', {}],
    ['createTenant', 'POST', '/v1/tenants', { id: 'other' }],
    ['updateTenant', 'PATCH', '/v1/tenants/acme', { maxAccounts: 1 }],
    ['assignDomain', 'PUT', '/v1/tenants/acme/domains/example.org'],
    ['deleteTenant', 'DELETE', '/v1/tenants/acme']
  ])) {
    const { mock } = t.mock.method(directory, write, fault)
    const { status } = await ask(method, path, { token: all, body })
    assert.deepEqual([write, mock.callCount(), status], [write, 1, 507])
    mock.restore()
  }
})

test('of an account that is made neither the key nor the password stays in memory', async (t) => {
  const { ask, token } = await startAdmin(t)
  const all = await token(['all'])
  const made = /** @type {const} */ (['alloc', 'random', 'copyOf']).map((name) =>
    t.mock.method(SecretBuffer, name)
  )
  const { mock: copied } = t.mock.method(Buffer, 'from')
  const password = 'quagga-0815'
  for (const [address, status] of /** @type {const} */ ([
    ['anna@example.org', 201],
    ['anna@example.org', 409]
  ])) {
    const answer = await ask('POST', '/v1/accounts', { token: all, body: { address, password } })
    assert.equal(answer.status, status)
  }
  const left = made
    .flatMap(({ mock }) => mock.calls.map(({ result }) => result))
    .filter((secret) => secret?.isDisposed === false)
  assert.equal(left.length, 0)
  const typed = copied.calls.filter(
    ({ arguments: given }) => given[0] === /** @type {any} */ (password)
  )
  assert.equal(typed.length, 2)
  for (const { result } of typed) assert.ok(result?.every((byte) => byte === 0))
})
