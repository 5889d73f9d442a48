import assert from 'node:assert/strict'
import { test } from 'node:test'
import { append, enableRev2, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { LineClient, transcript } from '../../helpers/transcript.js'

const latin1 = (/** @type {string} */ text) => Buffer.from(text).toString('latin1')
const composed = latin1('Entwürfe')
const decomposed = latin1('Entwu\u0308rfe')

test('names are UTF-8 both ways, and & stands for itself; other sessions keep modified UTF-7 (RFC 9051 §5.1, Appendix A.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${enableRev2()}
    C: a CREATE "Entwürfe"
    S: a OK ...
    C: b CREATE "Q&A"
    S: b OK ...
    C: c LIST "" "(ü)"
    S: c OK ...
    C: d LIST "" "Entwü*"
    S: * LIST (\\HasNoChildren) "/" "${composed}"
    S: d OK ...
    C: e STATUS {9+}
    C: Entwürfe (MESSAGES)
    S: * STATUS "${composed}" (MESSAGES 0)
    S: e OK ...
    C: f STATUS Entw&APw-rfe (MESSAGES)
    S: f NO [NONEXISTENT] ...
    C: g GETQUOTAROOT "Entwürfe"
    S: * QUOTAROOT "${composed}" ...
    S: * QUOTA ...
    S: g OK ...
    C: h SUBSCRIBE "Entwürfe"
    S: h OK ...
    C: i LSUB "" Entw*
    S: * LSUB () "/" "${composed}"
    S: i OK ...
    2C: a LIST "" (Entw* Q*)
    2S: * LIST (\\HasNoChildren) "/" Entw&APw-rfe
    2S: * LIST (\\HasNoChildren) "/" Q&-A
    2S: a OK ...
    `
  )
})

test('what is no UTF-8 is refused: BAD in a quoted string, NO as a name (RFC 9051 §5.1, §9)', async (t) => {
  const server = await startImapServer(t)
  const client = await LineClient.connect(server)
  await client.login()
  await client.command('ENABLE IMAP4rev2')
  for (const [command, reply] of /** @type {const} */ ([
    ['CREATE "\xe4"', /^t BAD /],
    ['CREATE {1+}\r\n\xe4', /^t NO \[CANNOT\]/],
    ['CREATE "\xc2\x85"', /^t NO \[CANNOT\]/]
  ])) {
    client.send(Buffer.from(`t ${command}\r\n`, 'latin1'))
    assert.match((await client.line()) ?? 'closed', reply, command)
  }
  client.close()
})

test('CREATE, DELETE and APPEND of a name in another spelling tell both (RFC 9051 §6.3.4, §6.3.5, §6.3.12)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${enableRev2()}
    C: a CREATE "Entwu\u0308rfe"
    S: * LIST (\\HasNoChildren) "/" "${composed}" ("OLDNAME" ("${decomposed}"))
    S: a OK [MAILBOXID ...
    C: b APPEND "Entwu\u0308rfe" {6+}
    C: s: x
    C: 
    S: * LIST (\\HasNoChildren) "/" "${composed}" ("OLDNAME" ("${decomposed}"))
    S: b OK [APPENDUID ...
    C: c CREATE "Entwürfe"
    S: c NO [ALREADYEXISTS] ...
    C: d CREATE "Entwu\u0308rfe"
    S: d NO [ALREADYEXISTS] ...
    C: e CREATE inbox/Post/
    S: * LIST (\\HasNoChildren) "/" INBOX/Post ("OLDNAME" (inbox/Post/))
    S: e OK ...
    C: f CREATE Letters/
    S: f OK ...
    C: g DELETE "Entwu\u0308rfe"
    S: * LIST (\\NonExistent) "/" "${composed}" ("OLDNAME" ("${decomposed}"))
    S: g OK ...
    C: h DELETE "Entwu\u0308rfe"
    S: h NO [NONEXISTENT] ...
    C: i DELETE Letters
    S: i OK ...
    `
  )
})

test('RENAME tells the old name as it was given, where either was in another spelling (RFC 9051 §6.3.6)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${enableRev2()}
    C: a CREATE "Entwürfe"
    S: a OK ...
    C: b RENAME "Entwu\u0308rfe" Post
    S: * LIST (\\HasNoChildren) "/" Post ("OLDNAME" ("${decomposed}"))
    S: b OK ...
    C: c RENAME Post "Entwu\u0308rfe"
    S: * LIST (\\HasNoChildren) "/" "${composed}" ("OLDNAME" (Post))
    S: c OK ...
    C: d RENAME "Entwürfe" Post
    S: d OK ...
    C: e RENAME inbox Old
    S: e OK ...
    `
  )
})

test('without IMAP4rev2 no other spelling is told of (RFC 9051 §7.2.2)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a ENABLE UTF8=ACCEPT
    S: * ENABLED UTF8=ACCEPT
    S: a OK ...
    C: b CREATE "Entwu\u0308rfe"
    S: b OK ...
    C: c RENAME "Entwu\u0308rfe" Post
    S: c OK ...
    C: d DELETE Post
    S: d OK ...
    `
  )
})

test('a level above a mailbox is \\NonExistent, also where LIST is asked as of old (RFC 9051 §6.3.9.6, §7.3.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a CREATE Music/Rock
    S: a OK ...
    C: b DELETE Music
    S: b OK ...
    C: c LIST "" Mus%
    S: * LIST (\\Noselect \\HasChildren) "/" Music
    S: c OK ...
    ${enableRev2()}
    C: d LIST "" Mus%
    S: * LIST (\\NonExistent \\HasChildren) "/" Music
    S: d OK ...
    C: e LIST "" ""
    S: * LIST (\\Noselect) "/" ""
    S: e OK ...
    C: f DELETE Music
    S: f NO [HASCHILDREN] ...
    C: g SELECT Music
    S: g NO [NONEXISTENT] ...
    C: h LIST (SUBSCRIBED RECURSIVEMATCH) "" % RETURN (CHILDREN STATUS (MESSAGES DELETED SIZE))
    S: * LIST (\\HasNoChildren \\Subscribed) "/" INBOX
    S: * STATUS INBOX (MESSAGES 0 DELETED 0 SIZE 0)
    S: * LIST (\\HasNoChildren \\Archive \\Subscribed) "/" Archive
    S: * STATUS Archive (MESSAGES 0 DELETED 0 SIZE 0)
    S: * LIST (\\HasNoChildren \\Drafts \\Subscribed) "/" Drafts
    S: * STATUS Drafts (MESSAGES 0 DELETED 0 SIZE 0)
    S: * LIST (\\HasNoChildren \\Junk \\Subscribed) "/" Junk
    S: * STATUS Junk (MESSAGES 0 DELETED 0 SIZE 0)
    S: * LIST (\\HasNoChildren \\Sent \\Subscribed) "/" Sent
    S: * STATUS Sent (MESSAGES 0 DELETED 0 SIZE 0)
    S: * LIST (\\HasNoChildren \\Trash \\Subscribed) "/" Trash
    S: * STATUS Trash (MESSAGES 0 DELETED 0 SIZE 0)
    S: h OK ...
    `
  )
})

test('STATUS counts \\Deleted and bytes, with and without IMAP4rev2 (RFC 9051 §6.3.11)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('Archive', { flags: '\\Deleted' })}
    ${append('Archive')}
    C: a STATUS Archive (DELETED SIZE)
    S: * STATUS Archive (DELETED 1 SIZE 40)
    S: a OK ...
    ${enableRev2()}
    C: b STATUS Archive (MESSAGES UIDNEXT UIDVALIDITY UNSEEN DELETED SIZE)
    S: * STATUS Archive (MESSAGES 2 UIDNEXT 3 UIDVALIDITY ... UNSEEN 2 DELETED 1 SIZE 40)
    S: b OK ...
    `
  )
})

test('MOVE tells COPYUID before EXPUNGE; a target that is missing may be created (RFC 9051 §6.4.7, §6.4.8)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${append('INBOX')}
    ${enableRev2()}
    ${select('INBOX', { exists: 2, isRev2: true })}
    C: a MOVE 1 Nowhere
    S: a NO [TRYCREATE] ...
    C: b COPY 1 Nowhere
    S: b NO [TRYCREATE] ...
    C: c MOVE 1 Trash
    S: * OK [COPYUID ... 1 1] ...
    S: * 1 EXPUNGE
    S: c OK ...
    C: d UID MOVE 2 Trash
    S: * OK [COPYUID ... 2 2] ...
    S: * 1 EXPUNGE
    S: d OK ...
    C: e UID MOVE 7 Trash
    S: e OK ...
    `
  )
})

test('go-imap sends UTF-8 as soon as IMAP4rev2 is announced, and &- for &: it finds its mailboxes (RFC 9051 Appendix A)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a CREATE "Größe &- Co"
    S: a OK ...
    C: b LIST "" "Größe &- %"
    S: * LIST (\\HasNoChildren) "/" "Gr&APYA3w-e &- Co"
    S: b OK ...
    C: c CREATE "Q&-A"
    S: c OK ...
    C: d STATUS "Größe &- Co" (MESSAGES)
    S: * STATUS "Gr&APYA3w-e &- Co" (MESSAGES 0)
    S: d OK ...
    `
  )
})
