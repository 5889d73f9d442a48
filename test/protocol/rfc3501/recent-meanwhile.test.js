/** \Recent of messages that come while others are told of: one session has it of each (RFC 3501 §2.3.2). */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loggedIn, MAIL } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'

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
