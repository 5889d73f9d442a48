/**
 * RFC 7162 §3.2.5.2 lets a server forget what was expunged long ago: then every UID without a message is told.
 */
import { test } from 'node:test'
import { logIn } from '../../helpers/accounts.js'
import { append, select } from '../../helpers/dialogue.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

const DAY_MS = 86_400_000

/**
 * @param {string} parameters - of QRESYNC
 * @returns {string} the ordinary part of a SELECT; what is missed follows, then `se OK`
 */
const resync = (parameters) =>
  select('INBOX', { parameters: ` (QRESYNC (${parameters}))`, exists: 3 }).replace(
    /\n1S: se OK .*$/,
    ''
  )

/** @param {number} count */
const appended = (count) => Array(count).fill(append('INBOX')).join('\n')

/**
 * Lets the record of what has been expunged so far grow old, and prunes it.
 *
 * @param {Awaited<ReturnType<typeof startImapServer>>} server
 * @param {ManualClock} clock - the server's
 * @returns {Promise<{ uidValidity: number, highestModSeq: number }>} of INBOX
 */
async function forgetExpunged(server, clock) {
  clock.advance(100 * DAY_MS)
  const { store, release } = await server.openAccounts.acquire(
    await logIn(server.services, PASSWORD, { username: 'alice' })
  )
  await store.upkeep.pruneExpunged({ beforeMs: clock.nowMs() - 50 * DAY_MS })
  const status = await store.mailboxStatus('INBOX')
  await release()
  return status
}

test('a client from before the log begins is told every UID that is gone, one from after it only what is new', async (t) => {
  const clock = new ManualClock()
  const server = await startImapServer(t, { clock })
  await transcript(
    server,
    `
    ${appended(6)}
    C: en ENABLE QRESYNC
    S: * ENABLED QRESYNC
    S: en OK ...
    ${select('INBOX', { exists: 6 })}
    C: a STORE 2,5 +FLAGS.SILENT (\\Deleted)
    S: * 2 FETCH (UID 2 MODSEQ (...))
    S: * 5 FETCH (UID 5 MODSEQ (...))
    S: a OK ...
    C: b EXPUNGE
    S: * VANISHED 2,5
    S: * 4 RECENT
    S: b OK [HIGHESTMODSEQ {{pruned}}] ...
    `
  )
  const { uidValidity, highestModSeq } = await forgetExpunged(server, clock)
  await transcript(
    server,
    `
    C: en ENABLE QRESYNC
    S: * ENABLED QRESYNC
    S: en OK ...
    ${select('INBOX', { exists: 4 })}
    C: a STORE 1 +FLAGS.SILENT (\\Deleted)
    S: * 1 FETCH (UID 1 MODSEQ (...))
    S: a OK ...
    C: b EXPUNGE
    S: * VANISHED 1
    S: b OK ...
    C: c CLOSE
    S: c OK ...
    ${resync(`${uidValidity} ${highestModSeq - 1} 1:6`)}
    S: * VANISHED (EARLIER) 1:2,5
    S: se OK ...
    C: e CLOSE
    S: e OK ...
    ${resync(`${uidValidity} ${highestModSeq} 1:6`)}
    S: * VANISHED (EARLIER) 1
    S: se OK ...
    `
  )
})

/** UIDs 3, 4 and 6 are left; pairs that the client sends, and what it is told to be gone. */
const SEQUENCE_MATCHES = [
  ['2 4', '5'],
  ['1,3 3,6', null],
  ['1:3 3:5', '5'],
  ['1 2', '1:2,5'],
  ['2:3 4', '5']
]

test('a client is told of none that is gone below the last pair of number and UID that is still right (RFC 7162 §3.2.5.2)', async (t) => {
  const clock = new ManualClock()
  const server = await startImapServer(t, { clock })
  await transcript(
    server,
    `
    ${appended(6)}
    ${select('INBOX', { exists: 6 })}
    C: a STORE 1,2,5 +FLAGS.SILENT (\\Deleted)
    S: a OK ...
    C: b CLOSE
    S: b OK ...
    `
  )
  const { uidValidity } = await forgetExpunged(server, clock)
  const known = (/** @type {(string | null)[]} */ [pairs, gone]) => `
    ${resync(`${uidValidity} 1 1:6 (${pairs})`)}
    ${gone === null ? '' : `S: * VANISHED (EARLIER) ${gone}`}
    S: * 1 FETCH (UID 3 FLAGS (...) MODSEQ (...))
    S: * 2 FETCH (UID 4 FLAGS (...) MODSEQ (...))
    S: * 3 FETCH (UID 6 FLAGS (...) MODSEQ (...))
    S: se OK ...
    C: c CLOSE
    S: c OK ...
  `
  await transcript(
    server,
    `
    C: en ENABLE QRESYNC
    S: * ENABLED QRESYNC
    S: en OK ...
    ${SEQUENCE_MATCHES.map(known).join('')}
    `
  )
})

test('a message that has just come is not among those that are gone (RFC 7162 §3.2.6)', async (t) => {
  const clock = new ManualClock()
  const server = await startImapServer(t, { clock })
  await transcript(
    server,
    `
    ${appended(4)}
    ${select('INBOX', { exists: 4 })}
    C: a STORE 2 +FLAGS.SILENT (\\Deleted)
    S: a OK ...
    C: b EXPUNGE
    S: * 2 EXPUNGE
    S: * 3 RECENT
    S: b OK ...
    `
  )
  await forgetExpunged(server, clock)
  await transcript(
    server,
    `
    1C: en ENABLE QRESYNC
    1S: * ENABLED QRESYNC
    1S: en OK ...
    ${select('INBOX', { exists: 3, connection: 1 })}
    ${append('INBOX', { connection: 2 })}
    1C: a UID FETCH 5 (FLAGS) (CHANGEDSINCE 1 VANISHED)
    1S: * 4 EXISTS
    1S: * 1 RECENT
    1S: * OK [HIGHESTMODSEQ ...
    1S: a OK ...
    1C: b UID FETCH 2 (FLAGS) (CHANGEDSINCE 1 VANISHED)
    1S: * VANISHED (EARLIER) 2
    1S: b OK ...
    `
  )
})
