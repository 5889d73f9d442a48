/**
 * What the page does, seen from IMAP.
 */
import assert from 'node:assert/strict'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { changePassword } from '../../../src/accounts/change-password.js'
import { exportMailboxes } from '../../../src/export/export-mailbox.js'
import { openPortable } from '../../../src/export/open-portable.js'
import { systemClock } from '../../../src/support/clock.js'
import { tamper } from '../../helpers/accounts.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { PASSWORD } from '../../helpers/server.js'
import { startUserPage } from '../../helpers/user-page.js'

const ALICE = 'alice@example.org'
/** Of as few characters as may be, and more bytes. */
const NEW = 'völlig ä'

// What is shown once, of either kind.
const codeIn = (/** @type {string} */ text) =>
  /<code>(ll[a-z]+-[\w-]+)<\/code>/.exec(text)?.[1] ?? ''

test('the password is changed here: the new one logs in, the old one does not, other browsers are out', async (t) => {
  const server = await startUserPage(t)
  const [browser, other] = [server.browser(), server.browser()]
  await browser.logIn(ALICE, PASSWORD)
  await other.logIn(ALICE, PASSWORD)
  const cookie = browser.cookie
  const fields = { password: PASSWORD, new: NEW, again: NEW }
  const unlike = await browser.post('/password', { ...fields, again: 'something else' })
  assert.deepEqual([unlike.status, /not the same/.test(unlike.text)], [422, true])
  const short = await browser.post('/password', { ...fields, new: 'äöüäöüä', again: 'äöüäöüä' })
  assert.deepEqual([short.status, /at least 8/.test(short.text)], [422, true])
  const app = await server.appPassword('alice', 'read-write')
  const code = await browser.post('/password', { ...fields, new: app, again: app })
  assert.equal(code.status, 422)

  const changed = await browser.post('/password', fields)
  assert.deepEqual([changed.status, changed.headers.location], [303, '/password?done=changed'])
  assert.notEqual(browser.cookie, cookie)
  assert.match((await browser.get('/password?done=changed')).text, /The password was changed/)
  const sessions = (await browser.get('/sessions')).text
  assert.match(sessions, /\(this browser\)/)
  assert.doesNotMatch(sessions, /Log the other browsers out/)
  assert.equal((await other.get('/')).status, 303)

  assert.match(await server.logIntoImap('alice', PASSWORD), /^NO /)
  const imap = await server.connectImap()
  const literal = Buffer.from(NEW)
  imap.send(`a LOGIN alice {${literal.length}+}\r\n`)
  imap.send(literal)
  imap.send('\r\n')
  assert.match(await imap.until(/a [^\r]*\r\n/), /a OK/)
  assert.match(await server.logIntoImap('alice', app), /^OK/)
  await server.services.directory.flush()
  const actions = (await server.services.directory.pageAudit({ limit: 100 })).map(
    ({ action }) => action
  )
  for (const action of /** @type {const} */ (['page-login', 'password-change']))
    assert.ok(actions.includes(action), action)
})

test('who changes the password is not logged in by another one that is set right behind it', async (t) => {
  const { services, browser: open } = await startUserPage(t)
  const { directory } = services
  const browser = open()
  await browser.logIn(ALICE, PASSWORD)
  const account = await directory.findByAddress(ALICE)
  assert.ok(account)
  const overtaken = async (
    /** @type {Parameters<typeof directory.replaceCredentials>} */ ...given
  ) => {
    const isReplaced = await directory.replaceCredentials(...given)
    const [oldSecret, newPassword] = [Buffer.from(NEW), Buffer.from('the third one')]
    await changePassword({ services, account, oldSecret, newPassword })
    return isReplaced
  }
  t.mock.method(directory, 'replaceCredentials', overtaken, { times: 1 })
  const changed = await browser.post('/password', { password: PASSWORD, new: NEW, again: NEW })
  assert.equal(changed.status, 303)
  assert.equal((await browser.get('/')).headers.location, '/login')
})

test('an app password is made, logs into IMAP, is listed with its last use, and is revoked', async (t) => {
  const server = await startUserPage(t)
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  const made = await browser.post('/app-passwords', {
    label: '<b>phone</b>',
    scope: 'read-only',
    expires: '',
    password: PASSWORD
  })
  assert.equal(made.status, 200)
  const text = codeIn(made.text)
  assert.match(text, /^llapp-/)
  assert.equal((await browser.get('/app-passwords')).text.includes(text), false, 'shown once')

  const phone = await server.connectImap()
  await phone.login('alice', text)
  assert.match(await phone.command('APPEND INBOX', Buffer.from('Subject: x\r\n\r\n')), / NO /)
  await server.services.directory.flush()
  const { text: list } = await browser.get('/app-passwords')
  assert.match(list, /&lt;b&gt;phone&lt;\/b&gt;/)
  assert.match(list, /only read/)
  assert.doesNotMatch(list, /<td>never<\/td>\s*<td>never<\/td>/)

  const id = /name="id" value="([^"]+)"/.exec(list)?.[1] ?? ''
  const revoked = await browser.post('/app-passwords/revoke', { id })
  assert.equal(revoked.status, 303)
  await phone.until(/\* BYE/)
  assert.match(await server.logIntoImap('alice', text), /^NO /)
  assert.equal((await browser.post('/app-passwords/revoke', { id })).status, 404)
  const nameless = { label: ' ', scope: 'read-only', password: PASSWORD }
  assert.equal((await browser.post('/app-passwords', nameless)).status, 422)
  for (const label of ['a\tb', 'a\nb', 'a\u001b[2Jb', 'a\u009bb']) {
    const controlling = await browser.post('/app-passwords', { ...nameless, label })
    assert.deepEqual([controlling.status, /control characters/.test(controlling.text)], [422, true])
  }
})

test('an app password ends with its last day, and a browser that says nothing is logged out', async (t) => {
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const server = await startUserPage(t, { clock })
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  const fields = { label: 'guest', scope: 'read-write', password: PASSWORD }
  for (const expires of ['2025-12-31', '2026-13-01', '2026-02-29', 'tomorrow']) {
    assert.equal(
      (await browser.post('/app-passwords', { ...fields, expires })).status,
      422,
      expires
    )
  }
  const made = await browser.post('/app-passwords', { ...fields, expires: '2026-01-01' })
  const text = codeIn(made.text)
  assert.match(await server.logIntoImap('alice', text), /^OK/)
  clock.advance(14 * 60_000)
  assert.equal((await browser.get('/')).status, 200)
  clock.advance((23 * 60 + 46) * 60_000 - 1)
  assert.match(await server.logIntoImap('alice', text), /^OK/)
  clock.advance(1)
  assert.match(await server.logIntoImap('alice', text), /^NO /)
  assert.equal((await browser.get('/')).status, 303)
})

test('with a recovery code that was made here a forgotten password is replaced, once', async (t) => {
  const server = await startUserPage(t)
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  const first = codeIn((await browser.post('/recovery-code', { password: PASSWORD })).text)
  const second = codeIn((await browser.post('/recovery-code', { password: PASSWORD })).text)
  assert.match(second, /^llrec-/)
  const stranger = server.browser()
  const fields = { address: 'alice', new: 'another secret', again: 'another secret' }
  assert.equal((await stranger.post('/forgotten', { ...fields, code: first })).status, 403)
  assert.equal((await stranger.post('/forgotten', { ...fields, code: 'llapp-1' })).status, 422)
  // As where the pepper is lost: the server cannot tell whether a password is right.
  tamper(server.data, "UPDATE credentials SET pepper_id = 'lost' WHERE kind = 'password'")
  const untold = await stranger.logIn(ALICE, PASSWORD)
  assert.deepEqual([untold.status, /recovery code/.test(untold.text)], [503, true])
  const done = await stranger.post('/forgotten', { ...fields, code: second })
  assert.equal(done.status, 200)
  assert.match(codeIn(done.text), /^llrec-/)
  assert.notEqual(codeIn(done.text), second)
  // As the browser shows the answer to a form that was sent twice: the password holds.
  const again = await stranger.post('/forgotten', { ...fields, code: second })
  assert.equal(again.status, 403)
  assert.match(again.text, /if you have set a new password with it already, log in with that/)
  assert.equal((await browser.get('/')).status, 303, 'sessions with the old password are over')
  assert.match(await server.logIntoImap('alice', PASSWORD), /^NO /)
  assert.match(await server.logIntoImap('alice', 'another secret'), /^OK/)
})

test('who is connected is listed with program, address and credential, and is disconnected', async (t) => {
  const server = await startUserPage(t, { users: ['alice', 'ben'] })
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  const [mine, others] = [await server.connectImap(), await server.connectImap()]
  await mine.command('ID ("name" "Thunder<bird" "version" "140")')
  await mine.login('alice', `"${PASSWORD}"`)
  await others.login('ben', `"${PASSWORD}"`)
  const { text } = await browser.get('/sessions')
  assert.match(text, /Thunder&lt;bird 140/)
  assert.match(text, /127\.0\.0\.1/)
  assert.match(text, /the password/)
  assert.equal(text.match(/action="\/sessions\/end"/g)?.length, 1)

  const theirs = server.imap.listSessions().find(({ address }) => address.startsWith('ben'))?.id
  assert.equal((await browser.post('/sessions/end', { id: theirs ?? '' })).status, 404)
  const id = /name="id" value="([^"]+)"/.exec(text)?.[1] ?? ''
  assert.equal((await browser.post('/sessions/end', { id })).status, 303)
  await mine.until(/\* BYE [^\r]*owner of the mailbox/)
  assert.match(await others.command('NOOP'), / OK /)

  const second = server.browser()
  await second.logIn(ALICE, PASSWORD)
  assert.match((await browser.get('/sessions')).text, /Log the other browsers out/)
  assert.equal((await browser.post('/sessions/end-others', {})).status, 303)
  assert.equal((await second.get('/')).status, 303)
  assert.equal((await browser.get('/')).status, 200)
  // Nobody is there any more, and nothing happens that would be worth a line in the audit log.
  assert.equal((await browser.post('/sessions/end-others', {})).status, 303)

  const { directory } = server.services
  await directory.flush()
  const ended = (await directory.pageAudit({ limit: 100 })).filter(
    ({ action }) => action === 'session-end'
  )
  assert.deepEqual(
    ended.map(({ remoteAddress, detail }) => [remoteAddress, detail]),
    [
      ['127.0.0.1', { browsers: 'others' }],
      ['127.0.0.1', { session: id }]
    ]
  )
})

test('storage is shown against its quota', async (t) => {
  const settings = { 'accounts.quotaBytes': 5_000_000, 'accounts.quotaMessages': 0 }
  const server = await startUserPage(t, { settings })
  const imap = await server.connectImap()
  await imap.login('alice', `"${PASSWORD}"`)
  await imap.command('APPEND INBOX', Buffer.from(`Subject: x\r\n\r\n${'x'.repeat(99_982)}\r\n`))
  const { directory } = server.services
  // A mailbox says within a second what it holds.
  for (let used = 0; used === 0; await sleep(50)) {
    await directory.flush()
    used = (await directory.findByAddress(ALICE))?.usedBytes ?? 0
  }
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  const { text } = await browser.get('/')
  assert.match(text, /100\.0 kB of 5\.0 MB/)
  assert.match(text, /<strong>1<\/strong>, without a limit/)
})

test('the mailbox is downloaded as a file that opens with the password, and nothing of it is left behind', async (t) => {
  const server = await startUserPage(t)
  const tmp = join(server.data, 'tmp')
  const imap = await server.connectImap()
  await imap.login('alice', `"${PASSWORD}"`)
  const message = Buffer.from('Subject: a secret subject\r\n\r\nbody\r\n')
  await imap.command('APPEND INBOX', message)
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  const { status, headers, bytes } = await browser.post('/download', { password: PASSWORD })
  assert.equal(status, 200)
  assert.match(
    headers['content-disposition'] ?? '',
    /filename="alice@example\.org-[\d-]+\.letterlock"/
  )
  assert.equal(Number(headers['content-length']), bytes.length)
  assert.equal(bytes.includes('secret subject'), false)
  assert.deepEqual(readdirSync(tmp), [])

  const path = join(server.data, 'alice.letterlock')
  writeFileSync(path, bytes)
  const opened = await openPortable({
    path,
    password: Buffer.from(PASSWORD),
    scratchFolder: tmp,
    clock: systemClock
  })
  try {
    const written = { write: async () => {}, close: async () => {} }
    const target = { openMailbox: async () => written }
    const { messages } = await exportMailboxes({ store: opened.store, target })
    assert.equal(messages, 1)
  } finally {
    await opened.close()
  }
  await server.services.directory.flush()
  const rows = await server.services.directory.pageAudit({ limit: 100 })
  assert.ok(rows.some(({ action }) => action === 'mailbox-download'))
})

test('no password, code or address gets into the log, nor does a page show another’s', async (t) => {
  const server = await startUserPage(t)
  const browser = server.browser()
  await browser.logIn(ALICE, 'a wrong secret')
  await browser.logIn(ALICE, PASSWORD)
  const code = codeIn((await browser.post('/recovery-code', { password: PASSWORD })).text)
  const app = codeIn(
    (
      await browser.post('/app-passwords', {
        label: 'x',
        scope: 'read-write',
        password: PASSWORD
      })
    ).text
  )
  await browser.post('/password', { password: PASSWORD, new: NEW, again: NEW })
  await server.services.directory.flush()
  const kept = JSON.stringify([
    server.logged,
    await server.services.directory.pageAudit({ limit: 100 })
  ])
  for (const secret of ['a wrong secret', PASSWORD, NEW, code, app, browser.cookie ?? '']) {
    assert.equal(kept.includes(secret), false)
  }
})
