import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBeside } from '../../helpers/beside.js'
import { append, select } from '../../helpers/dialogue.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'

const DIALOGUE = `
  S: * OK ...
  C: a LOGIN {5}
  S: + ...
  C: alice "${PASSWORD}"
  S: a OK ...
  C: b APPEND INBOX (\\Seen) {20}
  S: + ...
  C: Subject: x
  C: 
  C: body
  C: 
  S: b OK [APPENDUID ...
  ${select('INBOX', { exists: 1, unseen: false })}
  C: c UID FETCH 1:* (FLAGS BODY.PEEK[HEADER.FIELDS (Subject)])
  S: * 1 FETCH (UID 1 FLAGS (\\Seen \\Recent) BODY[HEADER.FIELDS (SUBJECT)] {14}
  S: Subject: x
  S: 
  S: )
  S: c OK ...
  C: d IDLE
  S: + ...
  C: DONE
  S: d OK ...
`

test('a dialogue is the same when every byte comes by itself', async (t) => {
  const server = await startImapServer(t)
  await transcript(server, DIALOGUE, { login: null, isSplit: true })
})

test('and through TLS', async (t) => {
  const server = await startImapServer(t)
  await transcript(server, DIALOGUE, { login: null, isTls: true, isSplit: true })
})

test('a client that does not read its answers holds up nobody, and gets all of them when it does', async (t) => {
  const server = await startImapServer(t)
  const size = 400_000
  const message = `Subject: large\r\n\r\n${'y'.repeat(size)}`
  const slow = await LineClient.connect(server)
  await slow.login()
  slow.send(`a APPEND INBOX {${message.length}+}\r\n${message}\r\n`)
  assert.match((await slow.line()) ?? '', /^a OK/)
  await slow.command('SELECT INBOX')
  slow.socket.pause()
  const rounds = 60
  slow.send('f FETCH 1 BODY.PEEK[]\r\n'.repeat(rounds))
  const quick = await LineClient.connect(server)
  await quick.login()
  assert.match((await quick.command('SELECT INBOX')).at(-1) ?? '', /^t OK/)
  assert.match((await quick.command('FETCH 1 FLAGS')).at(-1) ?? '', /^t OK/)
  slow.socket.resume()
  for (let round = 0; round < rounds; round++) {
    assert.match((await slow.line()) ?? '', /^\* 1 FETCH \(BODY\[\] \{400018\}$/)
    for (const wanted of ['Subject: large', '', `${'y'.repeat(size)})`]) {
      assert.equal(await slow.line(), wanted)
    }
    assert.match((await slow.line()) ?? '', /^f OK/)
  }
  slow.close()
  quick.close()
})

test('a client that does not read the names of its LSUB is waited for: they do not gather in memory', async (t) => {
  const server = await startImapServer(t)
  const count = 10_000
  const database = await openBeside(server)
  const insert = database.prepare('INSERT INTO subscriptions (name) VALUES (?)')
  database.exec('BEGIN')
  // 1.3 KB each on the wire, together more than the sockets hold.
  for (let nth = 0; nth < count; nth++) insert.run(`${nth}${'\u00e4'.repeat(490)}`)
  database.exec('COMMIT')
  database.close()
  const slow = await LineClient.connect(server)
  await slow.login()
  const quick = await LineClient.connect(server)
  await quick.login()
  slow.socket.pause()
  slow.send('a LSUB "" "*"\r\n')
  const lines = await quick.command('LSUB "" "*"')
  assert.ok(lines.length > count)
  const isLsub = (/** @type {any} */ { command }) => command === 'LSUB'
  assert.equal(server.logged.filter(isLsub).length, 1, 'the other one is still at work')
  slow.socket.resume()
  for (let nth = 1; nth < lines.length; nth++) assert.match((await slow.line()) ?? '', /^\* LSUB /)
  assert.match((await slow.line()) ?? '', /^a OK/)
  slow.close()
  quick.close()
})

test('hundreds of pipelined commands, writes among them, are answered each and in order', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  await client.login()
  await client.command('SELECT INBOX')
  const commands = Array.from({ length: 300 }, (_, index) =>
    index % 3 === 0
      ? `c${index} APPEND INBOX {4+}\r\na: b\r\n`
      : `c${index} UID STORE ${Math.ceil(index / 3)} +FLAGS.SILENT (\\Seen)\r\n`
  )
  client.send(commands.join(''))
  const tags = []
  while (tags.length < commands.length) {
    const line = (await client.line()) ?? 'closed'
    if (!line.startsWith('* ')) tags.push(line.split(' ').slice(0, 2).join(' '))
  }
  assert.deepEqual(
    tags,
    commands.map((_, index) => `c${index} OK`)
  )
  client.close()
})

test('an APPEND that waits for the disk is answered before the next command is asked for its literal', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  await client.login()
  client.send('a APPEND INBOX {4+}\r\na: b\r\nb STATUS {5}\r\n')
  assert.match((await client.line()) ?? '', /^a OK \[APPENDUID /)
  assert.match((await client.line()) ?? '', /^\+ /)
  client.send('INBOX (MESSAGES)\r\n')
  assert.equal(await client.line(), '* STATUS INBOX (MESSAGES 1)')
  assert.match((await client.line()) ?? '', /^b OK /)
  client.close()
})

test('more connections from one address than it may have are sent away; exempt ones are not', async (t) => {
  const settings = { 'imap.maxConnectionsPerAddress': 2, 'limits.exemptAddresses': [] }
  const server = await startImapServer(t, { settings })
  const clients = []
  for (let count = 0; count < 3; count++) clients.push(await LineClient.connect(server))
  assert.match((await clients[0]?.line()) ?? '', /^\* OK/)
  assert.match((await clients[1]?.line()) ?? '', /^\* OK/)
  assert.match(
    (await clients[2]?.line()) ?? '',
    /^\* BYE \[UNAVAILABLE\] Too many connections from/
  )
  assert.equal(await clients[2]?.line(), null)
  clients[0]?.close()
  while (server.imap.counts().connections > 1) await new Promise((resolve) => setImmediate(resolve))
  const next = await LineClient.connect(server)
  assert.match((await next.line()) ?? '', /^\* OK/)
  for (const client of [...clients, next]) client.close()
})

test('a block of addresses may be exempt', async (t) => {
  const settings = {
    'imap.maxConnectionsPerAddress': 2,
    'limits.exemptAddresses': ['10.0.0.0/8', '127.0.0.0/8']
  }
  const server = await startImapServer(t, { settings })
  for (let count = 0; count < 3; count++) {
    const client = await LineClient.connect(server)
    t.after(() => client.close())
    assert.match((await client.line()) ?? '', /^\* OK/)
  }
})

test('of more connections than that, a hundred are told so at a time, and the rest is closed at once', async (t) => {
  const settings = { 'imap.maxConnectionsPerAddress': 2, 'limits.exemptAddresses': [] }
  // Who does not close its side is cut off after some seconds, which pass when the test says so.
  const { tlsPort, port, imap } = await startImapServer(t, { settings, clock: new ManualClock() })
  /** @type {LineClient[]} */
  const silent = []
  t.after(() => silent.forEach((client) => client.close()))
  for (let count = 0; count < 110; count++) {
    silent.push(await LineClient.connect({ port: tlsPort, tlsPort: port }))
  }
  for (const client of silent.slice(102)) assert.equal(await client.line(), null)
  assert.equal(imap.counts().connections, 102)
  assert.deepEqual(new Set(silent.slice(0, 102).map(({ isClosed }) => isClosed)), new Set([false]))
})

test('a client that goes in the middle of its handshake is not waited for', async (t) => {
  const server = await startImapServer(t, { clock: new ManualClock() })
  const { port, tlsPort } = server
  const implicit = await LineClient.connect({ port: tlsPort, tlsPort: port })
  implicit.socket.end(Buffer.from('16030100c8010000c4', 'hex'))
  assert.equal(await implicit.line(), null)
  const explicit = await LineClient.connect(server)
  await explicit.line()
  await explicit.command('STARTTLS')
  explicit.socket.end()
  assert.equal(await explicit.line(), null)
  // Its end has been read before the handshake begins: while its login was being checked.
  const early = await LineClient.connect(server)
  await early.line()
  early.socket.end('a LOGIN alice wrong\r\nb STARTTLS\r\n')
  assert.match((await early.line()) ?? '', /^a NO /)
  assert.match((await early.line()) ?? '', /^b OK /)
  assert.equal(await early.line(), null)
})

test('a client that begins no handshake is cut off when the time for a login is over', async (t) => {
  const clock = new ManualClock()
  const settings = { 'imap.loginTimeoutMs': 60_000 }
  const { port, tlsPort, imap } = await startImapServer(t, { clock, settings })
  const silent = await LineClient.connect({ port: tlsPort, tlsPort: port })
  while (imap.counts().connections === 0) await new Promise(setImmediate)
  clock.advance(60_001)
  assert.equal(await silent.line(), null)
})

test('a stranger whose time is over is cut off, also one that never reads and never stops to send', async (t) => {
  const clock = new ManualClock()
  const server = await startImapServer(t, { clock })
  const client = await LineClient.connect(server)
  t.after(() => client.close())
  client.socket.pause()
  const closed = new Promise((resolve) => client.socket.once('close', resolve))
  client.send('a CAPABILITY\r\n'.repeat(500_000))
  const startMs = clock.nowMs()
  const passing = setInterval(() => clock.advance(45_000), 1000)
  t.after(() => clearInterval(passing))
  await closed
  // Two minutes for the login; who has logged in and does not read is given five.
  assert.ok(clock.nowMs() - startMs < 240_000)
})

test('an authentication that does not go on is not waited for at the end', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  await client.line()
  client.send('a AUTHENTICATE PLAIN\r\n')
  assert.equal(await client.line(), '+ ')
  await server.imap.close({ graceMs: 60_000 })
  assert.match((await client.line()) ?? '', /^a BAD /)
  assert.equal(await client.line(), '* BYE The server is shutting down')
})

test('a handshake that does not come is not waited for at the end', async (t) => {
  const server = await startImapServer(t)
  const { port } = server
  const silent = await LineClient.connect({ port: server.tlsPort, tlsPort: port })
  await server.imap.close({ graceMs: 60_000 })
  assert.equal(await silent.line(), null)
})

test('a message is there for whoever selects after its APPEND was acknowledged', async (t) => {
  const server = await startImapServer(t)
  await transcript(server, `${append('INBOX')}\n${select('INBOX', { exists: 1, connection: 2 })}`)
})
