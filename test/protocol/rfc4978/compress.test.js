import { test } from 'node:test'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { constants, deflateRawSync } from 'node:zlib'
import { CompressedClient } from '../../helpers/compressed-client.js'
import { PASSWORD, startImapServer } from '../../helpers/server.js'
import { transcript } from '../../helpers/transcript.js'
import { WireClient } from '../../helpers/wire-client.js'

/** A message of text that compresses and text that does not, larger than every buffer on the way. */
function largeMessage() {
  const lines = ['Subject: large', '']
  for (let i = 0; i < 3000; i++)
    lines.push('the same line again and again', randomBytes(48).toString('base64'))
  return Buffer.from(lines.join('\r\n'))
}

test('COMPRESS is offered after login, takes DEFLATE alone, and only once (RFC 4978 §3)', async (t) => {
  const server = await startImapServer(t)
  const before = await WireClient.connect(server.port)
  assert.match(await before.command('COMPRESS DEFLATE'), /^w1 BAD /)
  before.destroy()
  await transcript(
    server,
    `
    C: a CAPABILITY
    S: * CAPABILITY ... COMPRESS=DEFLATE...
    S: a OK ...
    C: b COMPRESS LZMA
    S: b BAD ...
    C: c COMPRESS
    S: c BAD ...
    C: d COMPRESS DEFLATE now
    S: d BAD ...
    `
  )
  const client = await CompressedClient.connect(server)
  t.after(() => client.destroy())
  assert.match(await client.command('COMPRESS DEFLATE'), /^z1 BAD \[COMPRESSIONACTIVE\] /)
})

test('a message goes in and comes out byte for byte, on TLS and without', async (t) => {
  const server = await startImapServer(t)
  const message = largeMessage()
  for (const isTls of [false, true]) {
    const client = await CompressedClient.connect(server, { isTls })
    t.after(() => client.destroy())
    assert.match(await client.command('APPEND Drafts', message), /OK \[APPENDUID/)
    assert.match(await client.command('SELECT Drafts'), /OK \[READ-WRITE\]/)
    const answer = await client.command('FETCH * BODY.PEEK[]')
    const start = answer.indexOf('}\r\n') + 3
    assert.ok(
      Buffer.from(answer, 'latin1')
        .subarray(start, start + message.length)
        .equals(message)
    )
    assert.ok(client.wireBytes < client.plainBytes)
    assert.match(await client.command('LOGOUT'), /\* BYE [^]*OK /)
  }
})

test('commands that are pipelined behind COMPRESS are compressed already', async (t) => {
  const server = await startImapServer(t)
  const wire = await WireClient.connect(server.port)
  await wire.login('alice', `"${PASSWORD}"`)
  const deflated = deflateRawSync(Buffer.from('x1 NOOP\r\nx2 NOOP\r\n'), {
    finishFlush: constants.Z_SYNC_FLUSH
  })
  wire.send(Buffer.concat([Buffer.from('w2 COMPRESS DEFLATE\r\n'), deflated]))
  await wire.until(/w2 OK [^\r]*\r\n/)
  const client = new CompressedClient(wire)
  t.after(() => client.destroy())
  await client.until(/x1 OK [^]*x2 OK [^\r]*\r\n/)
})

test('what IDLE tells goes out at once: each batch ends with a flush', async (t) => {
  const server = await startImapServer(t)
  const idler = await CompressedClient.connect(server)
  const other = await CompressedClient.connect(server)
  t.after(() => [idler, other].forEach((client) => client.destroy()))
  await idler.command('SELECT INBOX')
  idler.send('i IDLE\r\n')
  await idler.until(/\+ [^\r]*\r\n/)
  for (const count of [1, 2, 3]) {
    await other.command('APPEND INBOX', Buffer.from('Subject: news\r\n\r\nbody\r\n'))
    await idler.until(new RegExp(`\\* ${count} EXISTS\\r\\n\\* ${count} RECENT\\r\\n`))
  }
  idler.send('DONE\r\n')
  await idler.until(/i OK [^\r]*\r\n/)
})

test('input in pieces of one byte is understood', async (t) => {
  const server = await startImapServer(t)
  const wire = await WireClient.connect(server.port)
  await wire.login('alice', `"${PASSWORD}"`)
  await wire.command('COMPRESS DEFLATE')
  const client = new CompressedClient(wire)
  t.after(() => client.destroy())
  const text = 'y1 STATUS INBOX (MESSAGES)\r\ny2 NOOP\r\n'
  for (const byte of deflateRawSync(Buffer.from(text), { finishFlush: constants.Z_SYNC_FLUSH })) {
    wire.send(Buffer.of(byte))
    await new Promise((resolve) => setImmediate(resolve))
  }
  await client.until(/y1 OK [^]*y2 OK [^\r]*\r\n/)
})

test('a decompression bomb meets the limits of a line, and holds no memory', async (t) => {
  const server = await startImapServer(t)
  const client = await CompressedClient.connect(server)
  t.after(() => client.destroy())
  // 512 MiB of one letter in half a megabyte: 512 times the same mebibyte, each ended at a byte.
  const mebibyte = deflateRawSync(Buffer.alloc(1024 * 1024, 0x41), {
    finishFlush: constants.Z_SYNC_FLUSH
  })
  const bomb = Buffer.concat(Array(512).fill(mebibyte))
  const before = process.memoryUsage().arrayBuffers
  let peak = 0
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().arrayBuffers - before)
  }, 5)
  client.wire.send(bomb)
  await client.until(/BAD [^\r]*\r\n/)
  await client.until(/\* BYE [^\r]*\r\n/)
  clearInterval(watch)
  assert.ok(peak < 8 * 1024 * 1024, `${peak} bytes`)
})

test('bytes that are no deflate stream end the connection, and nothing else', async (t) => {
  const server = await startImapServer(t)
  const client = await CompressedClient.connect(server)
  client.wire.send(Buffer.alloc(4096, 0xff))
  await new Promise((resolve) => client.wire.socket.once('close', resolve))
  const next = await CompressedClient.connect(server)
  t.after(() => next.destroy())
  assert.match(await next.command('NOOP'), /OK/)
})

test('a half-closed connection gets the answers to what it had sent', async (t) => {
  const server = await startImapServer(t)
  const client = await CompressedClient.connect(server)
  t.after(() => client.destroy())
  await client.send('h1 NOOP\r\nh2 LIST "" *\r\n')
  client.wire.socket.end()
  await client.until(/h1 OK [^]*h2 OK [^\r]*\r\n/)
})

test('a client that does not read is waited for, compressed too', async (t) => {
  const server = await startImapServer(t)
  const client = await CompressedClient.connect(server)
  t.after(() => client.destroy())
  const noise = Buffer.from(
    `Subject: noise\r\n\r\n${randomBytes(3_000_000).toString('base64')}\r\n`
  )
  await client.command('APPEND INBOX', noise)
  await client.command('SELECT INBOX')
  client.wire.socket.pause()
  client.send('s1 FETCH 1 BODY.PEEK[]\r\ns2 FETCH 1 BODY.PEEK[]\r\ns3 NOOP\r\n')
  await new Promise((resolve) => setTimeout(resolve, 300))
  client.wire.socket.resume()
  const answer = await client.until(/s3 OK [^\r]*\r\n/)
  assert.ok(answer.length > 2 * noise.length)
})

/** Long enough for a deflater to refer back to it, and in no other command. */
const PHRASE = 'a phrase that is searched for, and then stands in a message: 0123456789'

/** Commands of which bytes are changed, or zeroed, where they came in. */
const SEEN_BEFORE = /** @type {readonly [string, readonly string[]][]} */ ([
  ['in a literal', [`1 SEARCH TEXT {${PHRASE.length}+}\r\n${PHRASE}\r\n`]],
  ['in a quoted string with a backslash', [`1 SEARCH TEXT "\\"${PHRASE}"\r\n`]],
  ['in a line that came in two pieces', [`1 SEARCH TEXT "${PHRASE}`, '"\r\n']],
  ['in a line that is wrong', [`1 SEARCH TEXT "${PHRASE}" (\r\n`]],
  ['in a message', [`1 APPEND Drafts {${PHRASE.length + 2}+}\r\n\r\n${PHRASE}\r\n`]]
])

test('after a silence the conversation goes on, and refers to what was said before', async (t) => {
  const server = await startImapServer(t)
  const message = Buffer.from(`Subject: seen before\r\n\r\n${PHRASE}, and more\r\n`)
  const goOn = async (/** @type {string} */ name, /** @type {readonly string[]} */ pieces) => {
    const client = await CompressedClient.connect(server)
    t.after(() => client.destroy())
    await client.command('SELECT Drafts')
    for (const piece of pieces) {
      await client.send(piece)
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
    await client.until(/1 (OK|BAD) [^\r]*\r\n/)
    await new Promise((resolve) => setTimeout(resolve, 4500))
    const uid = /APPENDUID \d+ (\d+)/.exec(await client.command('APPEND Drafts', message))?.[1]
    const answer = await client.command(`UID FETCH ${uid} BODY.PEEK[]`)
    assert.ok(answer.includes(`}\r\n${message})\r\n`), `${name}: ${answer}`)
    assert.match(await client.command('STATUS INBOX (UIDNEXT)'), /UIDNEXT 1\)[^]*OK/)
  }
  await Promise.all(SEEN_BEFORE.map(([name, pieces]) => goOn(name, pieces)))
})
