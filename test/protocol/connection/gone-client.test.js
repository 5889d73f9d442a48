/**
 * A client that closes its side while its command works: it may still read, or it may be gone. The clock stands still here,
 * so that nothing is told because it is due.
 */
import { test } from 'node:test'
import assert from 'node:assert/strict'
import { setTimeout } from 'node:timers/promises'
import { keepBusy } from '../../helpers/accounts.js'
import { openBeside } from '../../helpers/beside.js'
import { append } from '../../helpers/dialogue.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'
import { WireClient } from '../../helpers/wire-client.js'

/**
 * @param {number} seed
 * @param {number} length
 * @returns {string} a and b in a random order: whatever is made of them, an index cannot rule it out
 */
function letters(seed, length) {
  let state = seed
  const next = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state < 0x80000000 ? 'a' : 'b'
  }
  return Array.from({ length }, next).join('')
}

/**
 * @param {number} seed
 * @returns {string} a message of some size
 */
function longMessage(seed) {
  const lines = Array.from({ length: 2000 }, (_, line) => letters(seed * 2000 + line, 76))
  return `Subject: long\r\n\r\n${lines.join('\r\n')}\r\n`
}

/** Each of them is looked for in every message: much longer than it takes to see that the client has gone. */
const LONG_SEARCH = Array.from(
  { length: 1000 },
  (_, at) => `NOT BODY ${letters(at + 1_000_000, 40)}`
).join(' ')

for (const isTls of [false, true]) {
  const how = isTls ? 'over TLS' : 'without TLS'

  test(`one that still reads is told three times that its command goes on, and gets its answer, ${how}`, async (t) => {
    const server = await startImapServer(t, { clock: new ManualClock() })
    await transcript(server, append('INBOX'))
    const db = await openBeside(server)
    t.after(() => db.close())
    const client = await LineClient.connect(server, { isTls })
    t.after(() => client.close())
    await client.login()
    await client.command('SELECT INBOX')
    // Another process writes: COPY waits for it.
    db.exec('BEGIN IMMEDIATE')
    client.socket.end('slow COPY 1 Archive\r\n')
    const stillAtWork = '* OK [INPROGRESS ("slow" NIL NIL)] Still at work'
    for (let times = 0; times < 3; times++) assert.equal(await client.line(), stillAtWork)
    db.exec('ROLLBACK')
    assert.match((await client.line()) ?? '', /^slow OK \[COPYUID /)
  })

  test(`of one that has gone the search ends, ${how}`, async (t) => {
    const server = await startImapServer(t, { clock: new ManualClock() })
    const messages = Array.from({ length: 60 }, (_, at) => longMessage(at + 1))
    await transcript(server, messages.map((message) => append('INBOX', { message })).join('\n'))
    const client = await LineClient.connect(server, { isTls })
    await client.login()
    await client.command('SELECT INBOX')
    client.send(`long SEARCH ${LONG_SEARCH}\r\n`)
    // Its command is to be at work before it goes.
    await setTimeout(1000)
    assert.equal(server.imap.counts().connections, 1)
    client.socket.destroy()
    while (server.imap.counts().connections > 0) await setTimeout(100)
    const answered = server.logged.filter(
      (record) => 'command' in record && record.command === 'SEARCH'
    )
    assert.deepEqual(answered, [], 'nothing was found out in the end')
  })
}

test('the LOGIN of a client that has gone before its turn costs nothing; one that has only closed its side is answered', async (t) => {
  const server = await startImapServer(t, {
    clock: new ManualClock(),
    settings: { 'auth.concurrency': 1 }
  })
  const gone = await WireClient.connect(server.port)
  const halfClosed = await WireClient.connect(server.port)
  const busy = keepBusy(server.services.argon2)
  gone.send('a LOGIN alice wrong\r\n')
  halfClosed.socket.end(`a LOGIN alice "${PASSWORD}"\r\nb LOGOUT\r\n`)
  await busy.untilJoined(2)
  gone.socket.resetAndDestroy()
  assert.match(await halfClosed.until(/b OK [^\r]*\r\n/), /^a OK /m)
  assert.equal(await busy.end(), 1, 'derivations')
})
