/** \Recent of messages that come while others are told of: one session has it of each (RFC 3501 §2.3.2). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { append, select } from '../../helpers/dialogue.js'
import { loggedIn, MAIL } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'

const MESSAGES = 60

test('a message that comes while the one before it is told of is \\Recent too', async (t) => {
  const server = await startImapServer(t)
  const waiting = await loggedIn(t, server)
  const other = await loggedIn(t, server)
  await waiting.command('SELECT INBOX')
  waiting.send('i IDLE\r\n')
  await waiting.until(/^\+ [^\r]*\r\n/)
  // Some without waiting: they are committed together, and told while the next are on their way.
  for (let index = 0; index < MESSAGES; index++) {
    const appended = other.command('APPEND INBOX', MAIL)
    if (index % 3 === 0) await appended
  }
  await other.command('NOOP')
  waiting.send('DONE\r\n')
  await waiting.until(/i OK [^\r]*\r\n/)
  const recent = await waiting.command('SEARCH RETURN (COUNT) RECENT')
  assert.match(recent, new RegExp(`COUNT ${MESSAGES}\r\n`), recent)
  assert.match(await other.command('EXAMINE INBOX'), /\* 0 RECENT\r\n/)
})

test('how many are \\Recent is told when some of them have gone, once and only then', async (t) => {
  const server = await startImapServer(t)
  const others = append('INBOX', { connection: 2 })
  await transcript(
    server,
    `
    ${others}
    ${select('INBOX', { connection: 2, exists: 1 })}
    2C: a UNSELECT
    2S: a OK ...
    ${[others, others, others, others].join('\n')}
    ${select('INBOX', { exists: 5 })}
    1C: b STORE 1:3 +FLAGS.SILENT (\\Deleted)
    1S: b OK ...
    1C: c UID EXPUNGE 1
    1S: * 1 EXPUNGE
    1S: c OK ...
    1C: d EXPUNGE
    1S: * 2 EXPUNGE
    1S: * 1 EXPUNGE
    1S: * 2 RECENT
    1S: d OK ...
    ${select('INBOX', { connection: 2, exists: 2 })}
    2C: e STORE 1 +FLAGS.SILENT (\\Deleted)
    2S: e OK ...
    2C: f CLOSE
    2S: f OK ...
    1C: g NOOP
    1S: * 1 EXPUNGE
    1S: * 1 RECENT
    1S: g OK ...
    ${others}
    1C: h STORE 1 +FLAGS.SILENT (\\Deleted)
    1S: * 2 EXISTS
    1S: * 2 RECENT
    1S: h OK ...
    ${others}
    1C: i EXPUNGE
    1S: * 1 EXPUNGE
    1S: * 2 EXISTS
    1S: * 2 RECENT
    1S: i OK ...
    1C: j ENABLE QRESYNC
    1S: * OK [HIGHESTMODSEQ ...
    1S: * ENABLED QRESYNC
    1S: j OK ...
    1C: k MOVE 1:2 Trash
    1S: * OK [COPYUID ...
    1S: * VANISHED 6:7
    1S: * 0 RECENT
    1S: k OK ...
    `
  )
})

test('what comes while a mailbox is EXAMINEd is \\Recent there too, and goes to the next who selects it', async (t) => {
  const server = await startImapServer(t)
  await transcript(
    server,
    `
    ${append('INBOX', { connection: 2 })}
    ${select('INBOX', { how: 'EXAMINE', exists: 1 })}
    ${append('INBOX', { connection: 2 })}
    1C: b NOOP
    1S: * 2 EXISTS
    1S: * 2 RECENT
    1S: b OK ...
    1C: c FETCH 1:2 FLAGS
    1S: * 1 FETCH (FLAGS (\\Recent))
    1S: * 2 FETCH (FLAGS (\\Recent))
    1S: c OK ...
    ${select('INBOX', { connection: 2, exists: 2 })}
    2C: d SEARCH RECENT
    2S: * SEARCH 1 2
    2S: d OK ...
    ${append('INBOX', { connection: 3 })}
    2C: e NOOP
    2S: * 3 EXISTS
    2S: * 3 RECENT
    2S: e OK ...
    1C: f NOOP
    1S: * 3 EXISTS
    1S: * 2 RECENT
    1S: f OK ...
    1C: g SEARCH RECENT
    1S: * SEARCH 1 2
    1S: g OK ...
    `
  )
})
