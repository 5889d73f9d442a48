import { test } from 'node:test'
import { append, enableRev2, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('SEARCH without RETURN answers ESEARCH with ALL, and without it where nothing is found (RFC 9051 §6.4.4, §7.3.4)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { flags: '\\Deleted' })}
    ${append('INBOX', { flags: '\\Seen' })}
    ${append('INBOX')}
    ${append('INBOX', { flags: '\\Seen' })}
    ${enableRev2()}
    ${select('INBOX', { exists: 4, isRev2: true })}
    C: x EXPUNGE
    S: * 1 EXPUNGE
    S: x OK ...
    C: a1 SEARCH SEEN
    S: * ESEARCH (TAG "a1") ALL 1,3
    S: a1 OK SEARCH completed
    C: a2 UID SEARCH ALL
    S: * ESEARCH (TAG "a2") UID ALL 2:4
    S: a2 OK UID SEARCH completed
    C: a3 SEARCH TEXT "string not in mailbox"
    S: * ESEARCH (TAG "a3")
    S: a3 OK ...
    C: a4 UID SEARCH FLAGGED
    S: * ESEARCH (TAG "a4") UID
    S: a4 OK ...
    C: a5 SEARCH RETURN () UNSEEN
    S: * ESEARCH (TAG "a5") ALL 2
    S: a5 OK ...
    C: a6 SEARCH RETURN (MIN COUNT) ALL
    S: * ESEARCH (TAG "a6") MIN 1 COUNT 3
    S: a6 OK ...
    C: a7 SEARCH RETURN (SAVE) SEEN
    S: a7 OK ...
    C: a8 UID SEARCH $
    S: * ESEARCH (TAG "a8") UID ALL 2,4
    S: a8 OK ...
    C: a9 SEARCH LARGER 9223372036854775807
    S: * ESEARCH (TAG "a9")
    S: a9 OK ...
    C: b1 UID SEARCH MODSEQ 1
    S: * OK [HIGHESTMODSEQ ...
    S: * ESEARCH (TAG "b1") UID ALL 2:4 MODSEQ ...
    S: b1 OK ...
    `
  )
})

test('a SEARCH without RETURN does not change what $ stands for (RFC 9051 §6.4.4.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { flags: '\\Seen' })}
    ${append('INBOX')}
    ${enableRev2()}
    ${select('INBOX', { exists: 2, isRev2: true })}
    C: a SEARCH RETURN (SAVE) SEEN
    S: a OK ...
    C: b SEARCH UNSEEN
    S: * ESEARCH (TAG "b") ALL 2
    S: b OK ...
    C: c FETCH $ UID
    S: * 1 FETCH (UID 1)
    S: c OK ...
    `
  )
})

test('without CHARSET a search is in UTF-8; CHARSET may still be named (RFC 9051 §6.4.4)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { message: 'Subject: =?UTF-8?Q?Gr=C3=BC=C3=9Fe?=\r\n\r\nx\r\n' })}
    ${append('INBOX')}
    ${enableRev2()}
    ${select('INBOX', { exists: 2, isRev2: true })}
    C: a SEARCH SUBJECT "grüße"
    S: * ESEARCH (TAG "a") ALL 1
    S: a OK ...
    C: b SEARCH SUBJECT {7+}
    C: grüße
    S: * ESEARCH (TAG "b") ALL 1
    S: b OK ...
    C: c SEARCH CHARSET UTF-8 SUBJECT "grüße"
    S: * ESEARCH (TAG "c") ALL 1
    S: c OK ...
    C: d SEARCH CHARSET US-ASCII SUBJECT x
    S: * ESEARCH (TAG "d") ALL 2
    S: d OK ...
    C: e SEARCH CHARSET X-NONE SUBJECT x
    S: e NO [BADCHARSET] ...
    `
  )
})

test('the keys that IMAP4rev2 has no more are answered: no message is recent (RFC 9051 Appendix A)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${enableRev2()}
    ${select('INBOX', { exists: 1, isRev2: true })}
    C: a SEARCH NEW
    S: * ESEARCH (TAG "a")
    S: a OK ...
    C: b SEARCH RECENT
    S: * ESEARCH (TAG "b")
    S: b OK ...
    C: c SEARCH OLD
    S: * ESEARCH (TAG "c") ALL 1
    S: c OK ...
    C: d FETCH 1 (RFC822.HEADER RFC822.TEXT)
    S: * 1 FETCH (FLAGS (\\Seen) RFC822.HEADER {14}
    S: Subject: x
    S: 
    S:  RFC822.TEXT {6}
    S: body
    S: )
    S: d OK ...
    C: e CHECK
    S: e OK ...
    C: f LSUB "" Sent
    S: * LSUB () "/" Sent
    S: f OK ...
    `
  )
})

test('SORT and THREAD answer as ever (RFC 5256 §4)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${enableRev2()}
    ${select('INBOX', { exists: 1, isRev2: true })}
    C: a SORT (ARRIVAL) UTF-8 ALL
    S: * SORT 1
    S: a OK ...
    C: b THREAD REFERENCES UTF-8 ALL
    S: * THREAD (1)
    S: b OK ...
    C: c SORT RETURN (ALL) (ARRIVAL) UTF-8 ALL
    S: * ESEARCH (TAG "c") ALL 1
    S: c OK ...
    `
  )
})
