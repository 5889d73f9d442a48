import assert from 'node:assert/strict'
import { once } from 'node:events'
import { rename } from 'node:fs/promises'
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
  return { folder, peers, other, server }
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

test('a worker that hangs up as it is met is one that has gone', async (t) => {
  const { peers, other, server } = await setUp(t)
  server.on('connection', (socket) => socket.once('data', () => socket.destroy()))
  await peers.meet(other)
  assert.deepEqual(peers.all, [])
})

test('a run folder that cannot be read is told and looked at again; no look keeps a process from ending, or is left', async (t) => {
  const { folder, other } = await setUp(t)
  const set = t.mock.method(globalThis, 'setInterval').mock
  const clear = t.mock.method(globalThis, 'clearInterval').mock
  const timers = () => process.getActiveResourcesInfo().filter((kind) => kind === 'Timeout').length
  const before = timers()
  const told = Promise.withResolvers()
  const peers = new Peers({
    folder,
    self: other,
    onMet: () => {},
    onGone: () => {},
    logger: /** @type {any} */ ({ warn: told.resolve })
  })
  t.after(() => peers.close())
  await peers.start()
  assert.equal(timers(), before)
  assert.equal(set.callCount(), 1)
  await rename(folder, `${folder}-elsewhere`)
  t.after(() => rename(`${folder}-elsewhere`, folder).catch(() => {}))
  set.calls[0]?.arguments[0]()
  assert.equal((await told.promise).err.code, 'ENOENT')
  peers.close()
  assert.equal(clear.calls[0]?.arguments[0], set.calls[0]?.result)
})
