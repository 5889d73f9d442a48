/**
 * What is told of logins: in the audit log, and in that of the server.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  assertRefused,
  logIn,
  makeAccount,
  makeAppPassword,
  openTestAccounts,
  tamper
} from '../../helpers/accounts.js'

const STRANGER = '192.0.2.66'

test('logins are in the audit log, without names as typed', async (t) => {
  const { services } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  ;(await logIn(services, 'old secret', { remoteAddress: STRANGER })).masterKey.dispose()
  await assertRefused(logIn(services, 'wrong', { remoteAddress: STRANGER }))
  await assertRefused(logIn(services, 'x', { username: 'my password', remoteAddress: STRANGER }))
  await services.directory.flush()
  const rows = (await services.directory.pageAudit({ limit: 100 })).map(
    ({ action, accountId, remoteAddress }) => ({ action, accountId, remoteAddress })
  )
  assert.deepEqual(rows.slice(0, 3), [
    { action: 'login-failed', accountId: null, remoteAddress: STRANGER },
    { action: 'login-failed', accountId: account.id, remoteAddress: STRANGER },
    { action: 'login', accountId: account.id, remoteAddress: STRANGER }
  ])
  assert.doesNotMatch(
    JSON.stringify(await services.directory.pageAudit({ limit: 100 })),
    /my password/
  )
})

test('a login that is recognised is in the audit log once a day for each address', async (t) => {
  const { services, clock } = await openTestAccounts(t)
  const { account } = await makeAccount(services)
  const hourMs = 60 * 60_000
  const logins = async () => {
    await services.directory.flush()
    const rows = await services.directory.pageAudit({ accountId: account.id, limit: 100 })
    return rows.filter(({ action }) => action === 'login').map((row) => row.remoteAddress)
  }
  const enter = async (/** @type {string} */ remoteAddress) => {
    const { masterKey } = await logIn(services, 'old secret', { remoteAddress })
    masterKey.dispose()
  }
  await enter('192.0.2.1')
  const derivations = services.argon2.figures.derivations
  for (const address of ['192.0.2.1', STRANGER, STRANGER, '2001:db8::1', '2001:db8::2'])
    await enter(address)
  assert.equal(services.argon2.figures.derivations, derivations, 'all are recognised')
  assert.deepEqual(await logins(), ['2001:db8::1', STRANGER, '192.0.2.1'])
  clock.advance(23 * hourMs)
  await enter(STRANGER)
  assert.equal((await logins()).length, 3)
  clock.advance(hourMs)
  await enter(STRANGER)
  assert.deepEqual((await logins())[0], STRANGER)
  assert.equal((await logins()).length, 4)
})

test('nothing that is logged holds a password, a key or an address', async (t) => {
  const { services, data, lines } = await openTestAccounts(t)
  const { account, recoveryCode } = await makeAccount(services)
  const app = await makeAppPassword(services, account)
  const { masterKey } = await logIn(services, 'old secret')
  await assertRefused(logIn(services, 'very wrong'))
  tamper(data, "UPDATE credentials SET scope = 'read-only'")
  await assertRefused(logIn(services, 'old secret'), 'ACCOUNT_DAMAGED')
  const log = JSON.stringify(lines)
  for (const secret of ['old secret', 'very wrong', recoveryCode, app.text, 'anna@']) {
    assert.ok(!log.includes(secret))
  }
  for (const encoding of /** @type {const} */ (['hex', 'base64'])) {
    assert.ok(!log.includes(masterKey.bytes.toString(encoding)))
  }
  masterKey.dispose()
})
