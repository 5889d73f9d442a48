import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { Peers } from '../../../src/cluster/peers.js'
import { socketNameOf } from '../../../src/cluster/socket-name.js'
import { scratchFolder } from '../../helpers/process.js'
import { silentLogger } from '../../helpers/delivery.js'

/**
 * A worker, and the place of another one that listens and says nothing.
 *
 * @param {import('node:test').TestContext} t
 */
async function setUp(t) {
  const folder = scratchFolder(t, 'peers')
  /** @param {number} slot */
  const placeOf = (slot) => {
    const candidate = { slot, generation: 1, pid: 1 }
    return { ...candidate, path: join(folder, socketNameOf(candidate)) }
  }
  const other = placeOf(1)
  const server = createServer().listen(other.path)
  t.after(() => server.close())
  await once(server, 'listening')
  const peers = new Peers({
    folder,
    self: placeOf(0),
    onMet: () => assert.fail('nobody answers'),
    onGone: () => {},
    logger: silentLogger
  })
  t.after(() => peers.close())
  return { peers, other, server }
}

test('a worker that is closed while it meets another holds no link to it', async (t) => {
  const { peers, other, server } = await setUp(t)
  const accepted = once(server, 'connection')
  const meeting = peers.meet(other)
  peers.close()
  await meeting
  assert.deepEqual(peers.all, [])
  const [socket] = await accepted
  await once(socket.resume(), 'close')
})

test('a worker that is closed while it starts looks for others no more', async (t) => {
  const { peers } = await setUp(t)
  const { mock } = t.mock.method(globalThis, 'setInterval')
  const starting = peers.start()
  peers.close()
  await starting
  assert.deepEqual(peers.all, [])
  assert.equal(mock.callCount(), 0)
})
