import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('UID SEARCH by message numbers keeps back what would change them (RFC 7162 §3.2.10.2)', async (t) => {
  const server = await startImapServer(t)
  const expunge = (/** @type {number} */ number) => `
    2C: d STORE ${number} +FLAGS.SILENT (\\Deleted)
    2S: d OK ...
    2C: x EXPUNGE
    2S: * ${number} EXPUNGE
    2S: x OK ...`
  await transcript(
    server,
    `
    ${Array(4).fill(append('INBOX')).join('\n')}
    1C: en ENABLE QRESYNC
    1S: * ENABLED QRESYNC
    1S: en OK ...
    ${select('INBOX', { exists: 4 })}
    ${select('INBOX', { exists: 4, connection: 2 })}
    ${expunge(1)}
    1C: a UID SEARCH 1:3
    1S: * SEARCH 2 3
    1S: * OK [HIGHESTMODSEQ ...
    1S: a OK ...
    1C: b UID SEARCH OR SEEN NOT 2
    1S: * SEARCH 3 4
    1S: * OK [HIGHESTMODSEQ ...
    1S: b OK ...
    1C: c UID SORT (SIZE) UTF-8 UNSEEN 1:3
    1S: * SORT 2 3
    1S: * OK [HIGHESTMODSEQ ...
    1S: c OK ...
    1C: d UID THREAD ORDEREDSUBJECT UTF-8 2:3
    1S: * THREAD (2 3)
    1S: * OK [HIGHESTMODSEQ ...
    1S: d OK ...
    1C: e UID SEARCH RETURN (SAVE) 2:3
    1S: * OK [HIGHESTMODSEQ ...
    1S: e OK ...
    1C: f UID SEARCH $
    1S: * SEARCH 2 3
    1S: * VANISHED 1
    1S: * 3 RECENT
    1S: f OK ...
    ${expunge(1)}
    1C: g UID SEARCH UID 1:4
    1S: * SEARCH 3 4
    1S: * VANISHED 2
    1S: * 2 RECENT
    1S: g OK ...
    `
  )
})
