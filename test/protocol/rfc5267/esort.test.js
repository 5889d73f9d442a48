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
