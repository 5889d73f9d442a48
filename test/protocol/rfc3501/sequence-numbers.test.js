import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

const five = Array(5).fill(append('INBOX')).join('\n')

test('EXPUNGE removes what is \\Deleted, highest number first', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${five}
    ${select('INBOX', { exists: 5 })}
    C: a STORE 1,3,4 +FLAGS.SILENT (\\Deleted)
    S: a OK ...
    C: b EXPUNGE
    S: * 4 EXPUNGE
    S: * 3 EXPUNGE
    S: * 1 EXPUNGE
    S: * 2 RECENT
    S: b OK ...
    C: c FETCH 1:* UID
    S: * 1 FETCH (UID 2)
    S: * 2 FETCH (UID 5)
    S: c OK ...
    C: d EXPUNGE
    S: d OK ...
    `
  )
})

test('no EXPUNGE is told during FETCH, STORE and SEARCH; the numbers stay until it is (RFC 3501 §7.4.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${five}
    ${select('INBOX', { exists: 5 })}
    ${select('INBOX', { exists: 5, connection: 2 })}
    1C: a STORE 2 +FLAGS.SILENT (\\Deleted)
    1S: a OK ...
    1C: b EXPUNGE
    1S: * 2 EXPUNGE
    1S: * 4 RECENT
    1S: b OK ...
    2C: a FETCH 5 UID
    2S: * 5 FETCH (UID 5)
    2S: a OK FETCH completed
    2C: b FETCH 1:3 UID
    2S: * 1 FETCH (UID 1)
    2S: * 3 FETCH (UID 3)
    2S: b OK [EXPUNGEISSUED] ...
    2C: c STORE 2:3 +FLAGS (\\Seen)
    2S: * 3 FETCH (FLAGS (\\Seen))
    2S: c OK [EXPUNGEISSUED] ...
    2C: d SEARCH 3:5
    2S: * SEARCH 3 4 5
    2S: d OK ...
    2C: e COPY 2 Trash
    2S: * 2 EXPUNGE
    2S: e NO [EXPUNGEISSUED] ...
    2C: f FETCH 2:4 UID
    2S: * 2 FETCH (UID 3)
    2S: * 3 FETCH (UID 4)
    2S: * 4 FETCH (UID 5)
    2S: f OK FETCH completed
    1C: c NOOP
    1S: * 2 FETCH (FLAGS (\\Seen \\Recent))
    1S: c OK ...
    `
  )
})

test('UID commands may tell EXPUNGE (RFC 3501 §7.4.1: they are not FETCH, STORE and SEARCH)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${five}
    ${select('INBOX', { exists: 5 })}
    ${select('INBOX', { exists: 5, connection: 2 })}
    1C: a STORE 1 +FLAGS.SILENT (\\Deleted)
    1S: a OK ...
    1C: b EXPUNGE
    1S: * 1 EXPUNGE
    1S: * 4 RECENT
    1S: b OK ...
    2C: a UID FETCH 1:3 UID
    2S: * 2 FETCH (UID 2)
    2S: * 3 FETCH (UID 3)
    2S: * 1 EXPUNGE
    2S: a OK ...
    2C: b UID FETCH 2 UID
    2S: * 1 FETCH (UID 2)
    2S: b OK ...
    1C: c STORE 1 +FLAGS.SILENT (\\Deleted)
    1S: c OK ...
    1C: d EXPUNGE
    1S: * 1 EXPUNGE
    1S: * 3 RECENT
    1S: d OK ...
    2C: c UID STORE 3 +FLAGS.SILENT (\\Seen)
    2S: * 1 EXPUNGE
    2S: c OK ...
    `
  )
})

test('EXISTS counts what is still numbered: first the expunge, then the arrival', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${five}
    ${select('INBOX', { exists: 5 })}
    ${select('INBOX', { exists: 5, connection: 2 })}
    1C: a STORE 5 +FLAGS.SILENT (\\Deleted)
    1S: a OK ...
    1C: b EXPUNGE
    1S: * 5 EXPUNGE
    1S: * 4 RECENT
    1S: b OK ...
    3C: ap APPEND INBOX {4+}
    3C: a: b
    3S: ap OK ...
    2C: a FETCH 1 UID
    2S: * 1 FETCH (UID 1)
    2S: * 6 EXISTS
    2S: * 1 RECENT
    2S: a OK ...
    2C: b NOOP
    2S: * 5 EXPUNGE
    2S: b OK ...
    2C: c FETCH 5 UID
    2S: * 5 FETCH (UID 6)
    2S: c OK ...
    1C: c NOOP
    1S: * 5 EXISTS
    1S: * 4 RECENT
    1S: c OK ...
    `
  )
})

test('both sessions may expunge the same message', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { flags: '\\Deleted' })}
    ${select('INBOX', { exists: 1 })}
    ${select('INBOX', { exists: 1, connection: 2 })}
    1C: a EXPUNGE
    1S: * 1 EXPUNGE
    1S: * 0 RECENT
    1S: a OK ...
    2C: a EXPUNGE
    2S: * 1 EXPUNGE
    2S: a OK ...
    `
  )
})
