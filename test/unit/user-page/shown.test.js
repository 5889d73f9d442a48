/**
 * What the pages show of an account, what they leave in the audit log, and how many downloads there are at once.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { createAppPassword } from '../../../src/accounts/app-passwords.js'
import { Downloads } from '../../../src/user-page/downloads.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { PASSWORD } from '../../helpers/server.js'
import { startUserPage } from '../../helpers/user-page.js'

/** @typedef {import('../../../src/accounts/directory-port.js').Account} Account */

const DAY_MS = 24 * 3_600_000
const ALICE = 'alice@example.org'

/** @param {string} page - as HTML */
const wordsOf = (page) => page.replaceAll(/<[^>]*>/g, ' ').replaceAll(/\s+/g, ' ')

test('addresses, app passwords with their ends, and who is connected are shown as they are', async (t) => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const server = await startUserPage(t, { clock })
  const { services } = server
  const account = /** @type {Account} */ (await services.directory.findByAddress(ALICE))
  await services.directory.addAlias(account.id, 'info@example.org')
  const make = async (/** @type {string} */ label, /** @type {number | null} */ expiresAtMs) => {
    const wish = { label, expiresAtMs, scope: /** @type {const} */ ('read-only') }
    return await createAppPassword({
      services,
      account,
      secret: Buffer.from(PASSWORD),
      ...wish
    })
  }
  const phone = await make('phone', null)
  await make('guest', clock.nowMs() + DAY_MS)
  await make('printer', clock.nowMs() + 2.5 * DAY_MS)
  clock.advance(DAY_MS)
  const [imap, other] = [await server.connectImap(), await server.connectImap()]
  await imap.login('alice', phone.text)
  await other.login('alice', `"${PASSWORD}"`)
  const [browser, another] = [server.browser(), server.browser()]
  await another.logIn(ALICE, PASSWORD)
  await browser.logIn(ALICE, PASSWORD)
  const seen = async (/** @type {string} */ path) => wordsOf((await browser.get(path)).text)

  const overview = await seen('/')
  for (const part of [
    'Address alice@example.org, info@example.org ',
    'Password set 2026-01-01 00:00 UTC ,',
    'Recovery code made 2026-01-01 00:00 UTC ,',
    'App passwords 3, ',
    'Mail programs connected 2, '
  ])
    assert.ok(overview.includes(part), `${part} in ${overview}`)

  const appPasswords = await seen('/app-passwords')
  assert.match(appPasswords, / phone only read 2026-01-01 00:00 UTC .*? never Revoke /)
  assert.match(appPasswords, / guest .*? never with 2026-01-01 , over Revoke /)
  assert.match(appPasswords, / printer .*? never 2026-01-03 12:00 UTC Revoke /)

  const sessions = await seen('/sessions')
  assert.match(sessions, / 127\.0\.0\.1 2026-01-02 00:00 UTC phone, only to read /)
  assert.match(sessions, / 127\.0\.0\.1 2026-01-02 00:00 UTC the password Disconnect/)

  assert.match(
    sessions,
    / This page 127\.0\.0\.1, since .*? UTC 127\.0\.0\.1, since .*? UTC \(this browser\) /
  )

  for (const path of ['/password?done=constructor', '/password?done=other', '/password'])
    assert.equal(await seen(path), await seen('/password?done='), path)
})

test('whatever changes what opens the mailbox is in the audit log, with the browser’s address', async (t) => {
  const server = await startUserPage(t)
  const { directory } = server.services
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  const fields = { password: PASSWORD, new: 'another secret', again: 'another secret' }
  for (const scope of ['', 'all']) {
    const { status } = await browser.post('/app-passwords', { ...fields, label: 'x', scope })
    assert.equal(status, 422, scope)
  }
  await browser.post('/app-passwords', { ...fields, label: 'x', scope: 'read-only' })
  const list = (await browser.get('/app-passwords')).text
  const id = /name="id" value="([^"]+)"/.exec(list)?.[1] ?? ''
  await browser.post('/app-passwords/revoke', { id })
  const made = await browser.post('/recovery-code', fields)
  const { bytes } = await browser.post('/download', fields)
  await browser.post('/password', fields)
  const code = /<code>(llrec-[\w-]+)<\/code>/.exec(made.text)?.[1] ?? ''
  await browser.post('/forgotten', { ...fields, address: ALICE, code })
  await directory.flush()
  const rows = await directory.pageAudit({ limit: 100, isOldestFirst: true })
  const logins = rows.filter(({ action }) => action === 'login')
  assert.ok(logins.length > 0)
  for (const { detail } of logins) assert.equal(detail?.['service'], 'page')
  assert.deepEqual(
    rows
      .filter(({ action }) => !['account-create', 'login'].includes(action))
      .map(({ action, remoteAddress, detail }) => [action, remoteAddress, detail]),
    [
      ['page-login', '127.0.0.1', undefined],
      ['app-password-create', '127.0.0.1', { credential: id, scope: 'read-only' }],
      ['app-password-revoke', '127.0.0.1', { credential: id }],
      ['recovery-code-create', '127.0.0.1', undefined],
      ['mailbox-download', '127.0.0.1', { bytes: bytes.length }],
      ['password-change', '127.0.0.1', { by: 'password' }],
      ['password-change', '127.0.0.1', { by: 'recovery' }]
    ]
  )
})

test('one download of an account, and four of all, are made at a time; the next when one has been sent or given up', async (t) => {
  const users = ['alice', 'ben', 'carl', 'dora', 'emil']
  const { services, openAccounts } = await startUserPage(t, { users })
  const argon2 = { memoryKiB: 19 * 1024, passes: 2, parallelism: 1 }
  const downloads = new Downloads({ services, openAccounts, argon2 })
  const make = async (/** @type {string} */ name) => {
    const password = Buffer.from(PASSWORD)
    const attempt = { username: `${name}@example.org`, password, remoteAddress: '127.0.0.1' }
    const unlocked = await services.unlocker.unlock({ ...attempt, service: 'page' })
    return await downloads.make(unlocked, password)
  }
  const first = await make('alice')
  await assert.rejects(make('alice'), { code: 'BUSY' })
  const others = [await make('ben'), await make('carl'), await make('dora')]
  await assert.rejects(make('emil'), { code: 'BUSY' })
  first.stream.destroy()
  await once(first.stream, 'close')
  others.push(await make('emil'))
  for (const { stream } of others) stream.destroy()
  await Promise.all(others.map(({ stream }) => once(stream, 'close')))
  const again = await make('alice')
  again.stream.destroy()
  await once(again.stream, 'close')
})

test('a download is named after the address as far as every system takes that', async (t) => {
  const server = await startUserPage(t, { users: ["o'neil/x"] })
  const browser = server.browser()
  await browser.logIn("o'neil/x@example.org", PASSWORD)
  const { headers } = await browser.post('/download', { password: PASSWORD })
  assert.match(
    String(headers['content-disposition']),
    /^attachment; filename="o_neil_x@example\.org-\d{4}-\d\d-\d\d\.letterlock"$/
  )
})
