/** Whoever loses the connection must not miss an expunge that was held back (RFC 7162 §3.2, §6). */
import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

const enabled = (/** @type {number} */ connection) =>
  `${connection}C: en ENABLE QRESYNC\n${connection}S: * ENABLED QRESYNC\n${connection}S: en OK ...`

/** INBOX with four messages, of which the second connection expunges one; the first has not heard of it yet. */
const heldBack = [
  ...Array(4).fill(append('INBOX')),
  enabled(1),
  enabled(2),
  select('INBOX', { exists: 4 }),
  select('INBOX', { exists: 4, connection: 2 }),
  '2C: d STORE 2 +FLAGS.SILENT (\\Deleted)',
  '2S: * 2 FETCH (UID 2 MODSEQ ({{deleted}}))',
  '2S: d OK ...',
  '1C: n NOOP',
  '1S: * 2 FETCH (UID 2 FLAGS (\\Deleted \\Recent) MODSEQ ({{deleted}}))',
  '1S: n OK ...',
  '2C: x EXPUNGE',
  '2S: * VANISHED 2',
  '2S: x OK [HIGHESTMODSEQ {{expunged}}] ...'
].join('\n')

test('STORE, FETCH and SEARCH say how far a client has been told while VANISHED is held back', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${heldBack}
    1C: a STORE 1 +FLAGS.SILENT (\\Flagged)
    1S: * 1 FETCH (UID 1 MODSEQ ({{own}}))
    1S: * OK [HIGHESTMODSEQ {{deleted}}] ...
    1S: a OK ...
    1C: b FETCH 1 (MODSEQ)
    1S: * 1 FETCH (MODSEQ ({{own}}))
    1S: * OK [HIGHESTMODSEQ {{deleted}}] ...
    1S: b OK ...
    2C: c STORE 3 +FLAGS.SILENT (\\Answered)
    2S: * 3 FETCH (UID 4 MODSEQ ({{other}}))
    2S: * 1 FETCH (UID 1 FLAGS (\\Flagged) MODSEQ ({{own}}))
    2S: c OK ...
    1C: c SEARCH ANSWERED
    1S: * SEARCH 4
    1S: * 4 FETCH (UID 4 FLAGS (\\Answered \\Recent) MODSEQ ({{other}}))
    1S: * OK [HIGHESTMODSEQ {{deleted}}] ...
    1S: c OK ...
    1C: d NOOP
    1S: * VANISHED 2
    1S: * 3 RECENT
    1S: d OK ...
    1C: e FETCH 1 (MODSEQ)
    1S: * 1 FETCH (MODSEQ ({{own}}))
    1S: e OK ...
    `
  )
})

test('CONDSTORE that is turned on late tells no HIGHESTMODSEQ that takes in what is held back', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${Array(2).fill(append('INBOX')).join('\n')}
    ${select('INBOX', { exists: 2 })}
    ${enabled(2)}
    ${select('INBOX', { exists: 2, connection: 2 })}
    2C: d STORE 2 +FLAGS.SILENT (\\Deleted)
    2S: * 2 FETCH (UID 2 MODSEQ ({{deleted}}))
    2S: d OK ...
    1C: n NOOP
    1S: * 2 FETCH (FLAGS (\\Deleted \\Recent))
    1S: n OK ...
    2C: x EXPUNGE
    2S: * VANISHED 2
    2S: x OK [HIGHESTMODSEQ ...
    1C: a FETCH 1 (MODSEQ)
    1S: * OK [HIGHESTMODSEQ {{deleted}}] ...
    1S: * 1 FETCH (MODSEQ (...))
    1S: a OK ...
    `
  )
})
