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

test('EMAILID is the same for equal bytes, wherever they lie, and no other; THREADID is NIL (RFC 8474 §5)', async (t) => {
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
    S: * 1 FETCH (EMAILID ({{first}}) THREADID NIL)
    S: * 2 FETCH (EMAILID ({{second}}) THREADID NIL)
    S: * 3 FETCH (EMAILID ({{first}}) THREADID NIL)
    S: a OK ...
    C: b MOVE 1:2 Archive
    S: * OK [COPYUID ...
    S: * 2 EXPUNGE
    S: * 1 EXPUNGE
    S: * 1 RECENT
    S: b OK ...
    C: c UID FETCH 3 THREADID
    S: * 1 FETCH (UID 3 THREADID NIL)
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
    C: h SEARCH THREADID T1
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
