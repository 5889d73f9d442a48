/**
 * What the page refuses: strangers, other sites, old forms, codes in the place of passwords.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { changePassword } from '../../../src/accounts/change-password.js'
import { ERROR_TABLE, MailError } from '../../../src/errors.js'
import { FormBody } from '../../../src/user-page/form-body.js'
import { problemOf } from '../../../src/user-page/problem.js'
import { withPassword } from '../../../src/user-page/with-password.js'
import { PASSWORD } from '../../helpers/server.js'
import { startUserPage } from '../../helpers/user-page.js'

/**
 * @typedef {import('../../../src/accounts/directory-port.js').Account} Account
 * @typedef {import('../../../src/accounts/directory-port.js').Credential} Credential
 * @typedef {import('../../../src/user-page/guard.js').PageLogin} PageLogin
 */

const ALICE = 'alice@example.org'

const PAGES = ['/', '/password', '/recovery-code', '/app-passwords', '/sessions', '/download']
const FORMS = [
  '/logout',
  '/password',
  '/recovery-code',
  '/app-passwords',
  '/app-passwords/revoke',
  '/sessions/end',
  '/sessions/end-others',
  '/download'
]

test('nothing is seen or done without a session, from another site, or without the session’s token', async (t) => {
  const server = await startUserPage(t)
  const { services } = server
  const id = await server.accountId('alice')
  const credentials = async () =>
    (await services.directory.listCredentials(id)).map(({ lastUsedAtMs: _, ...row }) => row)
  const before = await credentials()
  const fields = { password: PASSWORD, new: 'another secret', again: 'another secret' }
  const more = { label: 'x', scope: 'read-write', id: before[0]?.id ?? '' }

  const stranger = server.browser()
  for (const path of PAGES) {
    const { status, headers } = await stranger.get(path)
    assert.deepEqual([path, status, headers.location], [path, 303, '/login'])
    const head = await stranger.ask('HEAD', path)
    assert.deepEqual([path, head.status, head.headers.location], [path, 303, '/login'])
  }
  const member = server.browser()
  await member.logIn(ALICE, PASSWORD)
  for (const path of PAGES) {
    const { status, headers } = await member.get(path)
    const head = await member.ask('HEAD', path)
    assert.deepEqual([path, head.status, head.text], [path, status, ''])
    assert.equal(head.headers['content-length'], headers['content-length'])
  }
  for (const path of FORMS) {
    const all = { ...fields, ...more }
    if (path !== '/logout') {
      assert.equal((await stranger.post(path, all)).status, 403, `${path} without a session`)
      assert.equal(
        (await member.post(path, { ...all, token: 'A'.repeat(43) })).status,
        403,
        `${path} with another token`
      )
      assert.equal(
        (await member.post(path, { ...all, token: '' })).status,
        403,
        `${path}, no token`
      )
    }
    for (const headers of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://127.0.0.1:${member.port}` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' }
    ]) {
      const told = `${path} ${JSON.stringify(headers)}`
      assert.equal((await member.post(path, all, headers)).status, 403, told)
    }
    for (const site of [{}, { 'sec-fetch-site': 'none' }, { 'sec-fetch-site': 'same-site' }]) {
      const bare = await member.ask('POST', path, {
        body: new URLSearchParams({ token: member.token, ...all }).toString(),
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...site }
      })
      assert.equal(bare.status, 403, `${path} without an origin ${JSON.stringify(site)}`)
    }
  }
  for (const path of ['/login', '/forgotten']) {
    const answer = await stranger.post(
      path,
      { address: ALICE, ...fields },
      { origin: 'https://evil.example' }
    )
    assert.equal(answer.status, 403, path)
    assert.equal(answer.headers['set-cookie'], undefined)
  }
  assert.deepEqual(await credentials(), before)
  assert.equal((await member.get('/')).status, 200, 'the session goes on')
})

test('a browser that tells the site and no origin is let in, and a host is written in any case', async (t) => {
  const server = await startUserPage(t)
  const post = (/** @type {Record<string, string>} */ headers) =>
    server.browser().ask('POST', '/login', {
      body: new URLSearchParams({ address: ALICE, password: PASSWORD }).toString(),
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers }
    })
  assert.equal((await post({ 'sec-fetch-site': 'same-origin' })).status, 303)
  const named = { host: 'Mail.Example.org', origin: 'https://mail.example.ORG' }
  assert.equal((await post(named)).status, 303)
  assert.equal((await post({ ...named, 'sec-fetch-site': 'same-origin' })).status, 303)
  assert.equal((await post({ ...named, 'sec-fetch-site': 'same-site' })).status, 403)
})

test('every answer tells the browser to run and load nothing from elsewhere, and to keep nothing', async (t) => {
  const server = await startUserPage(t)
  const browser = server.browser()
  const answers = [
    await browser.get('/login'),
    await browser.get('/'),
    await browser.get('/missing'),
    await browser.post('/login', { address: ALICE, password: 'wrong' }),
    await browser.post('/login', { address: ALICE, password: PASSWORD }),
    await browser.get('/'),
    await browser.get('/style.css')
  ]
  assert.deepEqual(
    answers.map(({ status }) => status),
    [200, 303, 404, 403, 303, 200, 200]
  )
  for (const { headers } of answers) {
    assert.equal(
      headers['content-security-policy'],
      "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
    assert.equal(headers['x-content-type-options'], 'nosniff')
    assert.equal(headers['x-frame-options'], 'DENY')
    assert.equal(headers['referrer-policy'], 'same-origin')
    assert.equal(headers['cross-origin-opener-policy'], 'same-origin')
    assert.equal(headers['cross-origin-resource-policy'], 'same-origin')
  }
  for (const { headers } of answers.slice(0, 6)) assert.equal(headers['cache-control'], 'no-store')
  assert.equal(answers[6]?.headers['cache-control'], 'no-cache')
  const page = (await browser.get('/')).text
  assert.doesNotMatch(page, /<script|<style|style=|onclick|https?:\/\/(?!127)/)
})

test('the cookie is for this host over TLS alone, out of every script’s and other site’s reach', async (t) => {
  const server = await startUserPage(t)
  const browser = server.browser()
  const { headers } = await browser.post('/login', { address: ALICE, password: PASSWORD })
  assert.match(
    headers['set-cookie']?.[0] ?? '',
    /^__Host-letterlock=[\w-]{43}; Path=\/; Secure; HttpOnly; SameSite=Strict$/
  )
})

test('another kind of body, one that is too large and unknown methods are refused politely', async (t) => {
  const server = await startUserPage(t)
  const browser = server.browser()
  const { origin } = browser
  const json = { origin, 'content-type': 'application/json' }
  const form = { origin, 'content-type': 'application/x-www-form-urlencoded' }
  const asked = [
    await browser.ask('POST', '/login', { body: '{}', headers: json }),
    await browser.ask('POST', '/login', { body: 'a'.repeat(70_000), headers: form }),
    await browser.ask('DELETE', '/', { headers: { origin } }),
    await browser.ask('GET', '/%E0%A4%A')
  ]
  assert.deepEqual(
    asked.map(({ status }) => status),
    [415, 413, 404, 400]
  )
  for (const { text } of asked) assert.match(text, /<h1>/)
})

test('of a name no more is read than a mail address may have, of passwords all that a form takes', async (t) => {
  const server = await startUserPage(t)
  const browser = server.browser()
  const address = 'a'.repeat(9000)
  for (const [path, status] of /** @type {const} */ ([
    ['/login', 403],
    ['/forgotten', 422]
  ])) {
    const { text, ...refused } = await browser.post(path, { address, password: 'x' })
    assert.deepEqual([path, refused.status], [path, status])
    assert.equal(/value="(a+)"/.exec(text)?.[1]?.length, 320)
  }
  await browser.logIn(ALICE, PASSWORD)
  // Each of its signs has four bytes, and each byte is three in a form.
  const [first, second] = ['\u{1f511}', '\u{1f512}'].map((sign) => sign.repeat(1000))
  for (const [password = '', next = ''] of [
    [PASSWORD, first],
    [first, second]
  ]) {
    const { status } = await browser.post('/password', { password, new: next, again: next })
    assert.equal(status, 303)
    // The token of the session that has begun anew.
    await browser.get('/')
  }
})

test('app passwords and recovery codes open nothing here, and the person is told why', async (t) => {
  const server = await startUserPage(t)
  const browser = server.browser()
  const appPassword = await server.appPassword('alice', 'read-write')
  const refused = await browser.logIn(ALICE, appPassword)
  assert.equal(refused.status, 403)
  assert.match(refused.text, /app password[^<]*for mail programs alone/)
  assert.equal(browser.cookie, null)
  const code = `llrec-${Array(4).fill('0000000').join('-')}`
  assert.match((await browser.logIn(ALICE, code)).text, /recovery code[^<]*logs nobody in/)

  const asked = { address: ALICE, new: 'another secret', again: 'another secret' }
  const forgotten = await browser.post('/forgotten', { ...asked, code: appPassword })
  assert.deepEqual([forgotten.status, /no recovery code/.test(forgotten.text)], [422, true])
  await browser.logIn(ALICE, PASSWORD)
  const fields = { label: 'x', scope: 'read-only', new: 'another secret', again: 'another secret' }
  for (const path of ['/recovery-code', '/app-passwords', '/password', '/download']) {
    for (const password of [appPassword, code]) {
      const { status, text } = await browser.post(path, { ...fields, password })
      assert.deepEqual([path, status, /no code/.test(text)], [path, 422, true])
    }
  }
  assert.equal((await browser.post('/recovery-code', { password: '' })).status, 422)
})

test('a disabled account is told so after the right password alone, and its sessions end', async (t) => {
  const server = await startUserPage(t)
  const { directory } = server.services
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  await directory.updateAccount(await server.accountId('alice'), { isEnabled: false })
  assert.equal((await browser.get('/')).status, 303)
  const right = await browser.logIn(ALICE, PASSWORD)
  const wrong = await browser.logIn(ALICE, 'wrong')
  assert.match(right.text, /account is disabled/)
  assert.match(wrong.text, /address or the password is not right/)
  assert.equal(wrong.text, (await browser.logIn(ALICE, 'other wrong')).text)
  await directory.updateAccount(await server.accountId('alice'), { isEnabled: true })
  assert.equal((await browser.get('/')).status, 303, 'the session was over')
})

test('a fault of the server is told by a reference alone, under which the log has it', async (t) => {
  const server = await startUserPage(t)
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  const fault = async () => {
    throw new Error('for the log alone')
  }
  for (const name of /** @type {const} */ (['listAliases', 'listCredentials', 'insertCredential']))
    t.mock.method(server.services.directory, name, fault, { times: 1 })
  const fields = { label: 'x', scope: 'read-only', password: PASSWORD }
  const answers = [
    await browser.get('/'),
    await browser.get('/app-passwords'),
    await browser.post('/app-passwords', fields)
  ]
  const told = answers.map(({ status, text, headers }) => {
    assert.doesNotMatch(text, /for the log alone|node:|\.js/)
    assert.match(String(headers['content-security-policy']), /default-src 'none'/)
    return [status, /in the log under ([0-9a-f-]{36})\./.exec(text)?.[1]]
  })
  const faults = server.logged.filter((/** @type {any} */ { level }) => level === 'error')
  const references = faults.map((/** @type {any} */ { reference }) => reference)
  assert.deepEqual(
    faults.map((/** @type {any} */ { err }) => err.message),
    Array(3).fill('for the log alone')
  )
  assert.deepEqual(
    told,
    references.map((/** @type {string} */ reference) => [500, reference])
  )
  assert.equal((await browser.get('/download')).status, 200, 'the session goes on')
})

test('what passes by itself, and what people can do something about, is no fault of the server; all else is', () => {
  const told = new Set([
    ...['AUTHENTICATION_FAILED', 'ACCOUNT_DISABLED', 'PEPPER_MISSING', 'PASSWORD_REFUSED'],
    ...['LIMIT', 'LABEL_REFUSED', 'CREDENTIAL_NOT_FOUND', 'DISK_FULL', 'SCRATCH_FULL']
  ])
  for (const [code, { temporary }] of Object.entries(ERROR_TABLE)) {
    const known = /** @type {keyof typeof ERROR_TABLE} */ (code)
    const problem = problemOf(new MailError(known, { detail: 'for the log alone' }))
    if (temporary) assert.match(String(problem?.status), /^(429|503)$/, code)
    assert.equal(problem !== null, temporary || told.has(code), code)
    assert.doesNotMatch(problem?.text ?? '', /for the log alone/)
  }
})

test('a path that cannot be read is refused with a page, and with the headers of every page', async (t) => {
  const server = await startUserPage(t)
  const browser = server.browser()
  const known = await browser.get('/nothing-here')
  const bad = await browser.get('/%zz')
  assert.deepEqual([known.status, bad.status], [404, 400])
  const { 'content-length': _, date: __, ...headers } = known.headers
  for (const [name, value] of Object.entries(headers)) assert.equal(bad.headers[name], value, name)
  assert.match(String(bad.headers['content-security-policy']), /default-src 'none'/)
  assert.match(bad.text, /<html/)
})

test('a form with a new password that is sent twice at once does not say that the password was wrong', async (t) => {
  const { services } = await startUserPage(t)
  const account = /** @type {Account} */ (await services.directory.findByAddress(ALICE))
  const credentials = await services.directory.listCredentials(account.id)
  const { id: credentialId, version: credentialVersion } = /** @type {Credential} */ (
    credentials.find(({ kind }) => kind === 'password')
  )
  const session = { username: ALICE, credentialId, credentialVersion }
  const login = /** @type {PageLogin} */ ({ account, session })
  const remoteAddress = '127.0.0.1'
  const send = () => {
    const form = new FormBody(Buffer.from(new URLSearchParams({ password: PASSWORD }).toString()))
    return withPassword(services, { form, login, remoteAddress }, (oldSecret, turn) =>
      changePassword({
        services,
        account,
        oldSecret,
        newPassword: Buffer.from('something else entirely'),
        remoteAddress,
        ...turn
      })
    )
  }
  const sent = await Promise.allSettled([send(), send()])
  const [refused, ...others] = sent.flatMap((each) =>
    each.status === 'rejected' ? [each.reason] : []
  )
  assert.deepEqual([refused.status, others.length], [409, 0])
  assert.match(refused.message, /The password was changed meanwhile: log in with the new one\./)
})
