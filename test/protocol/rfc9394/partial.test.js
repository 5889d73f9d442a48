import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

const five = Array(5).fill(append('INBOX')).join('\n')

test('SEARCH RETURN (PARTIAL) answers one page, from either end (RFC 9394 §3.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { flags: '\\Deleted' })}
    ${five}
    ${select('INBOX', { exists: 6 })}
    C: x EXPUNGE
    S: * 1 EXPUNGE
    S: * 5 RECENT
    S: x OK ...
    C: a1 UID SEARCH RETURN (PARTIAL 1:2) ALL
    S: * ESEARCH (TAG "a1") UID PARTIAL (1:2 2:3)
    S: a1 OK ...
    C: a2 SEARCH RETURN (PARTIAL 4:10 COUNT) ALL
    S: * ESEARCH (TAG "a2") COUNT 5 PARTIAL (4:10 4:5)
    S: a2 OK ...
    C: a3 SEARCH RETURN (PARTIAL 6:10) ALL
    S: * ESEARCH (TAG "a3") PARTIAL (6:10 NIL)
    S: a3 OK ...
    C: a4 UID SEARCH RETURN (PARTIAL -1:-2) ALL
    S: * ESEARCH (TAG "a4") UID PARTIAL (-1:-2 5:6)
    S: a4 OK ...
    C: a5 SEARCH RETURN (PARTIAL -10:-4 MIN) ALL
    S: * ESEARCH (TAG "a5") MIN 1 PARTIAL (-10:-4 1:2)
    S: a5 OK ...
    C: a6 SEARCH RETURN (PARTIAL -6:-7) ALL
    S: * ESEARCH (TAG "a6") PARTIAL (-6:-7 NIL)
    S: a6 OK ...
    C: a7 SEARCH RETURN (PARTIAL 2:3) 1,3,5
    S: * ESEARCH (TAG "a7") PARTIAL (2:3 3,5)
    S: a7 OK ...
    `
  )
})

test('a range with a star, a zero or mixed signs, a second one, and ALL beside it are BAD (RFC 9394 §3.1, §4)', async (t) => {
  const server = await startImapServer(t)
  const wrong = ['1', '1:*', '*:1', '0:1', '-1:1', '1:-1', '1:2 PARTIAL 1:2', '1:2 ALL', '']
  await transcript(
    server,
    `
    ${select('INBOX', { exists: 0 })}
    ${wrong.map((range) => `C: a SEARCH RETURN (PARTIAL ${range}) ALL\nS: a BAD ...`).join('\n')}
    C: b FETCH 1 (UID) (PARTIAL 1:2)
    S: b BAD ...
    `
  )
})

test('UID FETCH (PARTIAL) answers one page of the set, of that what has changed (RFC 9394 §3.3, §3.4)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${five}
    ${select('INBOX', { exists: 5 })}
    C: a1 UID FETCH 2:* (UID) (PARTIAL 1:2)
    S: * 2 FETCH (UID 2)
    S: * 3 FETCH (UID 3)
    S: a1 OK ...
    C: a2 UID FETCH 1:* (UID) (PARTIAL -1:-2)
    S: * 4 FETCH (UID 4)
    S: * 5 FETCH (UID 5)
    S: a2 OK ...
    C: a3 UID FETCH 1:* (UID) (PARTIAL 6:9)
    S: a3 OK ...
    C: s STORE 1,4 +FLAGS.SILENT (\\Seen)
    S: s OK ...
    C: a4 UID FETCH 1:* (UID) (PARTIAL -1:-3 CHANGEDSINCE 6)
    S: * OK [HIGHESTMODSEQ 7] ...
    S: * 4 FETCH (UID 4 MODSEQ (7))
    S: a4 OK ...
    C: a5 UID FETCH 1:* (UID) (CHANGEDSINCE 6 PARTIAL 2:4)
    S: * 4 FETCH (UID 4 MODSEQ (7))
    S: a5 OK ...
    C: a6 UID FETCH 1:* (UID) (PARTIAL -1:-1 CHANGEDSINCE 6)
    S: a6 OK ...
    `
  )
})
