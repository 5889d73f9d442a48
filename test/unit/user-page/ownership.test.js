/**
 * What a session of the page reaches: its own account, and that only for as long as it lasts.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createAppPassword } from '../../../src/accounts/app-passwords.js'
import { resetAccount } from '../../../src/accounts/change-password.js'
import { renewRecoveryCode } from '../../../src/accounts/recovery-code.js'
import { deleteAccount } from '../../../src/accounts/remove-account.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { PASSWORD } from '../../helpers/server.js'
import { startUserPage } from '../../helpers/user-page.js'

/** @typedef {import('../../../src/accounts/directory-port.js').Account} Account */

const ALICE = 'alice@example.org'
const BEN = 'ben@example.org'

test('a session ends with the logout and with the next login of its browser, and in no other browser', async (t) => {
  const server = await startUserPage(t)
  const [browser, other] = [server.browser(), server.browser()]
  await other.logIn(ALICE, PASSWORD)
  await browser.logIn(ALICE, PASSWORD)
  const first = browser.cookie
  await browser.logIn(ALICE, PASSWORD)
  const second = browser.cookie
  const out = await browser.post('/logout', {})
  assert.deepEqual([out.status, out.headers.location, browser.cookie], [303, '/login', null])
  assert.deepEqual(out.headers['set-cookie'], [
    '__Host-letterlock=; Max-Age=0; Path=/; Secure; HttpOnly; SameSite=Strict'
  ])
  for (const cookie of [first, second]) {
    browser.cookie = cookie
    assert.equal((await browser.get('/')).headers.location, '/login')
  }
  assert.equal((await other.get('/')).status, 200)
  assert.equal((await other.get('/login')).headers.location, '/')
})

test('a session ends a quarter of an hour after its last request, and four hours after the login in any case', async (t) => {
  const clock = new ManualClock()
  const server = await startUserPage(t, { clock })
  const [idle, busy] = [server.browser(), server.browser()]
  const minuteMs = 60_000
  await idle.logIn(ALICE, PASSWORD)
  await busy.logIn(ALICE, PASSWORD)
  clock.advance(15 * minuteMs - 1)
  assert.equal((await busy.get('/')).status, 200)
  clock.advance(1)
  assert.equal((await idle.get('/')).status, 303)
  for (let minute = 15; minute < 240; minute += 5) {
    assert.equal((await busy.get('/')).status, 200, `${minute}`)
    clock.advance(5 * minuteMs)
  }
  assert.equal((await busy.get('/')).status, 303)
})

test('a session ends when its account is begun anew, and when it is deleted', async (t) => {
  const server = await startUserPage(t)
  const { services } = server
  const find = async () => /** @type {Account} */ (await services.directory.findByAddress(ALICE))
  const browser = server.browser()
  const ends = /** @type {const} */ ([
    async () =>
      await resetAccount({ services, account: await find(), newPassword: Buffer.from(PASSWORD) }),
    async () => await deleteAccount({ services, account: await find() })
  ])
  for (const end of ends) {
    await browser.logIn(ALICE, PASSWORD)
    assert.equal((await browser.get('/')).status, 200)
    await end()
    const { status, headers } = await browser.get('/')
    assert.deepEqual([status, headers.location], [303, '/login'])
    assert.equal((await browser.post('/recovery-code', { password: PASSWORD })).status, 403)
  }
})

test('app passwords alone are revoked here, and none of another account', async (t) => {
  const server = await startUserPage(t, { users: ['alice', 'ben'] })
  const { services } = server
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  const find = async (/** @type {string} */ address) =>
    /** @type {Account} */ (await services.directory.findByAddress(address))
  const [alice, ben] = [await find(ALICE), await find(BEN)]
  const secret = Buffer.from(PASSWORD)
  await createAppPassword({ services, account: ben, secret, label: 'phone' })
  const idsOf = async (/** @type {Account} */ { id }) =>
    (await services.directory.listCredentials(id)).map((credential) => credential.id)
  const [own, others] = [await idsOf(alice), await idsOf(ben)]
  for (const id of [...own, ...others, '', 'nothing']) {
    const { status, text } = await browser.post('/app-passwords/revoke', { id })
    assert.deepEqual([id, status, /not there any more/.test(text)], [id, 404, true])
  }
  assert.deepEqual([await idsOf(alice), await idsOf(ben)], [own, others])
})

test('a session that was begun with an alias downloads nothing of whoever has that alias now', async (t) => {
  const server = await startUserPage(t, { users: ['alice', 'ben'] })
  const { directory } = server.services
  const [alice, ben] = [await server.accountId('alice'), await server.accountId('ben')]
  await directory.addAlias(alice, 'info@example.org')
  const browser = server.browser()
  await browser.logIn('info@example.org', PASSWORD)
  await directory.removeAlias(alice, 'info@example.org')
  await directory.addAlias(ben, 'info@example.org')
  const { status, text } = await browser.post('/download', { password: PASSWORD })
  assert.deepEqual([status, /password is not right/.test(text)], [403, true])
})

test('the recovery code of a disabled account sets no password, and tells so to nobody without it', async (t) => {
  const server = await startUserPage(t)
  const { services } = server
  const { directory } = services
  const account = /** @type {Account} */ (await directory.findByAddress(ALICE))
  const secret = Buffer.from(PASSWORD)
  const code = await renewRecoveryCode({ services, account, secret })
  await directory.updateAccount(account.id, { isEnabled: false })
  const before = await directory.listCredentials(account.id)
  const browser = server.browser()
  const fields = { address: ALICE, new: 'another secret', again: 'another secret' }
  const refused = await browser.post('/forgotten', { ...fields, code })
  assert.deepEqual([refused.status, /account is disabled/.test(refused.text)], [403, true])
  const guess = `llrec-${Array(4).fill('7777777').join('-')}`
  const wrong = await browser.post('/forgotten', { ...fields, code: guess })
  assert.deepEqual([wrong.status, /recovery code is not right/.test(wrong.text)], [403, true])
  assert.deepEqual(await directory.listCredentials(account.id), before)
})
