import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

const three = Array(3).fill(append('INBOX')).join('\n')

test('FETCH MODSEQ, CHANGEDSINCE and STATUS HIGHESTMODSEQ (RFC 7162 §3.1.4, §3.1.7)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${three}
    ${select('INBOX', { exists: 3, parameters: ' (CONDSTORE)' })}
    C: a FETCH 3 (UID MODSEQ)
    S: * 3 FETCH (UID 3 MODSEQ ({{before}}))
    S: a OK ...
    C: b STORE 1 +FLAGS.SILENT (\\Seen)
    S: * 1 FETCH (UID 1 MODSEQ ({{after}}))
    S: b OK ...
    C: c FETCH 1:* (FLAGS) (CHANGEDSINCE {{before}})
    S: * 1 FETCH (FLAGS (\\Seen \\Recent) MODSEQ ({{after}}))
    S: c OK ...
    C: d UID FETCH 1:* (FLAGS) (CHANGEDSINCE {{after}})
    S: d OK ...
    C: e STATUS INBOX (HIGHESTMODSEQ)
    S: * STATUS INBOX (HIGHESTMODSEQ {{after}})
    S: e OK ...
    C: f SEARCH MODSEQ {{after}}
    S: * SEARCH 1 (MODSEQ {{after}})
    S: f OK ...
    C: g SEARCH MODSEQ 99999999
    S: * SEARCH
    S: g OK ...
    `
  )
})

test('whoever knows MODSEQs hears that of what they have appended (RFC 7162 §3.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${select('INBOX', { exists: 0, parameters: ' (CONDSTORE)' })}
    ${select('INBOX', { exists: 0, connection: 2 })}
    1C: a APPEND INBOX {4+}
    1C:
    1C:
    1C:
    1S: * 1 EXISTS
    1S: * 1 RECENT
    1S: * OK [HIGHESTMODSEQ {{appended}}] ...
    1S: a OK [APPENDUID ...
    1C: b UID FETCH 1:* (FLAGS) (CHANGEDSINCE {{appended}})
    1S: b OK ...
    2C: c NOOP
    2S: * 1 EXISTS
    2S: * 0 RECENT
    2S: c OK ...
    `
  )
})

test('STORE UNCHANGEDSINCE leaves alone what has changed, and names it in MODIFIED (RFC 7162 §3.1.3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${three}
    ${select('INBOX', { exists: 3 })}
    ${select('INBOX', { exists: 3, connection: 2 })}
    1C: a FETCH 3 MODSEQ
    1S: * OK [HIGHESTMODSEQ {{known}}] ...
    1S: * 3 FETCH (MODSEQ ({{known}}))
    1S: a OK ...
    2C: a STORE 2 +FLAGS.SILENT (\\Flagged)
    2S: a OK ...
    1C: b STORE 1:2 (UNCHANGEDSINCE {{known}}) +FLAGS (\\Seen)
    1S: * 1 FETCH (UID 1 FLAGS (\\Seen \\Recent) MODSEQ ({{new}}))
    1S: * 2 FETCH (UID 2 FLAGS (\\Flagged \\Recent) MODSEQ (...))
    1S: b OK [MODIFIED 2] ...
    1C: c UID STORE 2:3 (UNCHANGEDSINCE {{known}}) +FLAGS.SILENT (\\Answered)
    1S: * 3 FETCH (UID 3 MODSEQ (...))
    1S: * 2 FETCH (UID 2 FLAGS (\\Flagged \\Recent) MODSEQ (...))
    1S: c OK [MODIFIED 2] ...
    1C: d STORE 1 (UNCHANGEDSINCE 0) +FLAGS (\\Deleted)
    1S: * 1 FETCH (UID 1 FLAGS (\\Seen \\Recent) MODSEQ ({{new}}))
    1S: d OK [MODIFIED 1] ...
    2C: b NOOP
    2S: * 1 FETCH (FLAGS (\\Seen))
    2S: * 3 FETCH (FLAGS (\\Answered))
    2S: b OK ...
    `
  )
})

test('MODIFIED has message numbers after STORE and UIDs after UID STORE (RFC 7162 §3.1.3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${three}
    ${select('INBOX', { exists: 3, parameters: ' (CONDSTORE)' })}
    C: a STORE 1 +FLAGS.SILENT (\\Deleted)
    S: * 1 FETCH (UID 1 MODSEQ (...))
    S: a OK ...
    C: b EXPUNGE
    S: * 1 EXPUNGE
    S: * 2 RECENT
    S: b OK ...
    C: c STORE 1:2 (UNCHANGEDSINCE 1) +FLAGS.SILENT (\\Seen)
    S: * 1 FETCH (UID 2 FLAGS (\\Recent) MODSEQ (...))
    S: * 2 FETCH (UID 3 FLAGS (\\Recent) MODSEQ (...))
    S: c OK [MODIFIED 1:2] ...
    C: d UID STORE 2:3 (UNCHANGEDSINCE 1) +FLAGS.SILENT (\\Seen)
    S: * 1 FETCH (UID 2 FLAGS (\\Recent) MODSEQ (...))
    S: * 2 FETCH (UID 3 FLAGS (\\Recent) MODSEQ (...))
    S: d OK [MODIFIED 2:3] ...
    `
  )
})

test('a client that was away learns from MODIFIED what has changed meanwhile (RFC 7162 §3.1.3, example 10)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${three}
    1C: a STATUS INBOX (HIGHESTMODSEQ)
    1S: * STATUS INBOX (HIGHESTMODSEQ {{known}})
    1S: a OK ...
    ${select('INBOX', { exists: 3, connection: 2 })}
    2C: a STORE 2:3 +FLAGS.SILENT (\\Flagged)
    2S: a OK ...
    ${select('INBOX', { exists: 3 })}
    1C: b UID STORE 1:2 (UNCHANGEDSINCE {{known}}) +FLAGS.SILENT (\\Seen)
    1S: * 1 FETCH (UID 1 MODSEQ (...))
    1S: * 2 FETCH (UID 2 FLAGS (\\Flagged) MODSEQ (...))
    1S: b OK [MODIFIED 2] ...
    `
  )
})

test('each way of enabling CONDSTORE makes unsolicited FETCH carry the MODSEQ (RFC 7162 §3.1)', async (t) => {
  for (const [command, answer] of [
    ['ENABLE CONDSTORE', '* ENABLED CONDSTORE'],
    ['STATUS Trash (HIGHESTMODSEQ)', '* STATUS Trash (HIGHESTMODSEQ ...)'],
    ['FETCH 1 (MODSEQ)', '* 1 FETCH (MODSEQ (...))'],
    ['FETCH 1 (FLAGS) (CHANGEDSINCE 999999)', null],
    ['SEARCH MODSEQ 999999', '* SEARCH']
  ]) {
    const server = await startImapServer(t)
    await transcript(
      server,
      `
      ${append('INBOX')}
      ${select('INBOX', { exists: 1 })}
      ${select('INBOX', { exists: 1, connection: 2 })}
      2C: a ${command}
      2S: * OK [HIGHESTMODSEQ ...
      ${answer === null ? '' : `2S: ${answer}`}
      2S: a OK ...
      1C: b STORE 1 +FLAGS.SILENT (\\Seen)
      1S: b OK ...
      2C: b NOOP
      2S: * 1 FETCH (UID 1 FLAGS (\\Seen) MODSEQ (...))
      2S: b OK ...
      `
    )
  }
})

test('an implicit \\Seen tells its MODSEQ where CONDSTORE is on', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${select('INBOX', { exists: 1, parameters: ' (CONDSTORE)' })}
    C: a FETCH 1 (MODSEQ BODY.PEEK[TEXT]<0.1>)
    S: * 1 FETCH (MODSEQ ({{old}}) BODY[TEXT]<0> {1}
    S: b)
    S: a OK ...
    C: b FETCH 1 BODY[TEXT]<0.1>
    S: * 1 FETCH (UID 1 FLAGS (\\Seen \\Recent) MODSEQ ({{new}}) BODY[TEXT]<0> {1}
    S: b)
    S: b OK ...
    C: c FETCH 1 MODSEQ
    S: * 1 FETCH (MODSEQ ({{new}}))
    S: c OK ...
    `
  )
})

test('a STATUS that asks for HIGHESTMODSEQ enables CONDSTORE, also where there is no such mailbox (RFC 7162 §3.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${select('INBOX', { exists: 1 })}
    C: a STATUS nowhere (HIGHESTMODSEQ)
    S: * OK [HIGHESTMODSEQ ...
    S: a NO ...
    C: b STORE 1 +FLAGS (\\Seen)
    S: * 1 FETCH (UID 1 FLAGS (\\Seen \\Recent) MODSEQ (...))
    S: b OK ...
    `
  )
})
