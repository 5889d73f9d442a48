import assert from 'node:assert/strict'
import { test } from 'node:test'
import { startImapServer, PASSWORD } from '../../helpers/server.js'
import { WireClient } from '../../helpers/wire-client.js'

/** Larger than what is copied into one batch of replies, and than one chunk of the store. */
const HEADER_BYTES = 200_000

test('a large header and body asked for twice in one FETCH come whole both times', async (t) => {
  const server = await startImapServer(t)
  const client = await WireClient.connect(server.port)
  await client.login('alice', `"${PASSWORD}"`)
  const line = `X-Filler: ${'f'.repeat(60)}\r\n`
  const header = `Subject: x\r\n${line.repeat(HEADER_BYTES / line.length)}\r\n`
  const body = 'b'.repeat(300_000)
  await client.command('APPEND INBOX', Buffer.from(header + body))
  await client.command('SELECT INBOX')
  const items = 'BODY.PEEK[HEADER] BODY.PEEK[TEXT] BODY.PEEK[HEADER]<0.150000> BODY.PEEK[]'
  const answer = await client.command(`FETCH 1 (${items} RFC822.HEADER)`)
  const expected = [
    `* 1 FETCH (BODY[HEADER] {${header.length}}\r\n${header}`,
    ` BODY[TEXT] {${body.length}}\r\n${body}`,
    ` BODY[HEADER]<0> {150000}\r\n${header.slice(0, 150_000)}`,
    ` BODY[] {${header.length + body.length}}\r\n${header}${body}`,
    ` RFC822.HEADER {${header.length}}\r\n${header})\r\n`
  ].join('')
  assert.ok(answer.startsWith(expected), answer.slice(0, 200))
  client.destroy()
})
