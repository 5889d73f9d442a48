import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, get } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { clientOf, noteClients } from '../../../src/support/client-address.js'
import { scratchFolder } from '../../helpers/process.js'

/** Asks for something and breaks the connection at once. */
const HASTY = `
  const socket = require('net').connect(Number(process.argv[1]), '127.0.0.1', () => {
    socket.write('GET /hasty HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n')
    socket.resetAndDestroy()
  })`

/**
 * @param {import('node:test').TestContext} t
 * @param {import('node:net').ListenOptions} where
 * @returns {Promise<{ seen: [string | undefined, string | null][], server: import('node:http').Server }>} `seen`: path and
 *   client of each request
 */
async function listen(t, where) {
  /** @type {[string | undefined, string | null][]} */
  const seen = []
  const server = createServer(({ url, socket }, reply) => {
    seen.push([url, clientOf(socket)])
    reply.end()
  })
  noteClients(server, { isTls: false })
  await once(server.listen(where), 'listening')
  t.after(() => server.close())
  return { seen, server }
}

test('who has broken the connection before it is looked at has nothing done: nobody could say whose wish it was', async (t) => {
  const { seen, server } = await listen(t, { host: '127.0.0.1', port: 0 })
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  // This process waits meanwhile, and takes the connection only when it is broken.
  assert.equal(spawnSync(process.execPath, ['-e', HASTY, String(port)]).status, 0)
  const [reply] = await once(
    get({ host: '127.0.0.1', port, path: '/calm', agent: false }),
    'response'
  )
  reply.resume()
  assert.deepEqual(seen, [['/calm', '127.0.0.1']])
})

test('a unix socket has no address', async (t) => {
  const socketPath = join(scratchFolder(t, 'client'), 'socket')
  const { seen } = await listen(t, { path: socketPath })
  const [reply] = await once(get({ socketPath, path: '/', agent: false }), 'response')
  reply.resume()
  assert.deepEqual(seen, [['/', null]])
})
