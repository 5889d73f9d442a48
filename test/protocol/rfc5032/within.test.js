import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

test('YOUNGER and OLDER count seconds back from now, the bound itself in both (RFC 5032 §2)', async (t) => {
  const clock = new ManualClock(Date.UTC(2024, 5, 10, 12, 0, 0))
  const server = await startImapServer(t, { clock })
  await transcript(
    server,
    `
    ${append('INBOX', { date: '"10-Jun-2024 11:59:30 +0000"' })}
    ${append('INBOX', { date: '"10-Jun-2024 13:59:00 +0200"' })}
    ${append('INBOX', { date: '" 1-Jun-2024 12:00:00 +0000"' })}
    ${append('INBOX')}
    ${select('INBOX', { exists: 4 })}
    C: a SEARCH YOUNGER 60
    S: * SEARCH 1 2 4
    S: a OK ...
    C: b SEARCH OLDER 60
    S: * SEARCH 2 3
    S: b OK ...
    C: c UID SEARCH OLDER 31 YOUNGER 864000
    S: * SEARCH 2 3
    S: c OK ...
    C: d SEARCH YOUNGER 0
    S: d BAD ...
    C: e SEARCH OLDER -5
    S: e BAD ...
    `
  )
})
