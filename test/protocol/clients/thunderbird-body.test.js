import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { startImapServer, PASSWORD } from '../../helpers/server.js'
import { WireClient } from '../../helpers/wire-client.js'

/** What Thunderbird asks for at once, once a message is larger than 98,304 bytes. */
const CHUNK_BYTES = 65_536
const MESSAGE_BYTES = 3_000_000

/** @param {Buffer} bytes */
const digest = (bytes) => createHash('sha256').update(bytes).digest('hex')

/**
 * @param {import('../../helpers/server.js').TestServer} server
 * @returns {Promise<{ client: WireClient, message: Buffer, offsets: number[] }>} INBOX selected, the message in it
 */
async function openLargeMessage(server) {
  const attachment = randomBytes((MESSAGE_BYTES * 3) / 4).toString('base64')
  const lines = attachment.replace(/.{76}/g, '$&\r\n')
  const head =
    'Subject: photo\r\nContent-Type: image/png\r\nContent-Transfer-Encoding: base64\r\n\r\n'
  const message = Buffer.from(`${head}${lines}\r\n`)
  const client = await WireClient.connect(server.port)
  await client.login('alice', `"${PASSWORD}"`)
  assert.match(await client.command('APPEND INBOX (\\Seen)', message), /OK \[APPENDUID/)
  await client.command('SELECT INBOX')
  const count = Math.ceil(message.length / CHUNK_BYTES)
  const offsets = Array.from({ length: count }, (_, index) => index * CHUNK_BYTES)
  return { client, message, offsets }
}

/**
 * Takes the answer to one chunk's request.
 *
 * @param {WireClient} client
 * @param {{ offset: number, size: number, tag: string }} expected
 * @returns {Promise<Buffer>}
 */
async function takeChunk(client, { offset, size, tag }) {
  const head = await client.line()
  const found = /^\* 1 FETCH \(UID 1 RFC822\.SIZE (\d+) BODY\[\]<(\d+)> \{(\d+)\}\r\n$/.exec(head)
  assert.ok(found, head)
  assert.deepEqual(found.slice(1, 3).map(Number), [size, offset])
  const bytes = await client.take(Number(found[3]))
  assert.equal(await client.line(), ')\r\n')
  assert.match(await client.line(), new RegExp(`^${tag} OK `))
  return bytes
}

/** @param {number} offset */
const request = (offset) =>
  `UID fetch 1 (UID RFC822.SIZE BODY.PEEK[]<${offset}.${CHUNK_BYTES}>)\r\n`

test('a message of 3 MB comes back whole in chunks of 64 KiB', async (t) => {
  const { client, message, offsets } = await openLargeMessage(await startImapServer(t))
  const chunks = []
  for (const offset of offsets) {
    client.send(`${offset} ${request(offset)}`)
    chunks.push(await takeChunk(client, { offset, size: message.length, tag: `${offset}` }))
  }
  assert.equal(digest(Buffer.concat(chunks)), digest(message))
  client.destroy()
})

test('the chunks may be asked for in any order, one byte of a request at a time', async (t) => {
  const { client, message, offsets } = await openLargeMessage(await startImapServer(t))
  for (const offset of offsets.filter((_, index) => index % 5 === 0).reverse()) {
    for (const byte of Buffer.from(`${offset} ${request(offset)}`)) {
      client.send(Buffer.of(byte))
      await new Promise((resolve) => setImmediate(resolve))
    }
    const bytes = await takeChunk(client, { offset, size: message.length, tag: `${offset}` })
    assert.equal(digest(bytes), digest(message.subarray(offset, offset + CHUNK_BYTES)))
  }
  client.destroy()
})

test('all chunks asked for in one write come in order', async (t) => {
  const { client, message, offsets } = await openLargeMessage(await startImapServer(t))
  client.send(offsets.map((offset) => `${offset} ${request(offset)}`).join(''))
  const chunks = []
  for (const offset of offsets) {
    chunks.push(await takeChunk(client, { offset, size: message.length, tag: `${offset}` }))
  }
  assert.equal(digest(Buffer.concat(chunks)), digest(message))
  client.destroy()
})
