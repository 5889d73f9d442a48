/** What one client's FETCH decodes or makes for it does not keep the others waiting until it is done. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { loggedIn } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'

/**
 * @param {() => Promise<string>} work
 * @returns {Promise<{ answer: string, turns: number }>} what it gave, and how often something else had its turn meanwhile
 */
async function turnsDuring(work) {
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  const answer = await work()
  clearInterval(timer)
  return { answer, turns }
}

test('BINARY and BINARY.SIZE of a large part let others have their turn', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  // So many that the fastest machine needs more than ten slices.
  const bytes = 30_000_000
  const line = `${Buffer.alloc(57, 'a').toString('base64')}\r\n`
  const base64 = line.repeat(Math.ceil(bytes / 57))
  const mail = Buffer.from(`Content-Transfer-Encoding: base64\r\n\r\n${base64}`)
  assert.match(await client.command('APPEND INBOX', mail), /w\d+ OK/)
  await client.command('SELECT INBOX')
  for (const item of ['BINARY.SIZE[1]', `BINARY.PEEK[1]<${bytes - 10}.10>`]) {
    const { answer, turns } = await turnsDuring(() => client.command(`FETCH 1 ${item}`))
    assert.match(answer, /w\d+ OK/)
    assert.ok(turns > 10, `${item}: ${turns} turns of the timer`)
  }
})

test('PREVIEWs that have to be made let others have their turn', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  const count = 50
  for (let nth = 0; nth < count; nth++) {
    const text = `${'<p> </p>\r\n'.repeat(25_000)}<p>paragraph &amp; ${nth}</p>`
    const mail = Buffer.from(`Content-Type: text/html\r\n\r\n${text}`)
    assert.match(await client.command('APPEND INBOX', mail), /w\d+ OK/)
  }
  await client.command('SELECT INBOX')
  const { answer, turns } = await turnsDuring(() => client.command('FETCH 1:* PREVIEW'))
  assert.equal(answer.match(/PREVIEW "paragraph & /g)?.length, count)
  assert.ok(turns > 10, `${turns} turns of the timer`)
})

test('hundreds of choices from one long header let others have their turn', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  const mail = Buffer.from(`${'a:\r\n'.repeat(200_000)}\r\nx`)
  assert.match(await client.command('APPEND INBOX', mail), /w\d+ OK/)
  await client.command('SELECT INBOX')
  const items = Array.from({ length: 100 }, (_, nth) => `BODY.PEEK[HEADER.FIELDS (X-${nth})]`)
  const { answer, turns } = await turnsDuring(() => client.command(`FETCH 1 (${items.join(' ')})`))
  assert.equal(answer.match(/\{2\}\r\n\r\n/g)?.length, 100)
  assert.ok(turns > 10, `${turns} turns of the timer`)
})
