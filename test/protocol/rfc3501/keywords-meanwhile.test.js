/** A keyword is announced by FLAGS before it is used (RFC 3501 §7.2.6), also one that another session makes meanwhile. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { loggedIn, selectMany } from '../../helpers/logged-in.js'
import { startImapServer } from '../../helpers/server.js'

/** @import { TestContext } from 'node:test' */
/** @import { TestServer } from '../../helpers/server.js' */
/** @import { WireClient } from '../../helpers/wire-client.js' */

const ITEMS = [
  'FLAGS',
  '(UID FLAGS RFC822.SIZE)',
  '(UID FLAGS BODY.PEEK[])',
  '(UID FLAGS BODY.PEEK[TEXT])'
]

/** More than both sockets hold for a client that has read little: 4 MiB of the server's, 128 KiB of the client's. */
const LONG_BYTES = 12 * 1024 * 1024

/**
 * @param {WireClient} client
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

/**
 * Runs a FETCH in a session of its own, in which nothing long was read before: the kernel lets a socket that is read from
 * hold more and more, at last a whole answer. The client reads nothing until the other session has made the keyword.
 *
 * @param {TestContext} t
 * @param {TestServer} server
 * @param {string} command
 * @param {() => Promise<unknown>} makeKeyword
 * @returns {Promise<string[]>} the answer's lines
 */
async function fetchMeanwhile(t, server, command, makeKeyword) {
  const client = await loggedIn(t, server)
  await client.command('SELECT INBOX')
  client.socket.pause()
  const answer = longAnswer(client, 'f')
  client.send(`f ${command}\r\n`)
  await sleep(1000)
  const isDone = server.logged.some((/** @type {any} */ { command: name }) => name === 'FETCH')
  assert.equal(isDone, false, `${command}: was answered before the keyword was made`)
  await makeKeyword()
  client.socket.resume()
  const text = await answer
  client.destroy()
  server.logged.length = 0
  return text.split('\r\n')
}

/**
 * @param {readonly string[]} lines
 * @param {string} keyword
 * @param {string} command
 */
function assertToldBeforeUse(lines, keyword, command) {
  const isUse = (/** @type {string} */ line) =>
    !line.startsWith('* FLAGS') && new RegExp(`FLAGS \\([^)]*\\b${keyword}[ )]`).test(line)
  const used = lines.findIndex(isUse)
  const told = lines.findIndex((line) => line.startsWith('* FLAGS') && line.includes(keyword))
  assert.notEqual(used, -1, `${command}: no line has the keyword, so nothing was tried`)
  assert.notEqual(told, -1, `${command}: no FLAGS tells of the keyword that line ${used} has`)
  assert.ok(told < used, `${command}: line ${used} has the keyword, line ${told} tells of it`)
}

test('a keyword that is made while a FETCH waits for its client is told before it is used', async (t) => {
  const server = await startImapServer(t)
  const other = await loggedIn(t, server)
  await selectMany(other, 12)
  // Long keywords: an answer takes more than sockets hold.
  const long = Array.from({ length: 36 }, (_, index) => `k${index}${'x'.repeat(80)}`)
  await other.command(`STORE 1:* +FLAGS.SILENT (${long.join(' ')})`)
  for (const [index, items] of ITEMS.entries()) {
    const keyword = `late${index}`
    const command = `FETCH 1:* ${items}`
    const lines = await fetchMeanwhile(t, server, command, () =>
      other.command(`STORE 10:* +FLAGS.SILENT (${keyword})`)
    )
    assertToldBeforeUse(lines, keyword, command)
  }
})

test('nor is one used behind a text during which it was made, in the same response', async (t) => {
  const server = await startImapServer(t)
  const other = await loggedIn(t, server)
  const body = Buffer.alloc(LONG_BYTES, `${'y'.repeat(62)}\r\n`)
  await other.command('APPEND INBOX', Buffer.concat([Buffer.from('Subject: long\r\n\r\n'), body]))
  await other.command('SELECT INBOX')
  const commands = ['FETCH 1 (BODY.PEEK[TEXT] FLAGS)', 'FETCH 1 BODY[TEXT]']
  for (const [index, command] of commands.entries()) {
    const keyword = `behind${index}`
    const lines = await fetchMeanwhile(t, server, command, () =>
      other.command(`STORE 1 +FLAGS.SILENT (${keyword})`)
    )
    assertToldBeforeUse(lines, keyword, command)
  }
})
