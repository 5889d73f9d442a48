/**
 * What a login leaves in memory where nobody is let in, though the password was right.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { rekeyAccount } from '../../../src/accounts/rekey.js'
import { SecretBuffer } from '../../../src/crypto/secret-buffer.js'
import { assertRefused, logIn, makeAccount, openTestAccounts } from '../../helpers/accounts.js'

/**
 * @param {import('node:test').TestContext} t
 * @returns {() => unknown[]} those that were made since and are still there
 */
function watchSecrets(t) {
  const made = /** @type {const} */ (['alloc', 'random', 'copyOf']).map((name) =>
    t.mock.method(SecretBuffer, name)
  )
  return () =>
    made
      .flatMap(({ mock }) => mock.calls.map(({ result }) => result))
      .filter((secret) => secret?.isDisposed === false)
}

test('a login that is refused after its password was right leaves no key behind', async (t) => {
  const { services } = await openTestAccounts(t, { 'auth.repeatLoginCache': false })
  const { account } = await makeAccount(services)
  await services.directory.updateAccount(account.id, { isEnabled: false })
  const left = watchSecrets(t)
  await assertRefused(logIn(services, 'old secret'), 'ACCOUNT_DISABLED')
  assert.equal(left().length, 0)
})

test('a login that a rekey overtakes keeps the present key alone', async (t) => {
  const { services } = await openTestAccounts(t, { 'auth.repeatLoginCache': false })
  const { account } = await makeAccount(services)
  const { directory } = services
  const overtaken = async (/** @type {string} */ accountId) => {
    await rekeyAccount({ services, account, password: Buffer.from('old secret') })
    return await directory.findRekey(accountId)
  }
  t.mock.method(directory, 'findRekey', overtaken, { times: 1 })
  const left = watchSecrets(t)
  using present = (await logIn(services, 'old secret')).masterKey
  assert.equal(left().length, 1)
  assert.equal(left()[0], present)
})
