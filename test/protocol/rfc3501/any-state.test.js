import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'

test('the greeting carries the capabilities, and CAPABILITY says the same (RFC 3501 §7.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    S: * OK [CAPABILITY {{first}} ...] ...
    C: a CAPABILITY
    S: * CAPABILITY IMAP4rev1 IMAP4rev2 STARTTLS AUTH=PLAIN AUTH=LOGIN SASL-IR ...
    S: a OK ...
    C: b NOOP
    S: b OK ...
    C: c LOGOUT
    S: * BYE ...
    S: c OK ...
    S! closed
    `,
    { login: null }
  )
})

test('commands are answered in any case, and with any tag', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: 1 nOoP
    S: 1 OK ...
    C: a.b-c/d:e noop
    S: a.b-c/d:e OK ...
    `
  )
})

test('commands in the wrong state are BAD, not NO (RFC 3501 §3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    S: * OK ...
    C: a SELECT INBOX
    S: a BAD ...
    C: b FETCH 1 FLAGS
    S: b BAD ...
    `,
    { login: null }
  )
  await transcript(
    server,
    `
    C: a FETCH 1 FLAGS
    S: a BAD ...
    C: b LOGIN alice x
    S: b BAD ...
    C: c STARTTLS
    S: c BAD ...
    C: d CLOSE
    S: d BAD ...
    C: e AUTHENTICATE PLAIN
    S: e BAD ...
    `
  )
})

test('pipelined commands are answered in order (RFC 3501 §5.5)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: 1 CREATE one
    C: 2 STATUS one (MESSAGES)
    C: 3 SELECT one
    C: 4 NOOP
    C: 5 CLOSE
    S: 1 OK ...
    S: * STATUS one (MESSAGES 0)
    S: 2 OK ...
    S: * FLAGS (...)
    S: * OK [PERMANENTFLAGS ...
    S: * 0 EXISTS
    S: * 0 RECENT
    S: * OK [UIDVALIDITY ...
    S: * OK [UIDNEXT 1] ...
    S: * OK [HIGHESTMODSEQ ...
    S: * OK [MAILBOXID ...
    S: 3 OK [READ-WRITE] ...
    S: 4 OK ...
    S: 5 OK ...
    `
  )
})

test('a client that closes its side after its last command still gets the answers', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  await client.login()
  client.socket.end('1 NOOP\r\n2 STATUS INBOX (MESSAGES)\r\n3 NOOP\r\n')
  const lines = []
  for (let line = await client.line(); line !== null; line = await client.line()) lines.push(line)
  assert.deepEqual(
    lines.map((line) => line.split(' ').slice(0, 2).join(' ')),
    ['1 OK', '* STATUS', '2 OK', '3 OK']
  )
})
