/** A keyword is announced by FLAGS before it is used (RFC 3501 §7.2.6), also one that another session makes meanwhile. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { loggedIn, selectMany } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'

const ITEMS = [
  'FLAGS',
  '(UID FLAGS RFC822.SIZE)',
  '(UID FLAGS BODY.PEEK[])',
  '(UID FLAGS BODY.PEEK[TEXT])'
]

/**
 * @param {import('../../helpers/wire-client.js').WireClient} client
 * @param {string} tag
 * @returns {Promise<string>} all up to the tagged reply, latin1: only its end is looked at meanwhile
 */
async function longAnswer({ socket }, tag) {
  /** @type {string[]} */
  const pieces = []
  await new Promise((resolve) => {
    const onData = (/** @type {Buffer} */ chunk) => {
      pieces.push(chunk.toString('latin1'))
      const end = pieces.slice(-2).join('')
      if (!end.endsWith('\r\n') || !end.includes(`\r\n${tag} OK`)) return
      socket.off('data', onData)
      resolve(undefined)
    }
    socket.on('data', onData)
  })
  return pieces.join('')
}

test('a keyword that is made while a FETCH waits for its client is told before it is used', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  const other = await loggedIn(t, server)
  await selectMany(client, 12)
  await other.command('SELECT INBOX')
  // Long keywords: an answer takes more than sockets hold.
  const long = Array.from({ length: 36 }, (_, index) => `k${index}${'x'.repeat(80)}`)
  await other.command(`STORE 1:* +FLAGS.SILENT (${long.join(' ')})`)
  for (const [index, items] of ITEMS.entries()) {
    const keyword = `late${index}`
    await client.command('NOOP')
    client.socket.pause()
    const answer = longAnswer(client, `f${index}`)
    client.send(`f${index} FETCH 1:* ${items}\r\n`)
    await sleep(1000)
    await other.command(`STORE 10:* +FLAGS.SILENT (${keyword})`)
    client.socket.resume()
    const lines = (await answer).split('\r\n')
    const used = lines.findIndex((line) => line.includes(' FETCH ') && line.includes(` ${keyword}`))
    const told = lines.findIndex((line) => line.startsWith('* FLAGS') && line.includes(keyword))
    assert.ok(used !== -1, `${items}: the keyword came while the answer was under way`)
    assert.ok(told !== -1 && told < used, `${items}: line ${told} tells of it, line ${used} has it`)
  }
})
