import { test } from 'node:test'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { relay } from '../../../src/cluster/relay.js'

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ near: import('node:net').Socket, far: import('node:net').Socket }>} two ends of a connection
 */
async function connected(t) {
  const server = createServer({ allowHalfOpen: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const far = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  const [near] = await once(server, 'connection')
  server.close()
  t.after(() => {
    for (const socket of [near, far]) socket.destroy()
  })
  return { near, far }
}

const isHolderAlive = async () => true

test('a client that has closed its side before its session goes elsewhere is heard to its last word there', async (t) => {
  const { near: client, far: program } = await connected(t)
  const { near: holder, far: worker } = await connected(t)
  program.end('a NOOP\r\n')
  client.on('readable', () => client.read())
  await once(client, 'end')
  client.removeAllListeners('readable')
  const isOver = relay({ client, rest: Buffer.from('a NOOP\r\n'), holder, isHolderAlive })
  assert.equal(await text(worker), 'a NOOP\r\n')
  worker.end('a OK\r\n')
  assert.equal(await text(program), 'a OK\r\n')
  program.destroy()
  await isOver
})
