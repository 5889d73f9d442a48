import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { appendMany } from '../../helpers/account-folder.js'
import { storeBeside } from '../../helpers/beside.js'
import { damagePage } from '../../helpers/damage-page.js'
import { append, select } from '../../helpers/dialogue.js'
import { loggedIn, selectMany } from '../../helpers/logged-in.js'
import {
  forgetPeak,
  memoryIsUnreadable,
  peakBytes,
  residentBytes
} from '../../helpers/process-memory.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

const four = Array(4).fill(append('INBOX')).join('\n')

test('$ stands for what was saved, in every command that takes a set (RFC 5182 §2)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { flags: '\\Deleted' })}
    ${four}
    ${select('INBOX', { exists: 5 })}
    C: x EXPUNGE
    S: * 1 EXPUNGE
    S: * 4 RECENT
    S: x OK ...
    C: a1 SEARCH RETURN (SAVE) 1,3:4
    S: a1 OK SEARCH completed
    C: a2 FETCH $ UID
    S: * 1 FETCH (UID 2)
    S: * 3 FETCH (UID 4)
    S: * 4 FETCH (UID 5)
    S: a2 OK ...
    C: a3 UID FETCH $ FLAGS
    S: * 1 FETCH (UID 2 FLAGS (\\Recent))
    S: * 3 FETCH (UID 4 FLAGS (\\Recent))
    S: * 4 FETCH (UID 5 FLAGS (\\Recent))
    S: a3 OK ...
    C: a4 STORE $ +FLAGS (\\Seen)
    S: * 1 FETCH (FLAGS (\\Seen \\Recent))
    S: * 3 FETCH (FLAGS (\\Seen \\Recent))
    S: * 4 FETCH (FLAGS (\\Seen \\Recent))
    S: a4 OK ...
    C: a5 UID COPY $ Archive
    S: a5 OK [COPYUID ... 2,4:5 1:3] ...
    C: a6 SEARCH NOT $
    S: * SEARCH 2
    S: a6 OK ...
    C: a7 UID SEARCH RETURN (COUNT) OR UID $ 2
    S: * ESEARCH (TAG "a7") UID COUNT 4
    S: a7 OK ...
    C: a8 UID SEARCH RETURN (SAVE) UID $ 3
    S: a8 OK ...
    C: a9 MOVE $ Archive
    S: * OK [COPYUID ... 4 4] ...
    S: * 3 EXPUNGE
    S: * 3 RECENT
    S: a9 OK ...
    `
  )
})

test('only what the answer names is saved: MIN and MAX alone save one message each (RFC 5182 §2.4)', async (t) => {
  const server = await startImapServer(t)
  for (const [options, answer, saved] of [
    ['SAVE MIN', 'MIN 1', '1'],
    ['MAX SAVE', 'MAX 4', '4'],
    ['SAVE MIN MAX', 'MIN 1 MAX 4', '1 4'],
    ['SAVE ALL', 'ALL 1:4', '1 2 3 4'],
    ['SAVE COUNT', 'COUNT 4', '1 2 3 4'],
    ['SAVE MIN COUNT', 'MIN 1 COUNT 4', '1 2 3 4'],
    ['SAVE PARTIAL 2:3', 'PARTIAL (2:3 2:3)', '2 3'],
    ['SAVE PARTIAL 2:3 MAX', 'MAX 4 PARTIAL (2:3 2:3)', '2 3 4'],
    ['SAVE PARTIAL 1:1 MIN MAX', 'MIN 1 MAX 4 PARTIAL (1:1 1)', '1 4'],
    ['SAVE PARTIAL 2:2 COUNT', 'COUNT 4 PARTIAL (2:2 2)', '1 2 3 4']
  ]) {
    await transcript(
      server,
      `
      ${options === 'SAVE MIN' ? four : ''}
      ${select('INBOX', { exists: 4 })}
      C: a1 SEARCH RETURN (${options}) ALL
      S: * ESEARCH (TAG "a1") ${answer}
      S: a1 OK ...
      C: a2 SEARCH $
      S: * SEARCH ${saved}
      S: a2 OK ...
      `
    )
  }
})

test('an empty $ matches nothing and is no error; expunged messages leave it (RFC 5182 §2.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${four}
    ${select('INBOX', { exists: 4 })}
    ${select('INBOX', { exists: 4, connection: 2 })}
    1C: a1 FETCH $ UID
    1S: a1 OK ...
    1C: a2 COPY $ Archive
    1S: a2 OK ...
    1C: a3 UID STORE $ +FLAGS (\\Seen)
    1S: a3 OK ...
    1C: a4 SEARCH RETURN (SAVE) 2:3
    1S: a4 OK ...
    2C: b1 STORE 2 +FLAGS.SILENT (\\Deleted)
    2S: b1 OK ...
    2C: b2 EXPUNGE
    2S: * 2 EXPUNGE
    2S: b2 OK ...
    1C: a5 NOOP
    1S: * 2 EXPUNGE
    1S: * 3 RECENT
    1S: a5 OK ...
    1C: a6 FETCH $ UID
    1S: * 2 FETCH (UID 3)
    1S: a6 OK ...
    1C: a7 SEARCH RETURN (SAVE) FLAGGED
    1S: a7 OK ...
    1C: a8 UID SEARCH $
    1S: * SEARCH
    1S: a8 OK ...
    `
  )
})

test('COPY and MOVE of $ leave out what another session has expunged and this one was not told of (RFC 5182 §2.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${four}
    ${select('INBOX', { exists: 4 })}
    ${select('INBOX', { exists: 4, connection: 2 })}
    1C: a1 SEARCH RETURN (SAVE) ALL
    1S: a1 OK ...
    2C: b1 STORE 2 +FLAGS.SILENT (\\Deleted)
    2S: b1 OK ...
    2C: b2 EXPUNGE
    2S: * 2 EXPUNGE
    2S: b2 OK ...
    1C: a2 COPY $ Archive
    1S: * 2 EXPUNGE
    1S: * 3 RECENT
    1S: a2 OK [COPYUID ... 1,3:4 1:3] ...
    2C: b3 STORE 1 +FLAGS.SILENT (\\Deleted)
    2S: b3 OK ...
    2C: b4 EXPUNGE
    2S: * 1 EXPUNGE
    2S: b4 OK ...
    1C: a3 MOVE $ Archive
    1S: * OK [COPYUID ... 3:4 4:5] ...
    1S~: * 3 EXPUNGE
    1S~: * 2 EXPUNGE
    1S~: * 1 EXPUNGE
    1S: * 0 RECENT
    1S: a3 OK ...
    2C: b5 NOOP
    2S~: * 2 EXPUNGE
    2S~: * 1 EXPUNGE
    2S: b5 OK ...
    `
  )
})

test('NO forgets what was saved, BAD and a search without SAVE do not (RFC 5182 §2.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${four}
    ${select('INBOX', { exists: 4 })}
    C: a1 SEARCH RETURN (SAVE) 2
    S: a1 OK ...
    C: a2 SEARCH RETURN (SAVE) NONSENSE
    S: a2 BAD ...
    C: a3 SEARCH RETURN (COUNT) 1
    S: * ESEARCH (TAG "a3") COUNT 1
    S: a3 OK ...
    C: a4 SEARCH RETURN (COUNT) CHARSET X-NONE SUBJECT x
    S: a4 NO [BADCHARSET] ...
    C: a5 SEARCH $
    S: * SEARCH 2
    S: a5 OK ...
    C: a6 SEARCH RETURN (SAVE) CHARSET X-NONE SUBJECT x
    S: a6 NO [BADCHARSET] ...
    C: a7 SEARCH $
    S: * SEARCH
    S: a7 OK ...
    C: a8 SEARCH RETURN (SAVE) 3
    S: a8 OK ...
    C: a9 SORT RETURN (COUNT) (SUBJECT) X-NONE SUBJECT x
    S: a9 NO [BADCHARSET] ...
    C: b1 SORT RETURN (SAVE) (NONSENSE) UTF-8 ALL
    S: b1 BAD ...
    C: b2 SEARCH $
    S: * SEARCH 3
    S: b2 OK ...
    C: b3 SORT RETURN (SAVE) (SUBJECT) X-NONE SUBJECT x
    S: b3 NO [BADCHARSET] ...
    C: b4 SEARCH $
    S: * SEARCH
    S: b4 OK ...
    C: b5 UID SEARCH RETURN (SAVE) 4
    S: b5 OK ...
    C: b6 UID SORT RETURN (SAVE) (SUBJECT) UTF-8
    S: b6 BAD ...
    C: b7 UID SORT RETURN (SAVE) (SUBJECT) X-NONE NONSENSE
    S: b7 BAD ...
    C: b8 UID SORT RETURN (COUNT) (SUBJECT) X-NONE SUBJECT x
    S: b8 NO [BADCHARSET] ...
    C: b9 SEARCH $
    S: * SEARCH 4
    S: b9 OK ...
    C: c1 UID SORT RETURN (SAVE COUNT) (SUBJECT) X-NONE SUBJECT x
    S: c1 NO [BADCHARSET] ...
    C: c2 SEARCH $
    S: * SEARCH
    S: c2 OK ...
    `
  )
})

test('a SORT that fails while it runs leaves nothing saved, one without SAVE leaves what was (RFC 5182 §2.1)', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  const other = await storeBeside(t, server)
  await appendMany(other, 'INBOX', 4)
  await client.command('SELECT INBOX')
  await client.command('SEARCH RETURN (SAVE) 2')
  await other.checkpoint()
  const { db } = other.searchAccess.database
  const pages = /** @type {number[]} */ (
    db.prepare("SELECT pageno FROM dbstat WHERE name = 'message_meta'").pluck().all()
  )
  for (const page of pages) damagePage(join(other.folder, 'mail.db'), page)
  // What was read of the file before is forgotten.
  await other.createMailbox('Other')
  assert.match(await client.command('SORT (SUBJECT) UTF-8 ALL'), /^w\d+ NO \[CORRUPTION\]/m)
  assert.match(await client.command('SEARCH $'), /^\* SEARCH 2\r\n/)
  const failing = 'UID SORT RETURN (SAVE) (SUBJECT) UTF-8 ALL'
  assert.match(await client.command(failing), /^w\d+ NO \[CORRUPTION\]/m)
  assert.match(await client.command('SEARCH $'), /^\* SEARCH\r\n/)
})

test('a mailbox that is selected anew has nothing saved (RFC 5182 §2.1)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${four}
    ${select('INBOX', { exists: 4 })}
    C: a1 SEARCH RETURN (SAVE COUNT) ALL
    S: * ESEARCH (TAG "a1") COUNT 4
    S: a1 OK ...
    ${select('INBOX', { exists: 4, isAnother: true })}
    C: a2 SEARCH $
    S: * SEARCH
    S: a2 OK ...
    `
  )
})

test('pipelined commands use the $ of the search before them (RFC 5182 §2.3)', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${four}
    ${select('INBOX', { exists: 4 })}
    C: a1 SEARCH RETURN (SAVE) 4
    C: a2 FETCH $ UID
    C: a3 SEARCH RETURN (SAVE MIN) ALL
    C: a4 FETCH $ UID
    S: a1 OK ...
    S: * 4 FETCH (UID 4)
    S: a2 OK ...
    S: * ESEARCH (TAG "a3") MIN 1
    S: a3 OK ...
    S: * 1 FETCH (UID 1)
    S: a4 OK ...
    `
  )
})

test(
  '$ may stand in a search thousands of times, and takes room for one',
  { skip: memoryIsUnreadable },
  async (t) => {
    const server = await startImapServer(t)
    const client = await loggedIn(t, server)
    const doublings = 11
    await selectMany(client, doublings)
    await client.command('SELECT INBOX')
    const odd = Array.from({ length: 2 ** (doublings - 1) }, (_, index) => 2 * index + 1)
    await client.command(`SEARCH RETURN (SAVE) ${odd.join(',')}`)
    const before = residentBytes(process.pid)
    forgetPeak(process.pid)
    const answer = await client.command(`SEARCH RETURN (COUNT) ${'$ '.repeat(10_000)}NOT 1`)
    assert.match(answer, new RegExp(`COUNT ${odd.length - 1}\\r`))
    const megabytes = (peakBytes(process.pid) - before) / 1e6
    assert.ok(megabytes < 200, `${megabytes} MB`)
  }
)
