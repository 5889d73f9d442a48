import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

const four = [3, 4, 1, 2]
  .map((day) => append('INBOX', { date: `"0${day}-Jan-2022 00:00:00 +0000"` }))
  .join('\n')

test('SORT RETURN answers in the order of the sort (RFC 5267 §3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${four}
    ${select('INBOX', { exists: 4 })}
    C: a1 SORT RETURN (MIN MAX COUNT) (ARRIVAL) UTF-8 ALL
    S: * ESEARCH (TAG "a1") MIN 3 MAX 2 COUNT 4
    S: a1 OK ...
    C: a2 SORT RETURN () (ARRIVAL) UTF-8 ALL
    S: * ESEARCH (TAG "a2") ALL 3:4,1:2
    S: a2 OK ...
    C: a3 UID SORT RETURN (ALL) (REVERSE ARRIVAL) UTF-8 ALL
    S: * ESEARCH (TAG "a3") UID ALL 2,1,4,3
    S: a3 OK ...
    C: a4 SORT RETURN (ALL COUNT) (ARRIVAL) UTF-8 SUBJECT "not there"
    S: * ESEARCH (TAG "a4") COUNT 0
    S: a4 OK ...
    C: a5 SORT RETURN (PARTIAL 2:3) (ARRIVAL) UTF-8 ALL
    S: * ESEARCH (TAG "a5") PARTIAL (2:3 4,1)
    S: a5 OK ...
    C: a6 SORT RETURN (SAVE) (ARRIVAL) UTF-8 1,3
    S: a6 OK ...
    C: a7 SEARCH $
    S: * SEARCH 1 3
    S: a7 OK ...
    C: a9 SORT RETURN (SAVE COUNT) (ARRIVAL) UTF-8 $
    S: * ESEARCH (TAG "a9") COUNT 2
    S: a9 OK ...
    C: a10 SEARCH $
    S: * SEARCH 1 3
    S: a10 OK ...
    C: a8 SORT RETURN (NONSENSE) (ARRIVAL) UTF-8 ALL
    S: a8 BAD ...
    `
  )
})

test('SORT RETURN saves what its answer names, as SEARCH does (RFC 5267 §3, RFC 5182 §2.4, RFC 9394 §3.2)', async (t) => {
  const server = await startImapServer(t)
  for (const [options, answer, saved] of [
    ['SAVE MIN', 'MIN 3', '3'],
    ['MAX SAVE', 'MAX 2', '2'],
    ['SAVE MIN MAX', 'MIN 3 MAX 2', '2 3'],
    ['SAVE ALL', 'ALL 3:4,1:2', '1 2 3 4'],
    ['SAVE MIN COUNT', 'MIN 3 COUNT 4', '1 2 3 4'],
    ['SAVE PARTIAL 2:3', 'PARTIAL (2:3 4,1)', '1 4'],
    ['SAVE PARTIAL -1:-1 MIN', 'MIN 3 PARTIAL (-1:-1 2)', '2 3'],
    ['SAVE PARTIAL 2:2 COUNT', 'COUNT 4 PARTIAL (2:2 4)', '1 2 3 4']
  ]) {
    await transcript(
      server,
      `
      ${options === 'SAVE MIN' ? four : ''}
      ${select('INBOX', { exists: 4 })}
      C: a1 SORT RETURN (${options}) (ARRIVAL) UTF-8 ALL
      S: * ESEARCH (TAG "a1") ${answer}
      S: a1 OK ...
      C: a2 SEARCH $
      S: * SEARCH ${saved}
      S: a2 OK ...
      `
    )
  }
})

test('a SORT that is answered NO forgets what was saved, one without SAVE does not (RFC 5182 §2.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${four}
    ${select('INBOX', { exists: 4 })}
    C: a1 SEARCH RETURN (SAVE) 2
    S: a1 OK ...
    C: a2 SORT RETURN (COUNT) (ARRIVAL) X-NONE ALL
    S: a2 NO [BADCHARSET] ...
    C: a3 SORT (ARRIVAL) X-NONE ALL
    S: a3 NO [BADCHARSET] ...
    C: a4 SEARCH $
    S: * SEARCH 2
    S: a4 OK ...
    C: a5 UID SORT RETURN (SAVE) (ARRIVAL) X-NONE ALL
    S: a5 NO [BADCHARSET] ...
    C: a6 SEARCH $
    S: * SEARCH
    S: a6 OK ...
    `
  )
})

test('MODSEQ is that of the messages which the answer names (RFC 4731 §3.2)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${four}
    ${select('INBOX', { exists: 4 })}
    C: e ENABLE CONDSTORE
    S: * OK [HIGHESTMODSEQ ...
    S: * ENABLED CONDSTORE
    S: e OK ...
    C: a1 STORE 4 +FLAGS.SILENT (\\Seen)
    S: * 4 FETCH (UID 4 MODSEQ ({{onPage}}))
    S: a1 OK ...
    C: a2 STORE 3 +FLAGS.SILENT (\\Seen)
    S: * 3 FETCH (UID 3 MODSEQ ({{lowest}}))
    S: a2 OK ...
    C: a3 STORE 2 +FLAGS.SILENT (\\Seen)
    S: * 2 FETCH (UID 2 MODSEQ ({{highest}}))
    S: a3 OK ...
    C: b1 SORT RETURN (MIN) (ARRIVAL) UTF-8 MODSEQ 1
    S: * ESEARCH (TAG "b1") MIN 3 MODSEQ {{lowest}}
    S: b1 OK ...
    C: b2 SORT RETURN (PARTIAL 2:3) (ARRIVAL) UTF-8 MODSEQ 1
    S: * ESEARCH (TAG "b2") PARTIAL (2:3 4,1) MODSEQ {{onPage}}
    S: b2 OK ...
    C: b3 SORT RETURN (MIN COUNT) (ARRIVAL) UTF-8 MODSEQ 1
    S: * ESEARCH (TAG "b3") MIN 3 COUNT 4 MODSEQ {{highest}}
    S: b3 OK ...
    `
  )
})
