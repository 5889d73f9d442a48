/**
 * Guessing here counts as guessing at IMAP, and the other way round.
 */
import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { once } from 'node:events'
import { connect as connectTls } from 'node:tls'
import { test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { ProxyTrust } from '../../../src/support/proxy-header.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { PASSWORD } from '../../helpers/server.js'
import { startUserPage } from '../../helpers/user-page.js'

/** One more than costs nothing, each on a name of its own, so that no name makes anybody wait. */
const GUESSES = 11
const settings = { 'limits.exemptAddresses': [] }
/** Stands still, so that an address stays held for as long as the test takes. */
const clock = new ManualClock()
const AUDITED = new Set(['login-failed', 'login-throttled'])
const ALICE = 'alice@example.org'

test('wrong passwords here keep the address out of IMAP for a while', async (t) => {
  const server = await startUserPage(t, { clock, settings })
  const browser = server.browser()
  for (let nth = 0; nth < GUESSES; nth++) await browser.logIn(`guess${nth}@example.org`, 'wrong')
  assert.equal((await browser.logIn(ALICE, PASSWORD)).status, 429)
  assert.match(await server.logIntoImap('alice', PASSWORD), /^NO .*Too many attempts/)
  await server.services.directory.flush()
  const rows = await server.services.directory.pageAudit({ limit: 100 })
  const counted = rows.filter(({ action }) => action.startsWith('login-'))
  assert.deepEqual(new Set(counted.map(({ action }) => action)), AUDITED)
  assert.ok(counted.every(({ remoteAddress }) => remoteAddress?.endsWith('127.0.0.1')))
})

test('wrong passwords at IMAP keep the address out of here', async (t) => {
  const server = await startUserPage(t, { clock, settings })
  for (let nth = 0; nth < GUESSES; nth++) await server.logIntoImap(`guess${nth}`, 'wrong')
  const { status, text } = await server.browser().logIn(ALICE, PASSWORD)
  assert.deepEqual([status, /Too many attempts/.test(text)], [429, true])
})

test('guessing at the recovery code, and at the password inside of a session, counts as well', async (t) => {
  const server = await startUserPage(t, { clock, settings })
  const { throttle } = server.services
  const failures = () => throttle.state.addresses[0]?.[1].failures ?? 0
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  let expected = 0
  const forms = /** @type {const} */ ([
    ['/recovery-code', {}],
    ['/password', { new: 'another secret', again: 'another secret' }],
    ['/app-passwords', { label: 'x', scope: 'read-only' }],
    ['/download', {}]
  ])
  for (const [path, fields] of forms) {
    const { status, text } = await browser.post(path, { ...fields, password: `wrong ${path}` })
    assert.deepEqual([path, status], [path, 403])
    assert.match(text, /The password is not right/)
    assert.equal(failures(), ++expected, path)
  }
  const code = (/** @type {string} */ digit) => `llrec-${Array(4).fill(digit.repeat(7)).join('-')}`
  for (const [address, digit] of /** @type {const} */ ([
    [ALICE, '7'],
    // Another code is another guess, though the rest of the form is the same.
    [ALICE, '8'],
    ['nobody@example.org', '7']
  ])) {
    const fields = { address, new: 'another secret', again: 'another secret' }
    const stranger = server.browser()
    const { status, text } = await stranger.post('/forgotten', { ...fields, code: code(digit) })
    assert.deepEqual([address, status], [address, 403])
    assert.match(text, /address or the recovery code is not right/)
    assert.equal(failures(), ++expected, address)
  }
})

test('who breaks the connection behind a guess is counted as well, and stands in the audit log with the address', async (t) => {
  const server = await startUserPage(t, { settings })
  const { directory, throttle } = server.services
  const socket = connect({ host: '127.0.0.1', port: server.pagePort })
  const secured = connectTls({ socket, rejectUnauthorized: false })
  await once(secured, 'secureConnect')
  // So the server has seen more of this client than a handshake.
  secured.write('GET /style.css HTTP/1.1\r\nHost: x\r\n\r\n')
  await once(secured, 'data')
  const body = `address=${ALICE}&password=wrong`
  secured.write(
    `POST /login HTTP/1.1\r\nHost: x\r\nOrigin: https://x\r\nContent-Length: ${body.length}\r\n` +
      `Content-Type: application/x-www-form-urlencoded\r\n\r\n${body}`
  )
  // Before anything of it has been read.
  socket.resetAndDestroy()
  while (throttle.state.addresses.length === 0) await setImmediate()
  assert.deepEqual(
    throttle.state.addresses.map(([place, { failures }]) => [place, failures]),
    [['127.0.0.1', 1]]
  )
  await directory.flush()
  const [row] = await directory.pageAudit({ limit: 1 })
  assert.deepEqual([row?.action, row?.remoteAddress], ['login-failed', '127.0.0.1'])
})

test('who knows a password and asks for it without a pause keeps others waiting for one derivation, not for all', async (t) => {
  const server = await startUserPage(t)
  const { argon2 } = server.services
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  const asked = /** @type {const} */ ([
    ['/recovery-code', () => browser.post('/recovery-code', { password: PASSWORD }), 200],
    ['/login', () => server.browser().logIn(ALICE, PASSWORD), 303]
  ])
  for (const [path, ask, expected] of asked) {
    const state = { isOver: false }
    const flood = Promise.all(Array.from({ length: 6 }, ask)).finally(() => {
      state.isOver = true
    })
    let most = 0
    for (; !state.isOver; await setImmediate()) {
      const { running, waiting } = argon2.figures
      most = Math.max(most, running + waiting)
    }
    for (const { status } of await flood) assert.equal(status, expected)
    assert.equal(most, 1, path)
  }
})

test('while strangers keep all derivations busy, who is known here can still change what opens the mailbox', async (t) => {
  const queueLength = 3
  const server = await startUserPage(t, {
    settings: { ...settings, 'auth.concurrency': 1, 'auth.queueLength': queueLength }
  })
  const { argon2 } = server.services
  const browser = server.browser()
  await browser.logIn(ALICE, PASSWORD)
  const guess = { password: Buffer.from('guess'), salt: Buffer.alloc(16) }
  const state = { isOver: false }
  t.after(() => {
    state.isOver = true
  })
  const flooding = (async () => {
    const guesses = []
    for (; !state.isOver; await setImmediate()) {
      while (argon2.figures.waiting < queueLength) guesses.push(argon2.stretch(guess))
    }
    await Promise.all(guesses)
  })()
  const forms = /** @type {const} */ ([
    ['/recovery-code', {}, 200],
    ['/app-passwords', { label: 'phone', scope: 'read-only' }, 200],
    ['/password', { new: 'another secret', again: 'another secret' }, 303]
  ])
  for (const [path, fields, expected] of forms) {
    const { status } = await browser.post(path, { ...fields, password: PASSWORD })
    assert.deepEqual([path, status], [path, expected])
  }
  state.isOver = true
  await flooding
})

test('behind a load balancer it is the client’s own address that counts', async (t) => {
  const proxy = new ProxyTrust(['127.0.0.1'])
  const server = await startUserPage(t, { clock, settings, proxy })
  const through = (/** @type {string} */ header) =>
    server.browser({
      createConnection: (/** @type {any} */ options, /** @type {Function} */ done) => {
        const socket = connect({ host: '127.0.0.1', port: server.pagePort })
        socket.on('error', () => {})
        once(socket, 'connect').then(() => {
          socket.write(header)
          const secured = connectTls({ socket, rejectUnauthorized: false })
          secured.on('error', (error) => done(error))
          secured.on('secureConnect', () => done(null, secured))
        })
      }
    })
  const one = through('PROXY TCP4 192.0.2.1 192.0.2.9 1 2\r\n')
  for (let nth = 0; nth < GUESSES; nth++) await one.logIn(`guess${nth}@example.org`, 'wrong')
  assert.equal((await one.logIn(ALICE, PASSWORD)).status, 429)
  const other = through('PROXY TCP4 192.0.2.2 192.0.2.9 1 2\r\n')
  assert.equal((await other.logIn(ALICE, PASSWORD)).status, 303)
  assert.match((await other.get('/sessions')).text, /192\.0\.2\.2, since/)
  await assert.rejects(through('GET / HTTP/1.1\r\n').get('/login'))
})
