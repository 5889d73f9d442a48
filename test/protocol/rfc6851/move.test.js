import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('MOVE: COPYUID first, then EXPUNGE, then OK (RFC 6851 §4.3); others hear of both', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${append('INBOX', { flags: '\\Flagged' })}
    ${append('INBOX')}
    ${select('INBOX', { exists: 3 })}
    ${select('Trash', { exists: 0, connection: 2 })}
    1C: a UID MOVE 2:3 Trash
    1S: * OK [COPYUID {{validity}} 2:3 1:2] ...
    1S: * 3 EXPUNGE
    1S: * 2 EXPUNGE
    1S: * 1 RECENT
    1S: a OK ...
    2C: a NOOP
    2S: * 2 EXISTS
    2S: * 2 RECENT
    2S: a OK ...
    2C: b FETCH 1 FLAGS
    2S: * 1 FETCH (FLAGS (\\Flagged \\Recent))
    2S: b OK ...
    1C: b MOVE 1 nowhere
    1S: b NO [TRYCREATE] ...
    1C: c MOVE 1 INBOX
    1S: * OK [COPYUID ... 1 4] ...
    1S: * 1 EXPUNGE
    1S: * 1 EXISTS
    1S: * 1 RECENT
    1S: c OK ...
    `
  )
})

test('MOVE of nothing is OK: iOS shows ghosts otherwise', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${select('INBOX', { exists: 1 })}
    C: a UID MOVE 55 Trash
    S: a OK ...
    `
  )
})

test('MOVE tells the mod-sequence of the mailbox without them where QRESYNC is on (RFC 6851 §4.4)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX')}
    ${append('INBOX')}
    ${append('INBOX')}
    C: e ENABLE QRESYNC
    S: * ENABLED QRESYNC
    S: e OK ...
    ${select('INBOX', { exists: 3 })}
    C: a UID MOVE 2 Trash
    S: * OK [COPYUID ... 2 1] ...
    S: * VANISHED 2
    S: * 2 RECENT
    S: a OK [HIGHESTMODSEQ {{first}}] ...
    C: b STATUS INBOX (HIGHESTMODSEQ)
    S: * STATUS INBOX (HIGHESTMODSEQ {{first}})
    S: b OK ...
    C: c MOVE 1 Trash
    S: * OK [COPYUID ... 1 2] ...
    S: * VANISHED 1
    S: * 1 RECENT
    S: c OK [HIGHESTMODSEQ {{second}}] ...
    C: d STATUS INBOX (HIGHESTMODSEQ)
    S: * STATUS INBOX (HIGHESTMODSEQ {{second}})
    S: d OK ...
    C: e UID MOVE 55 Trash
    S: e OK UID ...
    `
  )
})
