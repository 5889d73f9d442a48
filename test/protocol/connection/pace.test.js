import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { ManualClock } from '../../helpers/manual-clock.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { WireClient } from '../../helpers/wire-client.js'

const SECOND_MS = 1000
const NOOPS = (/** @type {number} */ count) =>
  Array.from({ length: count }, (_, n) => `n${n} NOOP\r\n`).join('')

/**
 * @param {number} port
 * @param {string} [user]
 */
async function logIn(port, user = 'alice') {
  const client = await WireClient.connect(port)
  await client.login(user, `"${PASSWORD}"`)
  return client
}

/** @param {WireClient} client */
const answered = (client) => client.received.toString('latin1').match(/^n\d+ OK/gm)?.length ?? 0

/**
 * As long as it takes the server's timer to look at the clock twice.
 */
const turns = () => sleep(2200)

test('a session that gives too many commands is slowed down to the limit; others go on', async (t) => {
  const clock = new ManualClock()
  const { port, imap } = await startImapServer(t, {
    clock,
    users: ['alice', 'bob'],
    settings: { 'limits.commandsPerMinutePerAccount': 60 }
  })
  const alice = await logIn(port)
  t.after(() => alice.destroy())
  alice.send(NOOPS(100))
  await alice.until(/^n59 OK/m)
  await turns()
  assert.ok(answered(alice) <= 1, String(answered(alice)))

  const bob = await logIn(port, 'bob')
  t.after(() => bob.destroy())
  for (let n = 0; n < 10; n++) assert.match(await bob.command('NOOP'), /OK/)

  clock.advance(10 * SECOND_MS)
  await alice.until(/^n69 OK/m)
  await turns()
  assert.ok(answered(alice) <= 2, String(answered(alice)))

  // An operator who ends the session need not wait for it.
  imap.endSessions(String(imap.listSessions()[0]?.accountId), 'The administrator has ended it')
  await alice.until(/\* BYE The administrator/)
})

test('bytes are counted in both directions: a large APPEND and a large FETCH make the next wait', async (t) => {
  const clock = new ManualClock()
  const { port } = await startImapServer(t, {
    clock,
    settings: { 'limits.bytesPerMinutePerAccount': 600_000 }
  })
  const client = await logIn(port)
  t.after(() => client.destroy())
  const message = Buffer.from(`Subject: x\r\n\r\n${'0123456789abcdef\r\n'.repeat(30_000)}`)
  const appended = client.command('APPEND INBOX', message)
  await appended
  await client.command('SELECT INBOX')
  // What is left goes out at once, the rest of it as the minute goes by.
  const fetched = client.command('FETCH 1 BODY.PEEK[]')
  const state = { isThere: false }
  fetched.then(() => (state.isThere = true))
  await turns()
  assert.equal(state.isThere, false)

  // Another session of the account waits, too, and is told why.
  const other = await WireClient.connect(port)
  t.after(() => other.destroy())
  await other.login('alice', `"${PASSWORD}"`)
  other.send('x NOOP\r\n')
  await turns()
  clock.advance(10 * SECOND_MS)
  await other.until(/^\* OK Slowed down[^\r]*\r\n/m)
  for (let n = 0; n < 60 && !state.isThere; n++) {
    clock.advance(20 * SECOND_MS)
    await sleep(1100)
  }
  await other.until(/^x OK/m)
  assert.ok((await fetched).includes(message.toString('latin1')))
})

test('an address is slowed down before it has logged in, and an exempt one is not', async (t) => {
  const clock = new ManualClock()
  const { port } = await startImapServer(t, {
    clock,
    settings: { 'limits.commandsPerMinutePerAddress': 20 }
  })
  const stranger = new WireClient(connect({ host: '127.0.0.1', port, localAddress: '127.0.0.2' }))
  t.after(() => stranger.destroy())
  await stranger.until(/^\* OK/m)
  stranger.send(NOOPS(40))
  await stranger.until(/^n19 OK/m)
  await turns()
  assert.ok(answered(stranger) <= 1, String(answered(stranger)))
  const neighbour = await logIn(port)
  t.after(() => neighbour.destroy())
  neighbour.send(NOOPS(40))
  await neighbour.until(/^n39 OK/m)
  clock.advance(60 * SECOND_MS)
  await stranger.until(/^n39 OK/m)
})
