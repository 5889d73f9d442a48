/**
 * Many sections of one long message in one command: more than may be held before the first of them is sent.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { test } from 'node:test'
import { startImapServer } from '../../helpers/server.js'
import { loggedIn } from '../../helpers/logged-in.js'

/** Packs to three quarters at best, and is stored in the smallest chunks. As text, so that an answer can be compared. */
const NOISE = createHash('shake256', { outputLength: 3_000_000 }).update('noise').digest('base64')

test('dozens of sections of one message are each what was asked for', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  const message = `Subject: long\r\n\r\n${NOISE}\r\n`
  await client.command('APPEND INBOX', Buffer.from(message))
  await client.command('SELECT INBOX')
  for (const bytes of [100, 70_000]) {
    const starts = Array.from({ length: 50 }, (_, nth) => nth * 60_013)
    const items = starts.map((start) => `BODY.PEEK[]<${start}.${bytes}>`).join(' ')
    const answer = await client.command(`FETCH 1 (${items})`)
    let at = 0
    for (const start of starts) {
      const expected = message.slice(start, start + bytes)
      const head = `BODY[]<${start}> {${expected.length}}\r\n`
      const from = answer.indexOf(head, at) + head.length
      assert.ok(from > at, `${start}`)
      at = from + expected.length
      assert.ok(answer.slice(from, at) === expected, `${bytes} at ${start}`)
    }
    assert.match(answer.slice(at), /^\)\r\nw\d+ OK /)
  }
})
