import assert from 'node:assert/strict'
import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'

test('three bad commands before login end the connection', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    S: * OK ...
    C: a GET / HTTP/1.1
    S: a BAD ...
    C: Host: example.org
    S: Host: BAD ...
    C: c FOO
    S: c BAD ...
    S: * BYE ...
    S! closed
    `,
    { login: null }
  )
})

test('after login twenty in a row do, and a good command starts the count anew', async (t) => {
  const server = await startImapServer(t)
  const bad = (/** @type {number} */ count) => 'C: a FOO\nS: a BAD ...\n'.repeat(count)
  await transcript(server, `${bad(19)}C: b NOOP\nS: b OK ...\n${bad(20)}S: * BYE ...\nS! closed`)
})

test('arguments that are not there, or too many, are BAD and change nothing', async (t) => {
  const server = await startImapServer(t)
  const commands = [
    'SELECT',
    'SELECT INBOX extra',
    'CREATE',
    'LIST ""',
    'STATUS INBOX',
    'STATUS INBOX (FOO)',
    'APPEND INBOX',
    'NOOP now',
    'ENABLE',
    'UID',
    'UID FOO 1',
    'APPEND INBOX "no literal"'
  ]
  const dialogue = commands.map((command) => `C: a ${command}\nS: a BAD ...\n`).join('')
  await transcript(server, `${dialogue}C: b NOOP\nS: b OK ...`)
})

test('a literal too long for an argument is BAD and changes nothing (RFC 3501 §2.2.1)', async (t) => {
  // NO would leave no mailbox selected (§6.3.1), and nothing in $ (RFC 5182 §2.1).
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${select('INBOX', { exists: 1 })}
    C: a SEARCH RETURN (SAVE) ALL
    S: a OK ...
    C: b SEARCH RETURN (SAVE) TEXT {70000}
    S: b BAD [LIMIT] ...
    C: c SELECT {70000}
    S: c BAD [LIMIT] ...
    C: d FETCH $ UID
    S: * 1 FETCH (UID 1)
    S: d OK ...
    `
  )
})

test('a line without an end, of any length, ends in BYE and costs no memory', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  await client.login()
  client.send('a LIST "" "')
  const chunk = Buffer.alloc(1024 * 1024, 120)
  for (let count = 0; count < 10 && !client.isClosed; count++) {
    client.send(chunk)
    await new Promise((resolve) => setImmediate(resolve))
  }
  const lines = []
  for (let line = await client.line(); line !== null; line = await client.line()) lines.push(line)
  assert.match(lines.at(-1) ?? '', /^\* BYE /)
})

test('NUL, garbage and absurd literals are answered, and other sessions notice nothing', async (t) => {
  const server = await startImapServer(t)
  const other = await LineClient.connect(server)
  await other.login()
  for (const bytes of [
    'a LOGIN \0 x\r\n',
    `a SELECT ${'('.repeat(10_000)}\r\n`,
    'a SELECT {99999999999}\r\n',
    'a SELECT {99999999999+}\r\n',
    'a APPEND INBOX {99999999999+}\r\n',
    '\r\n\r\n\r\n',
    'a\r\n',
    ') BAD (\r\n',
    Buffer.from([255, 254, 0, 13, 10])
  ]) {
    const client = await LineClient.connect(server)
    await client.login()
    client.send(bytes)
    client.send('zz NOOP\r\n')
    const answers = []
    for (let line = await client.line(); line !== null; line = await client.line()) {
      answers.push(line)
      if (line.startsWith('zz ')) break
    }
    assert.ok(
      answers.some((line) => /^(\S+ (BAD|NO)|\* BYE) /.test(line)) || String(bytes).trim() === '',
      `${JSON.stringify(String(bytes).slice(0, 40))}: ${answers.join('|')}`
    )
    client.close()
  }
  assert.match((await other.command('NOOP')).at(-1) ?? '', /^t OK/)
  other.close()
})

test('a connection that does not log in is sent away, one that has logged in is not', async (t) => {
  let now = Date.now()
  const server = await startImapServer(t, {
    clock: { nowMs: () => now },
    settings: { 'imap.loginTimeoutMs': 60_000 }
  })
  const stranger = await LineClient.connect(server)
  await stranger.line()
  const user = await LineClient.connect(server)
  await user.login()
  now += 61_000
  assert.match((await stranger.line()) ?? '', /^\* BYE Autologout/)
  assert.equal(await stranger.line(), null)
  assert.match((await user.command('NOOP')).at(-1) ?? '', /^t OK/)
  now += 40 * 60_000
  assert.match((await user.line()) ?? '', /^\* BYE Autologout/)
})

test('a client that is told to go away learns why, when its command is through', async (t) => {
  const server = await startImapServer(t, { users: ['alice', 'bob'] })
  const alice = await LineClient.connect(server)
  await alice.login()
  const bob = await LineClient.connect(server)
  await bob.login('bob')
  server.imap.endSessions(await server.accountId('alice'), 'The account was closed')
  assert.equal(await alice.line(), '* BYE The account was closed')
  assert.equal(await alice.line(), null)
  assert.match((await bob.command('NOOP')).at(-1) ?? '', /^t OK/)
  bob.close()
})

test('shutting down says BYE to everybody, in IDLE too, and waits for running commands', async (t) => {
  const server = await startImapServer(t)
  const idler = await LineClient.connect(server)
  await idler.login()
  idler.send('i IDLE\r\n')
  assert.match((await idler.line()) ?? '', /^\+ /)
  const other = await LineClient.connect(server)
  await other.line()
  await server.imap.close({ graceMs: 5000 })
  assert.match((await idler.line()) ?? '', /^\* BYE The server is shutting down/)
  assert.match((await other.line()) ?? '', /^\* BYE The server is shutting down/)
})
