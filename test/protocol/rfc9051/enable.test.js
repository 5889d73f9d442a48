import { test } from 'node:test'
import { append, enableRev2, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('IMAP4rev2 is announced beside IMAP4rev1, before and after login (RFC 9051 Appendix A)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    S: * OK [CAPABILITY IMAP4rev1 IMAP4rev2 ...
    C: a LOGIN alice "correct horse"
    S: a OK [CAPABILITY IMAP4rev1 IMAP4rev2 ... NAMESPACE UNSELECT ...
    `,
    { login: null }
  )
})

test('ENABLE IMAP4rev2 is answered once, in the order asked for, and leaves CAPABILITY as it was (RFC 9051 §6.3.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a CAPABILITY
    S: * CAPABILITY IMAP4rev1 IMAP4rev2 LITERAL+ ENABLE ID IDLE {{rest}} ...
    S: a OK ...
    C: b ENABLE CONDSTORE imap4REV2 X-NONSENSE UTF8=ACCEPT
    S: * ENABLED CONDSTORE IMAP4rev2 UTF8=ACCEPT
    S: b OK ...
    C: c ENABLE IMAP4rev2 QRESYNC
    S: * ENABLED QRESYNC
    S: c OK ...
    C: d CAPABILITY
    S: * CAPABILITY IMAP4rev1 IMAP4rev2 LITERAL+ ENABLE ID IDLE {{rest}} ...
    S: d OK ...
    C: e ENABLE
    S: e BAD ...
    `
  )
})

test('ENABLE IMAP4rev2 may be sent with LOGIN before it and SELECT behind it (RFC 9051 §6.3.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    S: * OK ...
    C+: a LOGIN alice "correct horse"
    C+: b ENABLE IMAP4rev2
    C: c SELECT INBOX
    S: a OK ...
    S: * ENABLED IMAP4rev2
    S: b OK ...
    S: * FLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft)
    S: * OK [PERMANENTFLAGS ...
    S: * 0 EXISTS
    S: * OK [UIDVALIDITY ...
    S: * OK [UIDNEXT 1] ...
    S: * OK [HIGHESTMODSEQ ...
    S: * OK [MAILBOXID ...
    S: * LIST (\\HasNoChildren \\Subscribed) "/" INBOX
    S: c OK [READ-WRITE] SELECT completed
    `,
    { login: null }
  )
})

test('a session that has not enabled it is answered as in IMAP4rev1, whatever others do (RFC 9051 §7.2.2)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${enableRev2(2)}
    ${select('INBOX', { connection: 2, exists: 1, isRev2: true })}
    1C: a SELECT INBOX
    1S: * FLAGS (\\Answered \\Flagged \\Deleted \\Seen \\Draft)
    1S: * OK [PERMANENTFLAGS ...
    1S: * 1 EXISTS
    1S: * 1 RECENT
    1S: * OK [UNSEEN 1] ...
    1S: * OK [UIDVALIDITY ...
    1S: * OK [UIDNEXT 2] ...
    1S: * OK [HIGHESTMODSEQ ...
    1S: * OK [MAILBOXID ...
    1S: a OK ...
    1C: b SEARCH UNSEEN
    1S: * SEARCH 1
    1S: b OK ...
    1C: c SEARCH DELETED
    1S: * SEARCH
    1S: c OK ...
    1C: d FETCH 1 FLAGS
    1S: * 1 FETCH (FLAGS (\\Recent))
    1S: d OK ...
    1C: e CREATE "Entwu&Awg-rfe"
    1S: e OK ...
    1C: f LIST "" "Entw*"
    1S: * LIST (\\HasNoChildren) "/" Entw&APw-rfe
    1S: f OK ...
    `
  )
})

test('enabled with a mailbox selected, it takes \\Recent away (RFC 9051 §6.3.1, §2.3.2)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${select('INBOX', { exists: 1 })}
    C: a FETCH 1 FLAGS
    S: * 1 FETCH (FLAGS (\\Recent))
    S: a OK ...
    ${enableRev2()}
    C: b FETCH 1 FLAGS
    S: * 1 FETCH (FLAGS ())
    S: b OK ...
    C: c SEARCH RECENT
    S: * ESEARCH (TAG "c")
    S: c OK ...
    `
  )
})
