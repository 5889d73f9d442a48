/** APPEND of many messages in one command (RFC 3502). */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { logIn } from '../../helpers/accounts.js'
import { openBeside } from '../../helpers/beside.js'
import { loggedIn } from '../../helpers/logged-in.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'

/**
 * @param {import('../../helpers/wire-client.js').WireClient} client
 * @param {Iterable<Buffer>} messages
 * @param {string} [before] - flags and date of each
 * @returns {Promise<string>} the tagged answer
 */
async function appendMany(client, messages, before = '') {
  client.send('many APPEND Archive')
  for (const message of messages) {
    client.send(` ${before}{${message.length}+}\r\n`)
    await client.pour(message)
  }
  client.send('\r\n')
  return await client.until(/^many .*\r\n/m)
}

test('two thousand messages with flags and dates are one command', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  const before = '(\\Seen \\Answered $Forwarded) "01-Jan-2024 10:00:00 +0100" '
  const messages = Array.from({ length: 2000 }, (_, nth) => Buffer.from(`Subject: ${nth}\r\n\r\nx`))
  assert.match(await appendMany(client, messages, before), /^many OK \[APPENDUID \d+ 1:2000\] /)
  const answer = await client.command('STATUS Archive (MESSAGES UNSEEN)')
  assert.match(answer, /\(MESSAGES 2000 UNSEEN 0\)/)
})

test('more than there is room for is refused, and the session goes on', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  const before = `(${Array.from({ length: 2000 }, (_, nth) => `keyword${nth}`).join(' ')}) `
  const messages = Array(60).fill(Buffer.from('x'))
  assert.match(await appendMany(client, messages, before), /^many BAD \[LIMIT\] /)
  const answer = await client.command('STATUS Archive (MESSAGES)')
  assert.match(answer, /\(MESSAGES 0\)/)
})

/** @param {number} size */
const noise = (size) => randomBytes(size).toString('base64').replace(/.{76}/g, '$&\r\n')

test('messages of which some had to go into the file at once come back byte for byte', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  const messages = Array.from({ length: 40 }, (_, nth) =>
    Buffer.from(`Subject: ${nth}\r\n\r\n${noise(nth % 2 === 0 ? 180_000 : 100)}`)
  )
  assert.match(await appendMany(client, messages), /^many OK \[APPENDUID \d+ 1:40\] /)
  await client.command('SELECT Archive')
  for (const [index, message] of messages.entries()) {
    client.send(`get FETCH ${index + 1} BODY.PEEK[]\r\n`)
    assert.equal(Number(/\{(\d+)\}/.exec(await client.line())?.[1]), message.length)
    assert.ok((await client.take(message.length)).equals(message), `message ${index + 1}`)
    await client.until(/^get OK .*\r\n/m)
  }
})

test('a command that is refused at its end gives up what is in the file of it already', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  await client.command('DELETE Archive')
  const db = await openBeside(server)
  t.after(() => db.close())
  const count = (/** @type {string} */ table) =>
    Number(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get())
  // Each of them is too small to be looked at before it comes; more of them than are kept in memory.
  const messages = Array.from({ length: 120 }, () =>
    Buffer.from(`Subject: x\r\n\r\n${noise(45_000)}`)
  )
  assert.match(await appendMany(client, messages), /^many NO \[TRYCREATE\] /)
  assert.equal(count('contents WHERE staged_at IS NOT NULL'), 0)
  const left = count('garbage_contents')
  assert.ok(left > 0 && left === count('contents'), 'the sweep takes them')
  await client.command('CREATE Archive')
  assert.match(await appendMany(client, messages), /^many OK \[APPENDUID \d+ 1:120\] /)
})

test('ten thousand messages are the most, and the command behind them is answered', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  const messages = Array(10_001).fill(Buffer.from('x'))
  assert.match(await appendMany(client, messages), /^many NO \[LIMIT\] /)
  assert.match(await client.command('STATUS Archive (MESSAGES)'), /\(MESSAGES 0\)/)
  assert.match(await appendMany(client, messages.slice(1)), /^many OK \[APPENDUID \d+ 1:10000\] /)
})

test('too much of what is kept of headers is refused as a whole', async (t) => {
  const server = await startImapServer(t)
  const client = await loggedIn(t, server)
  const field = 'X-Long: '.padEnd(998, 'x')
  const head = Buffer.from(`${field}\r\n`.repeat(250))
  /** @returns {Generator<Buffer>} more than 64 MiB of header */
  function* messages() {
    for (let nth = 0; nth < 300; nth++)
      yield Buffer.concat([Buffer.from(`Subject: ${nth}\r\n`), head, Buffer.from('\r\nx')])
  }
  assert.match(await appendMany(client, messages()), /^many NO \[LIMIT\] /)
  const status = await client.command('STATUS Archive (MESSAGES UIDNEXT)')
  assert.match(status, /\(MESSAGES 0 UIDNEXT 1\)/)
})

test('a command may take hours to come, as over a slow line', async (t) => {
  const clock = new ManualClock()
  const server = await startImapServer(t, { clock })
  const client = await loggedIn(t, server)
  const { store, release } = await server.openAccounts.acquire(
    await logIn(server.services, PASSWORD, { username: 'alice' })
  )
  const messages = Array.from({ length: 4 }, (_, nth) =>
    Buffer.from(`Subject: ${nth}\r\n\r\n${noise(300_000)}`)
  )
  client.send('many APPEND Archive')
  for (const message of messages) {
    client.send(` {${message.length}}\r\n`)
    // The message before it is in the file by now.
    await client.until(/^\+ .*\r\n/m)
    clock.advance(25 * 60 * 1000)
    await store.upkeep.sweep()
    client.socket.write(message)
  }
  client.send('\r\n')
  assert.match(await client.until(/^many .*\r\n/m), /^many OK \[APPENDUID \d+ 1:4\] /m)
  await release()
})
