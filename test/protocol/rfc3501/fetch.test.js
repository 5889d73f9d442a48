import assert from 'node:assert/strict'
import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'
import { WireClient } from '../../helpers/wire-client.js'

const MIXED = [
  'From: A <a@example.org>',
  'To: B <b@example.org>',
  'Subject: parts',
  'Date: Thu, 1 Feb 2024 10:00:00 +0000',
  'Message-ID: <1@example.org>',
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary=cut',
  '',
  '--cut',
  'Content-Type: text/plain',
  '',
  'hello',
  '--cut',
  'Content-Type: message/rfc822',
  '',
  'Subject: inner',
  '',
  'inside',
  '--cut--',
  ''
].join('\r\n')

test('a message opened without PEEK becomes \\Seen, and the same response says so', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${append('INBOX')}
    ${select('INBOX', { exists: 2 })}
    C: a FETCH 1 BODY.PEEK[TEXT]
    S: * 1 FETCH (BODY[TEXT] {6}
    S: body
    S: )
    S: a OK ...
    C: b FETCH 1 BODY[TEXT]
    S: * 1 FETCH (FLAGS (\\Seen \\Recent) BODY[TEXT] {6}
    S: body
    S: )
    S: b OK ...
    C: c FETCH 1 BODY[TEXT]
    S: * 1 FETCH (BODY[TEXT] {6}
    S: body
    S: )
    S: c OK ...
    C: d FETCH 2 (FLAGS RFC822.HEADER)
    S: * 2 FETCH (FLAGS (\\Recent) RFC822.HEADER {14}
    S: Subject: x
    S: 
    S: )
    S: d OK ...
    C: e FETCH 2 (FLAGS RFC822.TEXT)
    S: * 2 FETCH (FLAGS (\\Seen \\Recent) RFC822.TEXT {6}
    S: body
    S: )
    S: e OK ...
    `
  )
})

test('RFC822.PEEK, which Outlook sends, reads without \\Seen', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${select('INBOX', { exists: 1 })}
    C: a UID FETCH 1 (UID RFC822.SIZE RFC822.peek)
    S: * 1 FETCH (UID 1 RFC822.SIZE 20 RFC822 {20}
    S: Subject: x
    S: 
    S: body
    S: )
    S: a OK ...
    C: b FETCH 1 FLAGS
    S: * 1 FETCH (FLAGS (\\Recent))
    S: b OK ...
    `
  )
})

test('sections: parts, nested message, MIME, HEADER.FIELDS and NOT, partials, parts that are not there', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { message: MIXED })}
    ${select('INBOX', { exists: 1 })}
    C: a FETCH 1 (BODY.PEEK[1] BODY.PEEK[1.MIME])
    S: * 1 FETCH (BODY[1] {5}
    S: hello BODY[1.MIME] {28}
    S: Content-Type: text/plain
    S: 
    S: )
    S: a OK ...
    C: b FETCH 1 (BODY.PEEK[2.HEADER] BODY.PEEK[2.TEXT] BODY.PEEK[2.1])
    S: * 1 FETCH (BODY[2.HEADER] {18}
    S: Subject: inner
    S: 
    S:  BODY[2.TEXT] {6}
    S: inside BODY[2.1] {6}
    S: inside)
    S: b OK ...
    C: c FETCH 1 BODY.PEEK[HEADER.FIELDS (subject DATE X-None)]
    S: * 1 FETCH (BODY[HEADER.FIELDS (SUBJECT DATE X-NONE)] {56}
    S: Subject: parts
    S: Date: Thu, 1 Feb 2024 10:00:00 +0000
    S: 
    S: )
    S: c OK ...
    C: d FETCH 1 BODY.PEEK[1]<1.3>
    S: * 1 FETCH (BODY[1]<1> {3}
    S: ell)
    S: d OK ...
    C: e FETCH 1 BODY.PEEK[1]<100.3>
    S: * 1 FETCH (BODY[1]<100> {0}
    S: )
    S: e OK ...
    C: f FETCH 1 BODY.PEEK[7]
    S: * 1 FETCH (BODY[7] NIL)
    S: f OK ...
    C: g FETCH 1 BODY.PEEK[HEADER.FIELDS.NOT (From To Subject Date MIME-Version Content-Type)]
    S: * 1 FETCH (BODY[HEADER.FIELDS.NOT (FROM TO SUBJECT DATE MIME-VERSION CONTENT-TYPE)] {31}
    S: Message-ID: <1@example.org>
    S: 
    S: )
    S: g OK ...
    `
  )
})

test('ENVELOPE, BODY, BODYSTRUCTURE and the macros', async (t) => {
  const server = await startImapServer(t)
  const envelope =
    '("Thu, 1 Feb 2024 10:00:00 +0000" "parts" (("A" NIL "a" "example.org")) (("A" NIL "a" "example.org")) (("A" NIL "a" "example.org")) (("B" NIL "b" "example.org")) NIL NIL NIL "<1@example.org>")'
  await transcript(
    server,
    `
    ${append('INBOX', { message: MIXED, date: '" 2-Feb-2024 10:00:00 +0000"' })}
    ${select('INBOX', { exists: 1 })}
    C: a FETCH 1 ENVELOPE
    S: * 1 FETCH (ENVELOPE ${envelope})
    S: a OK ...
    C: b FETCH 1 ALL
    S: * 1 FETCH (FLAGS (\\Recent) INTERNALDATE " 2-Feb-2024 10:00:00 +0000" RFC822.SIZE ${MIXED.length} ENVELOPE ${envelope})
    S: b OK ...
    C: c FETCH 1 FAST
    S: * 1 FETCH (FLAGS (\\Recent) INTERNALDATE " 2-Feb-2024 10:00:00 +0000" RFC822.SIZE ${MIXED.length})
    S: c OK ...
    C: d FETCH 1 (BODY BODYSTRUCTURE)
    S: * 1 FETCH (BODY (("TEXT" "PLAIN"... BODYSTRUCTURE (("TEXT" "PLAIN"...)
    S: d OK ...
    `.replaceAll('"TEXT" "PLAIN"', '...')
  )
})

test('UID FETCH answers with the UID; beyond the end n:* gives the last message; a UID that is not there gives nothing', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${append('INBOX')}
    ${select('INBOX', { exists: 2 })}
    C: a UID FETCH 1:* (FLAGS)
    S: * 1 FETCH (UID 1 FLAGS (\\Recent))
    S: * 2 FETCH (UID 2 FLAGS (\\Recent))
    S: a OK ...
    C: b UID FETCH 100:* (FLAGS)
    S: * 2 FETCH (UID 2 FLAGS (\\Recent))
    S: b OK ...
    C: c UID FETCH 100 (FLAGS)
    S: c OK ...
    C: d FETCH 3 FLAGS
    S: d BAD ...
    C: e FETCH 1:3 FLAGS
    S: e BAD ...
    C: f FETCH 2:1 UID
    S: * 1 FETCH (UID 1)
    S: * 2 FETCH (UID 2)
    S: f OK ...
    `
  )
})

test('many messages come in pages, whole and in order', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  await client.login()
  const count = 700
  for (let number = 1; number <= count; number++) {
    const message = `Subject: ${number}\r\n\r\n`
    client.send(`a APPEND INBOX {${message.length}+}\r\n${message}\r\n`)
  }
  for (let number = 1; number <= count; number++) {
    assert.match((await client.line()) ?? '', /^a OK/)
  }
  await client.command('EXAMINE INBOX')
  const rows = await client.command('FETCH 1:* (UID RFC822.SIZE)')
  assert.deepEqual(
    rows.slice(0, -1).map((line) => /^\* (\d+) FETCH \(UID \1 /.test(line)),
    Array(count).fill(true)
  )
  const headers = await client.command('FETCH 1:* (BODY.PEEK[HEADER.FIELDS (SUBJECT)])')
  const subjects = headers.filter((line) => line.startsWith('Subject: '))
  assert.deepEqual(
    subjects,
    Array.from({ length: count }, (_, index) => `Subject: ${index + 1}`)
  )
  client.close()
})

/**
 * @param {WireClient} client
 * @param {string} tag - of the command that the answers end with
 * @returns {Promise<Buffer[]>} the literals that come before it
 */
async function literalsUntil(client, tag) {
  const literals = []
  for (;;) {
    const line = await client.line()
    if (line.startsWith(`${tag} `)) return literals
    const size = /\{(\d+)\}\r\n$/.exec(line)?.[1]
    if (size !== undefined) literals.push(Buffer.from(await client.take(Number(size))))
  }
}

test('whole messages of many sizes come byte for byte: in a range, pipelined, and beside other items', async (t) => {
  const server = await startImapServer(t)
  const client = await WireClient.connect(server.port)
  await client.login('alice', JSON.stringify(PASSWORD))
  const sizes = [20, 130, 5000, 40_000, 131_071, 131_072, 131_073, 300_000]
  const mails = sizes.map((size, index) =>
    Buffer.from(`Subject: ${index}\r\n\r\n`.padEnd(size, `line ${index}\r\n`), 'latin1')
  )
  for (const mail of mails) await client.command('APPEND INBOX', mail)
  await client.command('EXAMINE INBOX')
  client.send('a FETCH 1:* (UID FLAGS RFC822.SIZE BODY.PEEK[])\r\n')
  assert.deepEqual(await literalsUntil(client, 'a'), mails)
  const order = [7, 0, 3, 4, 5, 6, 1, 2, 2, 4]
  client.send(order.map((index) => `p FETCH ${index + 1} BODY.PEEK[]\r\n`).join(''))
  client.send('q NOOP\r\n')
  const pipelined = []
  for (let done = 0; done < order.length; done++)
    pipelined.push(...(await literalsUntil(client, 'p')))
  await literalsUntil(client, 'q')
  assert.deepEqual(
    pipelined,
    order.map((index) => mails[index])
  )
  client.send('r FETCH 1:* (BODY.PEEK[] RFC822.PEEK BODY.PEEK[]<3.4>)\r\n')
  assert.deepEqual(
    await literalsUntil(client, 'r'),
    mails.flatMap((mail) => [mail, mail, mail.subarray(3, 7)])
  )
  client.socket.destroy()
})
