import { test } from 'node:test'
import assert from 'node:assert/strict'
import { append, select } from '../../helpers/dialogue.js'
import { loggedIn } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'
import { turnsDuring } from '../../helpers/turns.js'

test('MAILBOXID is told by CREATE, SELECT and STATUS, stays with RENAME, and never comes back (RFC 8474 §4)', async (t) => {
  const server = await startImapServer(t)
  const variables = await transcript(
    server,
    `
    C: a CREATE one/two
    S: a OK [MAILBOXID ({{id}})] ...
    C: b STATUS one/two (MAILBOXID MESSAGES)
    S: * STATUS one/two (MAILBOXID ({{id}}) MESSAGES 0)
    S: b OK ...
    C: c RENAME one/two three
    S: c OK ...
    C: d LIST "" three RETURN (STATUS (MAILBOXID))
    S: * LIST (...) "/" three
    S: * STATUS three (MAILBOXID ({{id}}))
    S: d OK ...
    C: e SELECT three
    S: * FLAGS ...
    S: * OK [PERMANENTFLAGS ...
    S: * 0 EXISTS
    S: * 0 RECENT
    S: * OK [UIDVALIDITY ...
    S: * OK [UIDNEXT ...
    S: * OK [HIGHESTMODSEQ ...
    S: * OK [MAILBOXID ({{id}})] ...
    S: e OK ...
    C: f UNSELECT
    S: f OK ...
    C: g DELETE three
    S: g OK ...
    C: h CREATE three
    S: h OK [MAILBOXID ({{other}})] ...
    `
  )
  assert.match(variables.get('id') ?? '', /^[A-Za-z0-9_-]{1,255}$/)
  assert.notEqual(variables.get('id'), variables.get('other'))
})

test('EMAILID is the same for equal bytes, wherever they lie, and no other (RFC 8474 §5.1)', async (t) => {
  const server = await startImapServer(t)
  const other = 'Subject: other\r\n\r\nother\r\n'
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${append('INBOX', { message: other })}
    ${append('INBOX', { flags: '\\Seen' })}
    ${select('INBOX', { exists: 3 })}
    C: a FETCH 1:3 (EMAILID THREADID)
    S: * 1 FETCH (EMAILID ({{first}}) THREADID ({{thread}}))
    S: * 2 FETCH (EMAILID ({{second}}) THREADID ({{another}}))
    S: * 3 FETCH (EMAILID ({{first}}) THREADID ({{thread}}))
    S: a OK ...
    C: b MOVE 1:2 Archive
    S: * OK [COPYUID ...
    S: * 2 EXPUNGE
    S: * 1 EXPUNGE
    S: * 1 RECENT
    S: b OK ...
    C: c UID FETCH 3 THREADID
    S: * 1 FETCH (UID 3 THREADID ({{thread}}))
    S: c OK ...
    C: d UID SEARCH EMAILID {{first}}
    S: * SEARCH 3
    S: d OK ...
    ${select('Archive', { exists: 2, isAnother: true })}
    C: e FETCH 2 EMAILID
    S: * 2 FETCH (EMAILID ({{second}}))
    S: e OK ...
    C: f SEARCH RETURN () OR EMAILID {{second}} EMAILID {{first}}
    S: * ESEARCH (TAG "f") ALL 1:2
    S: f OK ...
    C: g SEARCH NOT EMAILID {{second}}
    S: * SEARCH 1
    S: g OK ...
    C: h SEARCH OR THREADID T999999 THREADID none
    S: * SEARCH
    S: h OK ...
    C: i SEARCH EMAILID M99999999999999999999
    S: * SEARCH
    S: i OK ...
    C: j SEARCH EMAILID none
    S: * SEARCH
    S: j OK ...
    C: k SEARCH EMAILID "not one"
    S: k BAD ...
    C: l SEARCH THREADID
    S: l BAD ...
    `
  )
})

test('THREADID names the message that a thread began with, in every mailbox; SEARCH finds the messages of a thread (RFC 8474 §5.2)', async (t) => {
  const server = await startImapServer(t)
  const message = (/** @type {string[]} */ ...fields) => `${fields.join('\r\n')}\r\n\r\nbody\r\n`
  const variables = await transcript(
    server,
    `
    ${append('INBOX', { message: message('Message-ID: <a@x>') })}
    ${append('INBOX', { message: message('Message-ID: <b@x>', 'In-Reply-To: <a@x>') })}
    ${append('INBOX', { message: message('Message-ID: <c@x>', 'In-Reply-To: <b@x>', 'References: <a@x> <b@x>') })}
    ${append('INBOX', { message: message('Message-ID: <A@x>', 'Subject: other') })}
    ${append('INBOX', { message: message('Subject: nothing named') })}
    ${append('Sent', { message: message('Message-ID: <d@x>', 'References:  <a@x>', ' <c@x>') })}
    ${select('INBOX', { exists: 5 })}
    C: a FETCH 1:5 THREADID
    S: * 1 FETCH (THREADID ({{thread}}))
    S: * 2 FETCH (THREADID ({{thread}}))
    S: * 3 FETCH (THREADID ({{thread}}))
    S: * 4 FETCH (THREADID ({{other}}))
    S: * 5 FETCH (THREADID ({{alone}}))
    S: a OK ...
    C: b UID SEARCH THREADID {{thread}}
    S: * SEARCH 1 2 3
    S: b OK ...
    C: c SEARCH RETURN (COUNT ALL) OR THREADID {{alone}} THREADID {{other}}
    S: * ESEARCH (TAG "c") ALL 4:5 COUNT 2
    S: c OK ...
    C: d SEARCH NOT THREADID {{thread}} NOT THREADID {{other}}
    S: * SEARCH 5
    S: d OK ...
    C: e UID MOVE 2 Sent
    S: * OK [COPYUID ...
    S: * 2 EXPUNGE
    S: * 4 RECENT
    S: e OK ...
    C: f UID SEARCH THREADID {{thread}}
    S: * SEARCH 1 3
    S: f OK ...
    ${select('Sent', { exists: 2, isAnother: true })}
    C: g UID FETCH 1:* (FLAGS THREADID BODY.PEEK[HEADER.FIELDS (Message-ID)])
    S: * 1 FETCH (UID 1 FLAGS (...) THREADID ({{thread}}) BODY[HEADER.FIELDS (MESSAGE-ID)] {21}
    S: Message-ID: <d@x>
    S:
    S: )
    S: * 2 FETCH (UID 2 FLAGS (...) THREADID ({{thread}}) BODY[HEADER.FIELDS (MESSAGE-ID)] {21}
    S: Message-ID: <b@x>
    S:
    S: )
    S: g OK ...
    C: h UID SEARCH THREADID {{other}}
    S: * SEARCH
    S: h OK ...
    C: i SORT (SUBJECT) UTF-8 THREADID {{thread}}
    S: * SORT 1 2
    S: i OK ...
    `
  )
  const ids = ['thread', 'other', 'alone'].map((name) => variables.get(name) ?? '')
  assert.equal(new Set(ids).size, 3)
  for (const id of ids) assert.match(id, /^T[A-Za-z0-9_-]{1,254}$/)
})

test('a search for a thread gives others their turn, however many messages there are', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  const messages = Array.from({ length: 3000 }, (_, nth) => {
    const text = `Message-ID: <${nth}@x>\r\nReferences: <${nth % 7}@x>\r\n\r\n`
    return ` {${text.length}+}\r\n${text}`
  })
  await client.command(`APPEND INBOX${messages.join('')}`)
  await client.command('SELECT INBOX')
  const [, id = ''] = /THREADID \((.+?)\)/.exec(await client.command('FETCH 3000 THREADID')) ?? []
  const search = `UID SEARCH RETURN (COUNT) THREADID ${id}`
  const { answer, turns } = await turnsDuring(t, () => client.command(search))
  assert.match(answer, /^\* ESEARCH \(TAG "[^"]+"\) UID COUNT 429\r\n/)
  assert.ok(turns >= 5, `${turns} turns`)
})

test('no mailbox shares its MAILBOXID with another', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  t.after(() => client.close())
  await client.login()
  const lines = await client.command('LIST "" "*" RETURN (STATUS (MAILBOXID))')
  const ids = lines.flatMap((line) => /MAILBOXID \((.+?)\)/.exec(line)?.[1] ?? [])
  assert.equal(ids.length, 6)
  assert.equal(new Set(ids).size, 6)
})

test('thousands of EMAILIDs in one search let others have their turn', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  await client.command('APPEND INBOX', Buffer.from('Subject: one\r\n\r\nx'))
  await client.command('SELECT INBOX')
  const ids = Array.from({ length: 4000 }, (_, nth) => `EMAILID M${nth + 1000}`)
  const search = `SEARCH OR ALL (${ids.join(' ')})`
  const { answer, turns } = await turnsDuring(t, () => client.command(search))
  assert.match(answer, /^\* SEARCH 1\r\n/)
  assert.ok(turns >= 500, `${turns} turns`)
})
