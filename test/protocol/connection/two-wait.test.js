/** An APPEND is answered late, when it is on the disk; the next command may wait for the client at the same time. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { loggedIn, MAIL, selectMany } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'

test('both are answered once the client reads', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  const other = await loggedIn(t, server)
  await selectMany(client, 13)
  await other.command('SELECT INBOX')
  // Long keywords: to tell them of all messages takes more than sockets hold.
  const keywords = Array.from({ length: 20 }, (_, index) => `k${index}${'x'.repeat(60)}`)
  await other.command(`STORE 1:* +FLAGS.SILENT (${keywords.join(' ')})`)
  client.socket.pause()
  const first = client.command('APPEND INBOX', MAIL)
  await sleep(1000)
  const second = client.command('APPEND INBOX', MAIL)
  await sleep(1000)
  client.socket.resume()
  assert.match(await first, /^w\d+ OK \[APPENDUID/m)
  assert.match(await second, /^w\d+ OK \[APPENDUID/m)
})
