import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createConnection, createServer } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { test } from 'node:test'
import { onreadShared, readShared } from '../../../src/support/shared-read.js'

/** @import { AddressInfo, Server, Socket } from 'node:net' */
/** @import { TestContext } from 'node:test' */

/**
 * @param {TestContext} t
 * @param {import('node:net').ServerOpts} [options]
 */
async function startServer(t, options = {}) {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, ...options })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  t.after(() => server.close())
  return server
}

/**
 * @param {Server} server
 * @returns {Promise<{ client: Socket, accepted: Socket, served: Socket }>}
 */
async function connect(server) {
  const { port } = /** @type {AddressInfo} */ (server.address())
  const connected = once(server, 'connection')
  const client = createConnection({ port, host: '127.0.0.1', allowHalfOpen: true })
  const [accepted] = await connected
  return { client, accepted, served: readShared(accepted) }
}

const sharedBuffer = () => {
  const { buffer: shared } = onreadShared(() => assert.fail('nothing was read'))
  return /** @type {Buffer} */ (shared)
}

test('the pinned Node lets an accepted connection read into the shared buffer', async (t) => {
  const server = await startServer(t, { highWaterMark: 12_345 })
  const { client, accepted, served } = await connect(server)
  assert.notEqual(served, accepted)
  assert.equal(served.remoteAddress, '127.0.0.1')
  assert.equal(served.remotePort, client.localPort)
  assert.equal(served.allowHalfOpen, true)
  assert.equal(served.readableHighWaterMark, 12_345)
  let asked = ''
  // Not gathered as below: to read a socket to its end by an iterator destroys it in Node 26, with what is still to be sent.
  served.on('data', (bytes) => (asked += bytes.toString()))
  client.end('asked')
  await once(served, 'end')
  assert.equal(asked, 'asked')
  // The client has closed its side, and still hears the answer.
  served.end('answered')
  assert.equal(String(await buffer(client)), 'answered')
})

test('each of many connections gets its own bytes, in memory of its own', async (t) => {
  const server = await startServer(t)
  const pairs = []
  for (let i = 0; i < 20; i++) pairs.push(await connect(server))
  await Promise.all(
    pairs.map(async ({ client, served }) => {
      const sizes = [1, 64, 65, 4096, 65_536, 300_000, 7]
      const sent = sizes.map((size) => randomBytes(size))
      /** @type {Buffer[]} */
      const got = []
      served.on('data', (chunk) => {
        assert.equal(chunk.buffer.byteLength, chunk.length)
        got.push(chunk)
      })
      for (const part of sent) {
        client.write(part)
        await new Promise((resolve) => setImmediate(resolve))
      }
      client.end()
      await once(served, 'end')
      assert.ok(Buffer.concat(got).equals(Buffer.concat(sent)))
      served.destroy()
    })
  )
})

test('who does not read holds the other side back', async (t) => {
  const server = await startServer(t)
  const { client, served } = await connect(server)
  const sent = randomBytes(32 * 1024 * 1024)
  client.end(sent)
  // As much as the two sockets of the system take, and not more.
  let before = -1
  while (before !== served.bytesRead) {
    before = served.bytesRead
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  assert.ok(served.readableLength <= served.readableHighWaterMark + 64 * 1024)
  assert.ok((await buffer(served)).equals(sent))
  served.destroy()
})

test('what was read does not remain in the shared buffer', async (t) => {
  const server = await startServer(t)
  const { client, served } = await connect(server)
  for (const secret of ['a LOGIN user "correct horse"\r\n', 'x'.repeat(70_000)]) {
    client.write(secret)
    let got = ''
    while (got.length < secret.length) got += (await once(served, 'data'))[0]
    assert.equal(got, secret)
    assert.ok(sharedBuffer().every((byte) => byte === 0))
  }
  client.destroy()
  served.destroy()
})

test('a connection that this process makes reads the same way', async (t) => {
  const server = await startServer(t)
  const { port } = /** @type {AddressInfo} */ (server.address())
  const connected = once(server, 'connection')
  /** @type {Socket} */
  const client = createConnection({
    port,
    host: '127.0.0.1',
    onread: onreadShared(() => client)
  })
  const sent = randomBytes(200_000)
  const [accepted] = await connected
  accepted.end(sent)
  assert.ok((await buffer(client)).equals(sent))
})

test('the server has closed once its last connection was taken over', async (t) => {
  const server = await startServer(t)
  const { client, served } = await connect(server)
  server.close()
  await once(server, 'close')
  client.end('still')
  assert.equal(String(await buffer(served)), 'still')
  served.destroy()
})

test('a connection that is gone already is served like any other, to its end', async (t) => {
  const server = await startServer(t)
  const { port } = /** @type {AddressInfo} */ (server.address())
  const connected = once(server, 'connection')
  const client = createConnection({ port, host: '127.0.0.1' })
  await once(client, 'connect')
  client.resetAndDestroy()
  const [accepted] = await connected
  const served = readShared(accepted)
  const failed = once(served, 'error')
  served.resume()
  const [error] = await failed
  assert.equal(error.code, 'ECONNRESET')
  accepted.destroy()
  assert.equal(readShared(accepted), accepted)
})
