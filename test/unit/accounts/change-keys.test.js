import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { createAppPassword, listAppPasswords } from '../../../src/accounts/app-passwords.js'
import { revokeAppPassword } from '../../../src/accounts/app-passwords.js'
import { renewRecoveryCode } from '../../../src/accounts/recovery-code.js'
import { logIn, makeAccount, openTestAccounts } from '../../helpers/accounts.js'
import { isOnDisk } from '../../helpers/disk-search.js'
import {
  MAIL,
  NEW,
  OLD,
  appendMail,
  assertRefused,
  change,
  readInbox
} from '../../helpers/change-keys.js'

test('a new password keeps all mail and every other credential, and the old one is gone', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  const app = await createAppPassword({
    services,
    account,
    secret: Buffer.from(OLD),
    label: 'phone'
  })
  await appendMail(services, OLD)
  const before = await services.directory.findSingleCredential(account.id, 'password')
  const derivations = services.argon2.figures.derivations

  assert.deepEqual(await change(services, account, OLD), { recoveryCode: null })
  assert.equal(services.argon2.figures.derivations - derivations, 2, 'one to check, one to wrap')
  const after = await services.directory.findSingleCredential(account.id, 'password')
  assert.equal(after?.id, before?.id)
  assert.equal(after?.version, Number(before?.version) + 1, 'live sessions notice')
  assert.equal(isOnDisk(join(data, 'directory.db'), before?.wrappedKey ?? MAIL), false)

  await assertRefused(logIn(services, OLD), 'AUTHENTICATION_FAILED')
  assert.deepEqual(await readInbox(services, NEW), [MAIL.toString()])
  ;(await logIn(services, app.text)).masterKey.dispose()
  await change(services, account, recoveryCode, 'third secret')
  assert.deepEqual(await readInbox(services, 'third secret'), [MAIL.toString()])
})

test('the recovery code changes the password, and is used up by that', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  const changed = await change(services, account, recoveryCode)
  await assertRefused(change(services, account, recoveryCode), 'AUTHENTICATION_FAILED')
  assert.match(String(changed.recoveryCode), /^llrec-/)
  await change(services, account, String(changed.recoveryCode), 'third secret')
  ;(await logIn(services, 'third secret')).masterKey.dispose()
})

test('neither a wrong password nor an app password changes the password', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const secret = Buffer.from(OLD)
  const app = await createAppPassword({ services, account, secret, label: 'phone' })
  await assertRefused(change(services, account, 'wrong'), 'AUTHENTICATION_FAILED')
  await assertRefused(change(services, account, app.text), 'AUTHENTICATION_FAILED')
  await assertRefused(
    createAppPassword({ services, account, secret: Buffer.from(app.text), label: '' }),
    'AUTHENTICATION_FAILED'
  )
  ;(await logIn(services, OLD)).masterKey.dispose()
})

test('a password that no login could present is refused', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  for (const password of ['', 'nul\0', 'x'.repeat(4097), recoveryCode]) {
    await assertRefused(change(services, account, OLD, password), 'PASSWORD_REFUSED')
  }
})

test('of two changes side by side one wins and the other says so', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const results = await Promise.allSettled([
    change(services, account, OLD, 'first'),
    change(services, account, OLD, 'second')
  ])
  assert.deepEqual(results.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  const winner = results[0]?.status === 'fulfilled' ? 'first' : 'second'
  ;(await logIn(services, winner)).masterKey.dispose()
})

test('of two new recovery codes that are asked for side by side one is made, and opens the account', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  const renew = () => renewRecoveryCode({ services, account, secret: Buffer.from(recoveryCode) })
  const results = await Promise.allSettled([renew(), renew()])
  const codes = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const refusals = results.flatMap((result) =>
    result.status === 'rejected' ? [result.reason] : []
  )
  assert.deepEqual(
    refusals.map(({ code }) => code),
    ['BUSY']
  )
  await assertRefused(change(services, account, recoveryCode), 'AUTHENTICATION_FAILED')
  await change(services, account, String(codes[0]), 'by the code')
  ;(await logIn(services, 'by the code')).masterKey.dispose()
})

for (const [what, secretOf, ask] of /** @type {const} */ ([
  ['an app password', () => OLD, createAppPassword],
  ['a recovery code', () => OLD, renewRecoveryCode],
  ['a recovery code', (/** @type {string} */ code) => code, renewRecoveryCode]
]))
  test(`no secret that was changed meanwhile makes ${what}`, async (t) => {
    const { services } = await openTestAccounts(t)
    const { account, recoveryCode } = await makeAccount(services)
    const { directory } = services
    const typed = secretOf(recoveryCode)
    /** @type {string | null} */
    let nextCode = null
    // The derivation may have to wait, for as long as others keep the queue full.
    const overtaken = async (
      /** @type {Parameters<typeof directory.findSingleCredential>} */ ...which
    ) => {
      const found = await directory.findSingleCredential(...which)
      nextCode = (await change(services, account, typed)).recoveryCode
      return found
    }
    t.mock.method(directory, 'findSingleCredential', overtaken, { times: 1 })
    const wish = { services, account, secret: Buffer.from(typed), label: 'phone' }
    await assertRefused(ask(wish), 'BUSY')
    assert.deepEqual(await listAppPasswords({ services, account }), [])
    await change(services, account, nextCode ?? recoveryCode, 'third secret')
  })

test('a revoked app password is refused, and its wrap is gone', async (t) => {
  const { services, data } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const secret = Buffer.from(OLD)
  const app = await createAppPassword({ services, account, secret, label: 'phone' })
  ;(await logIn(services, app.text)).masterKey.dispose()
  const row = await services.directory.findCredential(app.appPassword.id)
  assert.deepEqual(
    (await listAppPasswords({ services, account })).map(({ id, label }) => ({ id, label })),
    [{ id: app.appPassword.id, label: 'phone' }]
  )
  const revoke = () => revokeAppPassword({ services, account, credentialId: app.appPassword.id })
  await revoke()
  await assertRefused(logIn(services, app.text), 'AUTHENTICATION_FAILED')
  await assertRefused(revoke(), 'CREDENTIAL_NOT_FOUND')
  assert.equal(isOnDisk(join(data, 'directory.db'), row?.wrappedKey ?? MAIL), false)
  const password = await services.directory.findSingleCredential(account.id, 'password')
  await assertRefused(
    revokeAppPassword({ services, account, credentialId: String(password?.id) }),
    'CREDENTIAL_NOT_FOUND'
  )
})

test('an account has a bounded number of app passwords, with bounded labels', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  const create = (label = '') =>
    createAppPassword({ services, account, secret: Buffer.from(recoveryCode), label })
  for (let index = 0; index < 99; index++) await create('📱'.repeat(100))
  // Two at once, of which there is room for one.
  await assertRefused(Promise.all([create(), create()]), 'LIMIT')
  assert.equal((await listAppPasswords({ services, account })).length, 100)
  await assertRefused(create(), 'LIMIT')
  await assertRefused(create('x'.repeat(101)), 'LIMIT')
})
