import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

/** @param {number} count */
const appended = (count) => Array(count).fill(append('INBOX')).join('\n')

const enabled = (connection = 1) =>
  `${connection}C: en ENABLE QRESYNC\n${connection}S: * ENABLED QRESYNC\n${connection}S: en OK ...`

/**
 * @param {string} parameters - of QRESYNC
 * @param {string} [exists]
 * @returns {string} the ordinary part of a SELECT; what is missed follows, then `se OK`
 */
const resync = (parameters, exists = '...') =>
  select('INBOX', { parameters: ` (QRESYNC (${parameters}))`, exists }).replace(
    /\n1S: se OK .*$/,
    ''
  )

test('QRESYNC needs ENABLE QRESYNC first (RFC 7162 §3.2.3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    C: a SELECT INBOX (QRESYNC (1 1))
    S: a BAD ...
    ${select('INBOX', { exists: 0 })}
    C: b UID FETCH 1:* (FLAGS) (CHANGEDSINCE 1 VANISHED)
    S: b BAD ...
    C: c ENABLE QRESYNC CONDSTORE
    S: * OK [HIGHESTMODSEQ ...
    S: * ENABLED QRESYNC
    S: c OK ...
    C: d ENABLE QRESYNC
    S: * ENABLED
    S: d OK ...
    C: e FETCH 1:* (FLAGS) (CHANGEDSINCE 1 VANISHED)
    S: e BAD ...
    C: f UID FETCH 1:* (FLAGS) (VANISHED)
    S: f BAD ...
    C: g SELECT INBOX (QRESYNC (0 1))
    S: g BAD ...
    C: h SELECT INBOX (QRESYNC (1 1 1:*))
    S: h BAD ...
    `
  )
})

test('VANISHED takes the place of EXPUNGE, own and others (RFC 7162 §3.2.10)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${appended(6)}
    ${enabled()}
    ${select('INBOX', { exists: 6 })}
    ${select('INBOX', { exists: 6, connection: 2 })}
    1C: a STORE 1,3:4 +FLAGS.SILENT (\\Deleted)
    1S: * 1 FETCH (UID 1 MODSEQ (...))
    1S: * 3 FETCH (UID 3 MODSEQ (...))
    1S: * 4 FETCH (UID 4 MODSEQ (...))
    1S: a OK ...
    1C: b UID EXPUNGE 1,6
    1S: * VANISHED 1
    1S: * 5 RECENT
    1S: b OK [HIGHESTMODSEQ {{first}}] ...
    1C: c EXPUNGE
    1S: * VANISHED 3:4
    1S: * 3 RECENT
    1S: c OK [HIGHESTMODSEQ {{second}}] ...
    1C: d EXPUNGE
    1S: d OK EXPUNGE ...
    2C: a NOOP
    2S: * 4 EXPUNGE
    2S: * 3 EXPUNGE
    2S: * 1 EXPUNGE
    2S: a OK ...
    2C: b STORE 1 +FLAGS.SILENT (\\Deleted)
    2S: b OK ...
    2C: c EXPUNGE
    2S: * 1 EXPUNGE
    2S: c OK EXPUNGE ...
    1C: e FETCH 1 FLAGS
    1S: * OK [HIGHESTMODSEQ ...
    1S: e OK [EXPUNGEISSUED] ...
    1C: f UID MOVE 5 Trash
    1S: * OK [COPYUID ... 5 1] ...
    1S: * VANISHED 2,5
    1S: * 1 RECENT
    1S: f OK ...
    1C: g FETCH 1 (UID)
    1S: * 1 FETCH (UID 6)
    1S: g OK ...
    `
  )
})

test('SELECT (QRESYNC …) tells what vanished and what changed, and nothing to a stranger (RFC 7162 §3.2.5)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${appended(8)}
    2C: s SELECT INBOX
    2S: * FLAGS (...
    2S: * OK [PERMANENTFLAGS ...
    2S: * 8 EXISTS
    2S: * 8 RECENT
    2S: * OK [UNSEEN 1] ...
    2S: * OK [UIDVALIDITY {{validity}}] ...
    2S: * OK [UIDNEXT 9] ...
    2S: * OK [HIGHESTMODSEQ {{known}}] ...
    2S: * OK [MAILBOXID ...
    2S: s OK ...
    2C: a STORE 2:3,7:8 +FLAGS.SILENT (\\Deleted)
    2S: a OK ...
    2C: b EXPUNGE
    2S: * 8 EXPUNGE
    2S: * 7 EXPUNGE
    2S: * 3 EXPUNGE
    2S: * 2 EXPUNGE
    2S: * 4 RECENT
    2S: b OK ...
    2C: c STORE 2 +FLAGS.SILENT (\\Flagged)
    2S: c OK ...
    ${enabled()}
    ${resync('{{validity}} {{known}}', '4')}
    1S: * VANISHED (EARLIER) 2:3,7:8
    1S: * 2 FETCH (UID 4 FLAGS (\\Flagged) MODSEQ (...))
    1S: se OK [READ-WRITE] ...
    1C: u UNSELECT
    1S: u OK ...
    ${resync('{{validity}} {{known}} 1:2,5:7')}
    1S: * VANISHED (EARLIER) 2,7
    1S: se OK ...
    1C: u UNSELECT
    1S: u OK ...
    ${resync('{{validity}} {{known}} 1:8 (1,3 1,3)')}
    1S: * VANISHED (EARLIER) 2:3,7:8
    1S: * 2 FETCH (UID 4 FLAGS (\\Flagged) MODSEQ (...))
    1S: se OK ...
    1C: u UNSELECT
    1S: u OK ...
    ${resync('{{validity}} {{known}} 1:8 (1,3:4 1,5:6)')}
    1S: * VANISHED (EARLIER) 7:8
    1S: * 2 FETCH (UID 4 FLAGS (\\Flagged) MODSEQ (...))
    1S: se OK ...
    1C: u UNSELECT
    1S: u OK ...
    ${resync('7 {{known}} 1:8')}
    1S: se OK ...
    1C: v UID FETCH 1:* (FLAGS) (CHANGEDSINCE {{known}} VANISHED)
    1S: * VANISHED (EARLIER) 2:3,7:8
    1S: * 2 FETCH (UID 4 FLAGS (\\Flagged) MODSEQ (...))
    1S: v OK ...
    1C: w UID FETCH 5:7 (UID) (VANISHED CHANGEDSINCE {{known}})
    1S: * VANISHED (EARLIER) 7
    1S: w OK ...
    1C: x UID FETCH 1:4294967295 (UID) (CHANGEDSINCE 99999999 VANISHED)
    1S: x OK ...
    `
  )
})

test('a message that this session still counts is not told as gone EARLIER', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${appended(3)}
    ${enabled()}
    ${select('INBOX', { exists: 3 })}
    ${select('INBOX', { exists: 3, connection: 2 })}
    2C: a STORE 2 +FLAGS.SILENT (\\Deleted)
    2S: a OK ...
    1C: a NOOP
    1S: * 2 FETCH (UID 2 FLAGS (\\Deleted \\Recent) MODSEQ ({{deleted}}))
    1S: a OK ...
    2C: b EXPUNGE
    2S: * 2 EXPUNGE
    2S: b OK ...
    1C: b UID FETCH 1:3 (UID) (CHANGEDSINCE {{deleted}} VANISHED)
    1S: * VANISHED 2
    1S: * 2 RECENT
    1S: b OK [EXPUNGEISSUED] ...
    1C: c UID FETCH 1:3 (UID) (CHANGEDSINCE {{deleted}} VANISHED)
    1S: * VANISHED (EARLIER) 2
    1S: c OK UID ...
    `
  )
})

test('selecting another mailbox says CLOSED, also when that fails (RFC 7162 §3.2.11)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${select('INBOX', { exists: 0 })}
    ${select('Trash', { exists: 0, isAnother: true })}
    C: a SELECT missing
    S: * OK [CLOSED] ...
    S: a NO [NONEXISTENT] ...
    ${select('Trash', { exists: 0 })}
    C: b CLOSE
    S: b OK ...
    ${select('INBOX', { exists: 0, how: 'EXAMINE' })}
    `
  )
})
