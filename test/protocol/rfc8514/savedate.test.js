import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('SAVEDATE is when the message came into its mailbox, by APPEND, COPY or MOVE (RFC 8514 §4)', async (t) => {
  const clock = new ManualClock(Date.UTC(2024, 2, 1, 10, 0, 0))
  const server = await startImapServer(t, { clock })
  const old = '" 5-Jan-2001 12:00:00 +0200"'
  await transcript(
    server,
    `
    ${append('INBOX', { date: old })}
    ${append('INBOX', { date: old })}
    ${select('INBOX', { exists: 2 })}
    C: a FETCH 1 (SAVEDATE INTERNALDATE UID)
    S: * 1 FETCH (SAVEDATE " 1-Mar-2024 10:00:00 +0000" INTERNALDATE ${old} UID 1)
    S: a OK ...
    C: b UID FETCH 2 SAVEDATE
    S: * 2 FETCH (UID 2 SAVEDATE " 1-Mar-2024 10:00:00 +0000")
    S: b OK ...
    `
  )
  clock.advance(3 * 24 * 3600 * 1000)
  await transcript(
    server,
    `
    ${select('INBOX', { exists: 2 })}
    C: a COPY 1 Archive
    S: a OK ...
    C: b MOVE 2 Archive
    S: * OK [COPYUID ...
    S: * 2 EXPUNGE
    S: b OK ...
    C: c FETCH 1 SAVEDATE
    S: * 1 FETCH (SAVEDATE " 1-Mar-2024 10:00:00 +0000")
    S: c OK ...
    ${select('Archive', { exists: 2, isAnother: true })}
    C: d FETCH 1:2 SAVEDATE
    S: * 1 FETCH (SAVEDATE " 4-Mar-2024 10:00:00 +0000")
    S: * 2 FETCH (SAVEDATE " 4-Mar-2024 10:00:00 +0000")
    S: d OK ...
    `
  )
})

test('SAVEDBEFORE, SAVEDON, SAVEDSINCE search by day, SAVEDATESUPPORTED finds all (RFC 8514 §4.3)', async (t) => {
  const clock = new ManualClock(Date.UTC(2024, 2, 1, 23, 59, 59))
  const server = await startImapServer(t, { clock })
  await transcript(server, append('INBOX', { date: '" 9-Mar-2024 12:00:00 +0000"' }))
  clock.advance(1000)
  await transcript(
    server,
    `
    ${append('INBOX', { date: '" 9-Mar-2024 12:00:00 +0000"' })}
    ${select('INBOX', { exists: 2 })}
    C: a SEARCH SAVEDON 1-Mar-2024
    S: * SEARCH 1
    S: a OK ...
    C: b SEARCH SAVEDSINCE 2-Mar-2024
    S: * SEARCH 2
    S: b OK ...
    C: c SEARCH SAVEDBEFORE 2-Mar-2024
    S: * SEARCH 1
    S: c OK ...
    C: d SEARCH RETURN (COUNT) SAVEDATESUPPORTED
    S: * ESEARCH (TAG "d") COUNT 2
    S: d OK ...
    C: e SEARCH NOT SAVEDBEFORE 1-Apr-2024
    S: * SEARCH
    S: e OK ...
    `
  )
})
