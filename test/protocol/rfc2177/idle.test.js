import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout } from 'node:timers/promises'
import { AccountStore } from '../../../src/store/account-store.js'
import { append, select } from '../../helpers/dialogue.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'

test('IDLE tells arrivals, flags and expunges as they happen (RFC 2177 §3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${select('INBOX', { exists: 1 })}
    ${select('INBOX', { exists: 1, connection: 2 })}
    2C: a IDLE
    2S: + ...
    1C: b STORE 1 +FLAGS.SILENT (\\Deleted)
    1S: b OK ...
    2S: * 1 FETCH (FLAGS (\\Deleted))
    1C: c EXPUNGE
    1S: * 1 EXPUNGE
    1S: * 0 RECENT
    1S: c OK ...
    2S: * 1 EXPUNGE
    ${append('INBOX', { connection: 3 })}
    2S: * 1 EXISTS
    2S: * 1 RECENT
    2C: DONE
    2S: a OK ...
    1C: d NOOP
    1S: * 1 EXISTS
    1S: * 0 RECENT
    1S: d OK ...
    `
  )
})

test('IDLE is taken before SELECT, which Outlook does, and ends with done in any case', async (t) => {
  const server = await startImapServer(t)
  await transcript(server, 'C: a IDLE\nS: + ...\nC: done\nS: a OK ...\nC: b NOOP\nS: b OK ...')
})

test('anything but DONE is BAD, and the session goes on', async (t) => {
  const server = await startImapServer(t)
  await transcript(server, 'C: a IDLE\nS: + ...\nC: b NOOP\nS: a BAD ...\nC: c NOOP\nS: c OK ...')
})

test('a command in IDLE is BAD as a whole: what its literals hold is no command', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a IDLE
    S: + ...
    C: b APPEND INBOX {17+}
    C: x CREATE intruder {10+}
    C: y CREATE z
    S: a BAD ...
    C: c LIST "" "*r"
    S: c OK ...
    C: d IDLE
    S: + ...
    C: e APPEND INBOX {999999999+}
    S: d NO [TOOBIG] ...
    S: * BYE ...
    S! closed
    `
  )
})

test('news that cannot be told end no IDLE, and its DONE is still its own', async (t) => {
  const server = await startImapServer(t)
  const fault = new Error('a fault in the store')
  const client = await LineClient.connect(server)
  await client.login()
  await client.command('SELECT INBOX')
  client.send('a IDLE\r\n')
  assert.match((await client.line()) ?? '', /^\+ /)
  t.mock.method(AccountStore.prototype, 'claimRecent', () => Promise.reject(fault), { times: 1 })
  const other = await LineClient.connect(server)
  await other.login()
  await other.command('APPEND INBOX {1+}\r\nx')
  while (server.unexpected.length === 0) await setTimeout(5)
  assert.deepEqual(server.unexpected.splice(0), [fault])
  client.send('DONE\r\n')
  assert.match((await client.line()) ?? '', /^a OK/)
  assert.match((await client.command('NOOP')).at(-1) ?? '', /OK/)
  client.close()
  other.close()
})

test('DONE and what follows it may come in one packet', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    'C-: a IDLE\nC: \nS: + ...\nC: DONE\nC: b NOOP\nS: a OK ...\nS: b OK ...'
  )
})

test('IDLE never times out; a reminder goes out every other minute', async (t) => {
  let now = Date.now()
  const server = await startImapServer(t, { clock: { nowMs: () => now } })
  const client = await LineClient.connect(server)
  await client.login()
  client.send('a IDLE\r\n')
  assert.match((await client.line()) ?? '', /^\+ /)
  for (let count = 0; count < 3; count++) {
    now += 60 * 60_000
    assert.equal(await client.line(), '* OK Still here')
  }
  assert.equal(server.imap.counts().idling, 1)
  client.send('DONE\r\n')
  assert.match((await client.line()) ?? '', /^a OK/)
  assert.equal(server.imap.counts().idling, 0)
  client.close()
})

test('a wall clock that is set ends no session, and keeps no reminder back', async (t) => {
  const clock = new ManualClock()
  const steadyClock = new ManualClock(1000)
  const server = await startImapServer(t, { clock, steadyClock })
  const idler = await LineClient.connect(server)
  await idler.login()
  const other = await LineClient.connect(server)
  await other.login()
  idler.send('a IDLE\r\n')
  assert.match((await idler.line()) ?? '', /^\+ /)
  for (const days of [365, -730]) {
    clock.advance(days * 24 * 60 * 60_000)
    steadyClock.advance(10 * 60_000)
    assert.equal(await idler.line(), '* OK Still here')
    assert.match((await other.command('NOOP')).at(-1) ?? '', /^t OK/)
  }
  idler.close()
  other.close()
})

test('a client that vanishes in IDLE leaves no session behind', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  await client.login()
  client.send('a IDLE\r\n')
  await client.line()
  assert.deepEqual(server.imap.counts(), {
    connections: 1,
    loggedIn: 1,
    idling: 1,
    background: 0
  })
  client.close()
  while (server.imap.counts().connections > 0) await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(server.imap.counts(), {
    connections: 0,
    loggedIn: 0,
    idling: 0,
    background: 0
  })
})

test('a line that is too long ends IDLE, and with it the session: what follows may be a part of it', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  await client.login()
  await client.command('SELECT INBOX')
  client.send('long IDLE\r\n')
  assert.match((await client.line()) ?? '', /^\+ /)
  client.send(`${'x'.repeat(100_000)}\r\nnext NOOP\r\n`)
  assert.match((await client.line()) ?? '', /^long BAD /)
  assert.match((await client.line()) ?? '', /^\* BYE /)
  assert.equal(await client.line(), null)
})
