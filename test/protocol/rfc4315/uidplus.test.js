import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('UID EXPUNGE takes only what is named and \\Deleted (RFC 4315 §2.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { flags: '\\Deleted' })}
    ${append('INBOX', { flags: '\\Deleted' })}
    ${append('INBOX')}
    ${select('INBOX', { exists: 3 })}
    C: a UID EXPUNGE 2:3
    S: * 2 EXPUNGE
    S: * 2 RECENT
    S: a OK ...
    C: b UID EXPUNGE 100:200
    S: b OK ...
    C: c FETCH 1:* UID
    S: * 1 FETCH (UID 1)
    S: * 2 FETCH (UID 3)
    S: c OK ...
    C+: d UID STORE 3 +FLAGS.SILENT (\\Deleted)
    C: e UID EXPUNGE 1:*
    S: d OK ...
    S: * 2 EXPUNGE
    S: * 1 EXPUNGE
    S: * 0 RECENT
    S: e OK ...
    C: f UID EXPUNGE 1:*
    S: f OK ...
    `
  )
})

test('COPY answers COPYUID, keeps flags and date, and misses nothing (RFC 4315 §3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { flags: '\\Seen $Kept', date: '" 1-Jan-2020 00:00:00 +0000"' })}
    ${append('INBOX')}
    ${append('INBOX')}
    ${select('INBOX', { exists: 3 })}
    C: a COPY 1,3 Archive
    S: a OK [COPYUID {{validity}} 1,3 1:2] ...
    C: b UID COPY 2 Archive
    S: b OK [COPYUID {{validity}} 2 3] ...
    C: c UID COPY 99 Archive
    S: c OK COPY ...
    C: d COPY 1 nowhere
    S: d NO [TRYCREATE] ...
    C: e EXAMINE Archive
    S: * OK [CLOSED] ...
    S: * FLAGS (...
    S: * OK [PERMANENTFLAGS ...
    S: * 3 EXISTS
    S: * 3 RECENT
    S: * OK [UNSEEN 2] ...
    S: * OK [UIDVALIDITY {{validity}}] ...
    S: * OK [UIDNEXT 4] ...
    S: * OK [HIGHESTMODSEQ ...
    S: * OK [MAILBOXID ...
    S: e OK ...
    C: f FETCH 1 (FLAGS INTERNALDATE)
    S: * 1 FETCH (FLAGS (\\Seen $Kept \\Recent) INTERNALDATE " 1-Jan-2020 00:00:00 +0000")
    S: f OK ...
    `.replace('S: c OK COPY ...', 'S: c OK UID COPY ...')
  )
})
