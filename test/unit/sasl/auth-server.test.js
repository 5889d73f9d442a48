import assert from 'node:assert/strict'
import { statSync } from 'node:fs'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { createAppPassword } from '../../../src/accounts/app-passwords.js'
import { createAuthServer } from '../../../src/sasl/auth-server.js'
import { makeAccount } from '../../helpers/accounts.js'
import { base64, plain, startSasl } from '../../helpers/sasl.js'

/** What Postfix sends with each request whose client speaks TLS. */
const FROM = 'service=smtp\tnologin\tlip=203.0.113.1\trip=192.0.2.1\tsecured'
const PASSWORD = 'old secret'

/**
 * @param {import('node:test').TestContext} t
 * @param {Record<string, unknown>} [settings]
 */
async function startWithAnna(t, settings) {
  const sasl = await startSasl(t, settings)
  const { account } = await makeAccount(sasl.services)
  const client = await sasl.connect()
  await client.greet()
  const ask = async (/** @type {string} */ line) => {
    client.send(line)
    return await client.line()
  }
  return { ...sasl, account, client, ask }
}

test('the handshake offers PLAIN and LOGIN, and a cookie of each connection’s own', async (t) => {
  const { connect } = await startSasl(t)
  const [first, second] = [await connect(), await connect()]
  const lines = await first.greet()
  assert.match(
    lines.join('\n'),
    /^VERSION\t1\t2\nMECH\tPLAIN\tplaintext\nMECH\tLOGIN\tplaintext\nSPID\t\d+\nCUID\t\d+\nCOOKIE\t[0-9a-f]{32}\nDONE$/
  )
  const others = await second.greet()
  for (const at of [4, 5]) assert.notEqual(lines[at], others[at])
})

test('PLAIN with its response, and after a challenge', async (t) => {
  const { ask } = await startWithAnna(t)
  const good = plain('anna@example.org', PASSWORD)
  assert.equal(await ask(`AUTH\t1\tPLAIN\t${FROM}\tresp=${good}`), 'OK\t1\tuser=anna@example.org')
  assert.equal(await ask(`AUTH\t2\tPLAIN\t${FROM}`), 'CONT\t2\t')
  assert.equal(await ask(`CONT\t2\t${good}`), 'OK\t2\tuser=anna@example.org')
  assert.equal(
    await ask(`AUTH\t3\tplain\t${FROM}\tresp=${good}`),
    'OK\t3\tuser=anna@example.org',
    'mechanisms are known in any case'
  )
})

test('LOGIN asks for the name and the password', async (t) => {
  const { ask } = await startWithAnna(t)
  assert.equal(await ask(`AUTH\t1\tLOGIN\t${FROM}`), `CONT\t1\t${base64('Username:')}`)
  assert.equal(await ask(`CONT\t1\t${base64('Anna')}`), `CONT\t1\t${base64('Password:')}`)
  assert.equal(await ask(`CONT\t1\t${base64(PASSWORD)}`), 'OK\t1\tuser=anna@example.org')
  assert.equal(
    await ask(`AUTH\t2\tLOGIN\t${FROM}\tresp=${base64('anna')}`),
    `CONT\t2\t${base64('Password:')}`
  )
  assert.equal(await ask(`CONT\t2\t${base64('wrong')}`), 'FAIL\t2')
})

test('dialogues go on side by side, and an id comes again once it was answered', async (t) => {
  const { ask } = await startWithAnna(t)
  for (const id of [1, 2])
    assert.equal(await ask(`AUTH\t${id}\tLOGIN\t${FROM}`), `CONT\t${id}\t${base64('Username:')}`)
  for (const id of [1, 2])
    assert.equal(await ask(`CONT\t${id}\t${base64('anna')}`), `CONT\t${id}\t${base64('Password:')}`)
  for (const id of [1, 2])
    assert.equal(await ask(`CONT\t${id}\t${base64(PASSWORD)}`), `OK\t${id}\tuser=anna@example.org`)
  assert.equal(await ask(`CONT\t2\t${base64(PASSWORD)}`), 'FAIL\t2')
  assert.equal(await ask(`AUTH\t1\tLOGIN\t${FROM}`), `CONT\t1\t${base64('Username:')}`)
})

test('who logs in by an alias sends as the account', async (t) => {
  const { ask, services, account } = await startWithAnna(t)
  await services.directory.addAlias(account.id, 'ann@example.org')
  assert.equal(
    await ask(`AUTH\t1\tPLAIN\t${FROM}\tresp=${plain('ann@example.org', PASSWORD)}`),
    'OK\t1\tuser=anna@example.org'
  )
})

test('a wrong password, a stranger and what is no message get the same answer', async (t) => {
  const { ask } = await startWithAnna(t)
  for (const [id, response] of [
    plain('anna', 'wrong'),
    plain('nobody', 'wrong'),
    base64(`nobody\0anna\0${PASSWORD}`),
    base64('anna'),
    base64('a\0b\0c\0d'),
    '====',
    'no base64'
  ].entries()) {
    assert.equal(await ask(`AUTH\t${id}\tPLAIN\t${FROM}\tresp=${response}`), `FAIL\t${id}`)
  }
  assert.equal(await ask(`CONT\t99\t${plain('anna', PASSWORD)}`), 'FAIL\t99')
  assert.match((await ask(`AUTH\t9\tCRAM-MD5\t${FROM}`)) ?? '', /^FAIL\t9\treason=The auth/)
})

test('an app password sends mail unless it may only read', async (t) => {
  const { ask, services, account } = await startWithAnna(t)
  const secret = Buffer.from(PASSWORD)
  const make = async (/** @type {'read-write' | 'read-only'} */ scope) =>
    (await createAppPassword({ services, account, secret, label: 'phone', scope })).text
  const full = await make('read-write')
  const readOnly = await make('read-only')
  assert.equal(
    await ask(`AUTH\t1\tPLAIN\t${FROM}\tresp=${plain('anna', full)}`),
    'OK\t1\tuser=anna@example.org'
  )
  assert.equal(
    await ask(`AUTH\t2\tPLAIN\t${FROM}\tresp=${plain('anna', readOnly)}`),
    'FAIL\t2\treason=This credential may only read'
  )
})

test('a disabled account is refused with a reason, after the right password alone', async (t) => {
  const { ask, services, account } = await startWithAnna(t)
  await services.directory.updateAccount(account.id, { isEnabled: false })
  assert.equal(
    await ask(`AUTH\t1\tPLAIN\t${FROM}\tresp=${plain('anna', PASSWORD)}`),
    'FAIL\t1\tuser_disabled\treason=The account is disabled'
  )
  assert.equal(await ask(`AUTH\t2\tPLAIN\t${FROM}\tresp=${plain('anna', 'wrong')}`), 'FAIL\t2')
})

test('without TLS a password is taken from this machine alone', async (t) => {
  const { ask } = await startWithAnna(t)
  const good = plain('anna', PASSWORD)
  const refusal = /^FAIL\t\d\treason=Log in after STARTTLS/
  for (const [id, from] of ['rip=192.0.2.1', 'rip=unknown', 'nologin'].entries()) {
    assert.match((await ask(`AUTH\t${id}\tPLAIN\t${from}\tresp=${good}`)) ?? '', refusal)
  }
  for (const from of ['rip=127.0.0.1', 'rip=::1']) {
    assert.match((await ask(`AUTH\t5\tPLAIN\t${from}\tresp=${good}`)) ?? '', /^OK\t/)
  }
})

test('requests are answered as they finish, each under its id', async (t) => {
  const { client } = await startWithAnna(t)
  client.send(
    `AUTH\t1\tPLAIN\t${FROM}\tresp=${plain('anna', PASSWORD)}`,
    `AUTH\t2\tLOGIN\t${FROM}`,
    `AUTH\t3\tPLAIN\t${FROM}\tresp=${plain('anna', 'wrong')}`,
    'CONT\t2\t===='
  )
  const answers = [await client.line(), await client.line(), await client.line()]
  // The second costs no derivation, so nothing holds it up.
  assert.deepEqual(answers, [`CONT\t2\t${base64('Username:')}`, 'FAIL\t2', answers[2]])
  assert.deepEqual([answers[2], await client.line()].sort(), [
    'FAIL\t3',
    'OK\t1\tuser=anna@example.org'
  ])
})

test('a cancelled request is not answered, costs no derivation, and its id may come again', async (t) => {
  const { client, ask, services } = await startWithAnna(t)
  const { derivations } = services.argon2.figures
  client.send(`AUTH\t1\tPLAIN\t${FROM}\tresp=${plain('anna', 'wrong')}`, 'CANCEL\t1')
  assert.equal(
    await ask(`AUTH\t1\tPLAIN\t${FROM}\tresp=${plain('anna', PASSWORD)}`),
    'OK\t1\tuser=anna@example.org'
  )
  assert.equal(services.argon2.figures.derivations, derivations + 1)
  client.send(`AUTH\t2\tLOGIN\t${FROM}`)
  await client.line()
  client.send('CANCEL\t2')
  assert.equal(await ask(`CONT\t2\t${base64('anna')}`), 'FAIL\t2')
})

test('lines may come in any pieces', async (t) => {
  const { client } = await startWithAnna(t)
  for (const byte of Buffer.from(`AUTH\t1\tPLAIN\t${FROM}\tresp=${plain('anna', PASSWORD)}\n`)) {
    client.socket.write(Buffer.of(byte))
    await new Promise((resolve) => setImmediate(resolve))
  }
  assert.equal(await client.line(), 'OK\t1\tuser=anna@example.org')
})

for (const [name, lines] of /** @type {[string, string[]][]} */ ([
  ['requests before VERSION', ['AUTH\t1\tPLAIN']],
  ['another major version', ['VERSION\t2\t0']],
  ['what is no line of the protocol', ['VERSION\t1\t1', 'CPID\t1', 'QUIT']],
  ['binary noise', ['\0\x01\x02\xff']],
  ['an id that is taken', ['VERSION\t1\t1', `AUTH\t1\tLOGIN\t${FROM}`, 'AUTH\t1\tLOGIN']],
  ['a line without an end', ['VERSION\t1\t1', 'A'.repeat(17 * 1024)]]
])) {
  test(`${name} end the connection, and no other`, async (t) => {
    const { connect, ask } = await startWithAnna(t)
    const client = await connect()
    while ((await client.line()) !== 'DONE');
    client.socket.write(lines.join('\n') + (name.includes('without an end') ? '' : '\n'))
    for (let line = await client.line(); line !== null; line = await client.line()) {
      assert.match(line, /^CONT\t/)
    }
    assert.match(
      (await ask(`AUTH\t1\tPLAIN\t${FROM}\tresp=${plain('anna', PASSWORD)}`)) ?? '',
      /^OK/
    )
  })
}

test('a client that dies in the middle of its requests harms nobody', async (t) => {
  const { connect, ask, lines } = await startWithAnna(t)
  const client = await connect()
  await client.greet()
  client.send(`AUTH\t1\tPLAIN\t${FROM}\tresp=${plain('anna', PASSWORD)}`, 'AUTH\t2\tPL')
  client.close()
  assert.match((await ask(`AUTH\t1\tPLAIN\t${FROM}\tresp=${plain('anna', PASSWORD)}`)) ?? '', /^OK/)
  assert.doesNotMatch(JSON.stringify(lines), /"level":(50|60)/)
})

test('guessing is counted by the client’s address and slowed down as over IMAP', async (t) => {
  const { ask, services } = await startWithAnna(t)
  const guess = (/** @type {number} */ id, /** @type {string} */ from) =>
    ask(`AUTH\t${id}\tPLAIN\t${from}\tresp=${plain(`user${id}`, `guess${id}`)}`)
  for (let id = 0; id < 10; id++) assert.equal(await guess(id, FROM), `FAIL\t${id}`)
  const held = await ask(`AUTH\t10\tPLAIN\t${FROM}\tresp=${plain('anna', PASSWORD)}`)
  assert.equal(held, 'FAIL\t10\treason=Too many attempts, try again later\ttemp\tcode=temp_fail')
  const elsewhere = FROM.replace('192.0.2.1', '198.51.100.7')
  assert.match(
    (await ask(`AUTH\t11\tPLAIN\t${elsewhere}\tresp=${plain('anna', PASSWORD)}`)) ?? '',
    /^OK\t11\t/
  )
  await services.directory.flush()
  const audit = await services.directory.pageAudit({ limit: 100 })
  const told = audit.map(({ action, remoteAddress, detail }) => ({
    action,
    row: [action, remoteAddress, detail?.['service']]
  }))
  assert.deepEqual(
    // On a slow machine the refused ones are of more than one write.
    told.filter(({ action }, nth) => action !== told[nth + 1]?.action).map(({ row }) => row),
    [
      ['login', '198.51.100.7', 'smtp'],
      ['login-throttled', '192.0.2.1', undefined],
      ['login-failed', '192.0.2.1', undefined],
      ['account-create', null, undefined]
    ]
  )
})

test('a full queue of derivations is a temporary failure', async (t) => {
  const { client } = await startWithAnna(t, { 'auth.concurrency': 1, 'auth.queueLength': 1 })
  const ids = [...Array(8).keys()]
  client.send(
    ...ids.map((id) => `AUTH\t${id}\tPLAIN\t${FROM}\tresp=${plain(`user${id}`, `wrong${id}`)}`)
  )
  const answers = []
  while (answers.length < ids.length) answers.push(await client.line())
  assert.ok(answers.some((line) => line?.endsWith('\ttemp\tcode=temp_fail')))
  assert.ok(answers.some((line) => /^FAIL\t\d$/.test(line ?? '')))
})

test('more requests than are checked at once wait in the socket, and all are answered', async (t) => {
  const { client, services, account } = await startWithAnna(t)
  const secret = Buffer.from(PASSWORD)
  const { text } = await createAppPassword({
    services,
    account,
    secret,
    label: 'phone',
    scope: 'read-write'
  })
  const count = 300
  for (let id = 0; id < count; id++) {
    client.send(`AUTH\t${id}\tPLAIN\t${FROM}\tresp=${plain('anna', text)}`)
  }
  const answered = new Set()
  for (let at = 0; at < count; at++) answered.add(await client.line())
  assert.equal(answered.size, count)
})

test('a client that does not read its answers is turned away, and the others are served', async (t) => {
  const { client, connect, lines } = await startWithAnna(t)
  client.socket.pause()
  const requests = Array.from({ length: 1000 }, (_, id) => `AUTH\t${id}\tCRAM-MD5\t${FROM}\n`)
  const isTurnedAway = () => lines.some(({ why }) => why === 'it does not read its answers')
  while (!isTurnedAway() && !client.socket.destroyed) {
    client.socket.write(requests.join(''))
    await turn()
  }
  assert.ok(isTurnedAway())
  const other = await connect()
  await other.greet()
  other.send(`AUTH\t1\tPLAIN\t${FROM}\tresp=${plain('anna', PASSWORD)}`)
  assert.equal(await other.line(), 'OK\t1\tuser=anna@example.org')
})

test('a login to send mail keeps no key: the same again costs a derivation again', async (t) => {
  const { ask, services } = await startWithAnna(t)
  const before = services.argon2.figures.derivations
  for (const id of [1, 2]) {
    assert.match(
      (await ask(`AUTH\t${id}\tPLAIN\t${FROM}\tresp=${plain('anna', PASSWORD)}`)) ?? '',
      /^OK/
    )
  }
  assert.equal(services.argon2.figures.derivations - before, 2)
})

test('the socket is for its group, and a bound one is taken over when nobody answers', async (t) => {
  const { path, services, server } = await startSasl(t)
  assert.equal(statSync(path).mode & 0o777, 0o660)
  await server.close()
  const config = {
    ...services.config,
    sasl: { ...services.config.sasl, socket: `${path}.missing/socket` }
  }
  const other = createAuthServer({ config, unlocker: services.unlocker, logger: services.logger })
  await assert.rejects(other.listen(), {
    code: 'CONFIG_INVALID',
    detail: `sasl.socket: there is no folder ${path}.missing`
  })
})

test('more connections than configured are turned away', async (t) => {
  const { connect } = await startSasl(t, { 'sasl.maxConnections': 2 })
  const clients = [await connect(), await connect()]
  for (const client of clients) assert.match((await client.line()) ?? '', /^VERSION/)
  assert.equal(await (await connect()).line(), null)
})

test('at the end running requests are answered and idle connections closed', async (t) => {
  const { client, connect, server } = await startWithAnna(t)
  const idle = await connect()
  await idle.greet()
  client.send(`AUTH\t1\tPLAIN\t${FROM}\tresp=${plain('anna', PASSWORD)}`)
  await new Promise((resolve) => setImmediate(resolve))
  const answer = client.line()
  // Its line has been read when another's handshake is through.
  await (await connect()).greet()
  await server.close()
  assert.equal(await answer, 'OK\t1\tuser=anna@example.org')
  assert.equal(await client.line(), null)
  assert.equal(await idle.line(), null)
})

test('nothing that is logged holds a name or a password', async (t) => {
  const { ask, connect, lines } = await startWithAnna(t)
  await ask(`AUTH\t1\tPLAIN\t${FROM}\tresp=${plain('anna', PASSWORD)}`)
  await ask(`AUTH\t2\tPLAIN\t${FROM}\tresp=${plain('anna', 'typed wrong')}`)
  const rude = await connect()
  rude.send(`AUTH\t1\tPLAIN\tresp=${plain('anna', PASSWORD)}`)
  while ((await rude.line()) !== null);
  const text = JSON.stringify(lines)
  for (const secret of [
    'anna',
    PASSWORD,
    'typed wrong',
    plain('anna', PASSWORD),
    base64(PASSWORD)
  ]) {
    assert.ok(!text.includes(secret), secret)
  }
})
