import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openBeside } from '../../helpers/beside.js'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'

test('APPEND keeps flags, keywords, date and zone, and every byte', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a APPEND INBOX (\\Seen $Junk) " 1-Feb-2024 03:04:05 +0130" {6}
    S: + ...
    C: a: b
    C: 
    S: a OK [APPENDUID {{validity}} 1] ...
    C: b EXAMINE INBOX
    S: * FLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft $Junk)
    S: * OK [PERMANENTFLAGS ()] ...
    S: * 1 EXISTS
    S: * 1 RECENT
    S: * OK [UIDVALIDITY {{validity}}] ...
    S: * OK [UIDNEXT 2] ...
    S: * OK [HIGHESTMODSEQ ...
    S: * OK [MAILBOXID ...
    S: b OK ...
    C: c FETCH 1 (FLAGS INTERNALDATE RFC822.SIZE BODY.PEEK[])
    S: * 1 FETCH (FLAGS (\\Seen $Junk \\Recent) INTERNALDATE " 1-Feb-2024 03:04:05 +0130" RFC822.SIZE 6 BODY[] {6}
    S: a: b
    S: )
    S: c OK ...
    `
  )
})

test('flags of another server are left out, and the message is kept (RFC 9051 §7.1, PERMANENTFLAGS)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a APPEND INBOX (\\X-EON-HAS-ATTACHMENT \\Seen work) {4+}
    C: a: b
    S: a OK ...
    ${select('INBOX', { exists: 1, unseen: false })}
    C: b STORE 1 +FLAGS (\\Nonsense \\Flagged)
    S: * 1 FETCH (FLAGS (\\Flagged \\Seen work \\Recent))
    S: b OK ...
    C: c STORE 1 +FLAGS (\\Nonsense)
    S: * 1 FETCH (FLAGS (\\Flagged \\Seen work \\Recent))
    S: c OK ...
    `
  )
})

test('APPEND to a missing mailbox answers NO [TRYCREATE] and reads no literal', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a APPEND nowhere {100}
    S: a NO [TRYCREATE] ...
    C: b NOOP
    S: b OK ...
    `
  )
})

test('APPEND to a missing mailbox with a non-synchronising literal discards exactly its bytes (RFC 7888)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a APPEND nowhere {16+}
    C: x LOGOUT
    C: y NOOP
    C: b NOOP
    S: a NO [TRYCREATE] ...
    S: b OK ...
    `
  )
})

test('a message that is too large or over the quota is refused before a byte is asked for', async (t) => {
  const server = await startImapServer(t, {
    settings: { 'messages.maxBytes': 65536, 'accounts.quotaBytes': 1000 }
  })
  await transcript(
    server,
    `
    C: a APPEND INBOX {65537}
    S: a NO [TOOBIG] ...
    C: b APPEND INBOX {1001}
    S: b NO [OVERQUOTA] ...
    C: c NOOP
    S: c OK ...
    `
  )
})

test('an empty literal, bad flags and a bad date append nothing', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a APPEND INBOX {0}
    S: a NO ...
    C: b APPEND INBOX (\\*) {3}
    S: b BAD ...
    C: c APPEND INBOX "yesterday" {3}
    S: c BAD ...
    C: d STATUS INBOX (MESSAGES UIDNEXT)
    S: * STATUS INBOX (MESSAGES 0 UIDNEXT 1)
    S: d OK ...
    `
  )
})

test('APPEND to the selected mailbox tells EXISTS before its tagged OK (RFC 3501 §6.3.11)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${select('INBOX', { exists: 0 })}
    C: a APPEND INBOX {4+}
    C: a: b
    S: * 1 EXISTS
    S: * 1 RECENT
    S: a OK [APPENDUID ...
    `
  )
})

test('a client that disappears in the middle of a message leaves nothing behind', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  await client.login()
  client.send(`a APPEND INBOX {100000+}\r\n${'x'.repeat(50_000)}`)
  client.socket.end()
  assert.equal(await client.line(), null)
  await transcript(
    server,
    'C: a STATUS INBOX (MESSAGES UIDNEXT)\nS: * STATUS INBOX (MESSAGES 0 UIDNEXT 1)\nS: a OK ...'
  )
})

test('a message without NUL comes back byte for byte, whatever packets it came in', async (t) => {
  const server = await startImapServer(t)
  const message = Buffer.alloc(300_007)
  for (let index = 0; index < message.length; index++)
    message[index] = 1 + (((index * 7919) >>> 5) % 255)
  const client = await LineClient.connect(server)
  await client.login()
  client.send(`a APPEND INBOX {${message.length}}\r\n`)
  assert.match((await client.line()) ?? '', /^\+ /)
  for (let at = 0; at < message.length; at += 4999) client.send(message.subarray(at, at + 4999))
  client.send('\r\n')
  assert.match((await client.line()) ?? '', /^a OK \[APPENDUID/)
  await client.command('EXAMINE INBOX')
  const whole = await client.command('FETCH 1 BODY.PEEK[]')
  const text = whole.slice(0, -1).join('\r\n')
  const start = text.indexOf('}\r\n') + 3
  assert.ok(Buffer.from(text.slice(start, start + message.length), 'latin1').equals(message))
  const part = (await client.command('FETCH 1 BODY.PEEK[]<200000.65536>')).slice(0, -1).join('\r\n')
  assert.ok(part.startsWith('* 1 FETCH (BODY[]<200000> {65536}\r\n'))
  const from = part.indexOf('}\r\n') + 3
  assert.ok(
    Buffer.from(part.slice(from, from + 65536), 'latin1').equals(message.subarray(200000, 265536))
  )
  client.close()
})

test('what lists are made of is there with a MULTIAPPEND, and left for later with a message that comes alone', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  t.after(() => client.close())
  await client.login()
  const db = await openBeside(server)
  t.after(() => db.close())
  const made = () =>
    db
      .prepare('SELECT c.id FROM contents c JOIN message_envelopes e ON e.content_id = c.id')
      .pluck()
      .all()
  await client.command('APPEND INBOX {6+}\r\na: b\r\n')
  assert.deepEqual(made(), [])
  const several = Array.from({ length: 5 }, (_, nth) => `{6+}\r\nb: ${nth}\r\n`)
  await client.command(`APPEND INBOX ${several.join(' ')}`)
  assert.equal(made().length, 5)
})

test('MULTIAPPEND: all messages of one command, or none (RFC 3502)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a APPEND INBOX (\\Seen) {3}
    S: + ...
    C-: a:1
    C:  (\\Draft) {3}
    S: + ...
    C-: a:2
    C:  {3+}
    C: a:3
    S: a OK [APPENDUID {{validity}} 1:3] ...
    C: b APPEND INBOX {3+}
    C-: a:4
    C:  {0}
    S: b NO ...
    C: c APPEND INBOX {3+}
    C-: a:5
    C:  (\\*) {3+}
    C: a:6
    S: c BAD ...
    C: d STATUS INBOX (MESSAGES UNSEEN)
    S: * STATUS INBOX (MESSAGES 3 UNSEEN 2)
    S: d OK ...
    `
  )
})

test('the bodies of appended messages are read through the same dialogue helper', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `${append('INBOX')}\n${append('INBOX', { flags: '\\Seen' })}\n${select('INBOX', { exists: 2 })}`
  )
})

test('APPENDs sent without waiting are answered in their order, and a refused one stops none of the others', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  t.after(() => client.close())
  await client.login()
  await client.command('SELECT INBOX')
  const numbers = Array.from({ length: 50 }, (_, index) => index + 1)
  const isRefused = (/** @type {number} */ number) => number % 10 === 0
  const appends = numbers.map((number) => {
    const message = `Subject: ${number}\r\n\r\n`
    const mailbox = isRefused(number) ? 'nowhere' : 'INBOX'
    return `a${number} APPEND ${mailbox} {${message.length}+}\r\n${message}\r\n`
  })
  client.send(`${appends.join('')}f FETCH 1:* (UID BODY.PEEK[HEADER.FIELDS (SUBJECT)])\r\n`)
  /** @type {string[]} */
  const lines = []
  while (!lines.at(-1)?.startsWith('f ')) lines.push((await client.line()) ?? 'f closed')
  let uid = 0
  const expected = numbers.map((number) =>
    isRefused(number) ? `a${number} NO [TRYCREATE]` : `a${number} OK [APPENDUID ${++uid}]`
  )
  const replies = lines
    .filter((line) => /^a\d+ /.test(line))
    .map((line) => line.replace(/(?<=APPENDUID )\d+ /, '').replace(/\].*/, ']'))
  assert.deepEqual(replies, expected)
  assert.deepEqual(
    lines.filter((line) => line.startsWith('Subject: ')),
    numbers.filter((number) => !isRefused(number)).map((number) => `Subject: ${number}`)
  )
})

test('APPENDs sent without waiting that are over quota together are refused each by itself', async (t) => {
  const server = await startImapServer(t, { settings: { 'accounts.quotaMessages': 2 } })
  const client = await LineClient.connect(server)
  t.after(() => client.close())
  await client.login()
  const appends = [1, 2, 3, 4].map((number) => `a${number} APPEND INBOX {5+}\r\nx: y\n\r\n`)
  client.send(`${appends.join('')}f NOOP\r\n`)
  /** @type {string[]} */
  const lines = []
  while (!lines.at(-1)?.startsWith('f ')) lines.push((await client.line()) ?? 'f closed')
  assert.deepEqual(
    lines.map((line) => line.replace(/APPENDUID.*/, 'APPENDUID').replace(/\].*/, ']')),
    ['a1 OK [APPENDUID', 'a2 OK [APPENDUID', 'a3 NO [OVERQUOTA]', 'a4 NO [OVERQUOTA]', lines.at(-1)]
  )
  assert.match(String(lines.at(-1)), /^f OK/)
})

test('APPEND keeps the message when no keyword is free any more, with the flags that there are (RFC 9051 §6.3.12)', async (t) => {
  const server = await startImapServer(t)
  const keywords = Array.from({ length: 58 }, (_, index) => `k${index}`).join(' ')
  await transcript(
    server,
    `
    C: a APPEND INBOX (${keywords}) {4+}
    C: a: 1
    S: a OK ...
    C: b APPEND INBOX (\\Seen k3 last onemore) {4+}
    C: a: 2
    S: b OK ...
    C: c APPEND INBOX (\\Flagged another LAST) {4+}
    C: a: 3
    S: c OK ...
    C: d EXAMINE INBOX
    S: * FLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft ${keywords} last)
    S: * OK [PERMANENTFLAGS ()] ...
    S: * 3 EXISTS
    S: * 3 RECENT
    S: * OK [UNSEEN 1] ...
    S: * OK [UIDVALIDITY ...
    S: * OK [UIDNEXT 4] ...
    S: * OK [HIGHESTMODSEQ ...
    S: * OK [MAILBOXID ...
    S: d OK ...
    C: e FETCH 2:3 FLAGS
    S: * 2 FETCH (FLAGS (\\Seen k3 last \\Recent))
    S: * 3 FETCH (FLAGS (\\Flagged last \\Recent))
    S: e OK ...
    `
  )
})
