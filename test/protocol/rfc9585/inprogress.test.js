import { test } from 'node:test'
import assert from 'node:assert/strict'
import { openBeside } from '../../helpers/beside.js'
import { append, select } from '../../helpers/dialogue.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'

/** More than what is made anew of messages may wait for company, before it is written. */
const MANY = 40

/** @type {[command: string, answer: string][]} */
const SLOW = [
  ['COPY 1 Archive', 'slow OK [COPYUID '],
  ['MOVE 1 Archive', '* OK [COPYUID '],
  ['STORE 1 +FLAGS (\\Seen)', '* 1 FETCH '],
  ['EXPUNGE', '* 40 EXPUNGE'],
  ['UID EXPUNGE 1', '* 1 EXPUNGE'],
  ['CLOSE', 'slow OK '],
  ['RENAME INBOX Old', '* 40 EXPUNGE'],
  ['SORT (DATE) UTF-8 ALL', '* SORT '],
  ['THREAD REFERENCES UTF-8 ALL', '* THREAD ']
]

for (const [command, answer] of SLOW)
  test(`${command} that takes long says that it is still at work, and is answered then (RFC 9585 §4)`, async (t) => {
    const clock = new ManualClock()
    const server = await startImapServer(t, { clock })
    const client = await LineClient.connect(server)
    t.after(() => client.close())
    await client.login()
    // Those of one command are written with what is made of them.
    const messages = Array.from(
      { length: MANY },
      (_, nth) => ` (\\Deleted) {9+}\r\n${nth + 10}: x\r\n\r\n`
    )
    await client.command(`APPEND INBOX${messages.join('')}`)
    const db = await openBeside(server)
    t.after(() => db.close())
    // As an earlier version has left it: SORT and THREAD make it anew, and keep it.
    db.exec('UPDATE message_meta SET builder_version = 0')
    await client.command('SELECT INBOX')
    // Another process writes: everybody else waits for it.
    db.exec('BEGIN IMMEDIATE')
    client.send(`slow ${command}\r\n`)
    // When it has begun is not known from here.
    const passing = setInterval(() => clock.advance(5000), 100)
    const first = await client.line()
    clearInterval(passing)
    assert.equal(first, '* OK [INPROGRESS ("slow" NIL NIL)] Still at work')
    db.exec('ROLLBACK')
    assert.equal((await client.line())?.slice(0, answer.length), answer)
  })

test('a command that is done in time says nothing of it', async (t) => {
  const clock = new ManualClock()
  const server = await startImapServer(t, { clock })
  await transcript(server, `${append('INBOX')}\n${select('INBOX', { exists: 1 })}`)
  clock.advance(60_000)
  await transcript(
    server,
    `
    ${select('INBOX', { exists: 1 })}
    C: a SEARCH ALL
    S: * SEARCH 1
    S: a OK ...
    `
  )
})
