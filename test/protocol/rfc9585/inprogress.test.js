import { test } from 'node:test'
import assert from 'node:assert/strict'
import { openBeside } from '../../helpers/beside.js'
import { append, select } from '../../helpers/dialogue.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'

test('a command that takes long says that it is still at work, and is answered then (RFC 9585 §4)', async (t) => {
  const clock = new ManualClock()
  const server = await startImapServer(t, { clock })
  await transcript(server, append('INBOX'))
  const db = await openBeside(server)
  t.after(() => db.close())
  const client = await LineClient.connect(server)
  t.after(() => client.close())
  await client.login()
  await client.command('SELECT INBOX')
  // Another process writes: COPY waits for it.
  db.exec('BEGIN IMMEDIATE')
  client.send('slow COPY 1 Archive\r\n')
  // When COPY has begun is not known from here.
  const passing = setInterval(() => clock.advance(5000), 100)
  const first = await client.line()
  clearInterval(passing)
  assert.equal(first, '* OK [INPROGRESS ("slow" NIL NIL)] Still at work')
  db.exec('ROLLBACK')
  assert.match((await client.line()) ?? '', /^slow OK \[COPYUID /)
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
