/**
 * Which workers a worker knows, and which of them may be registrars.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { access, lstat, rename, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { readFrame } from '../../../src/cluster/frame.js'
import { answerLink } from '../../../src/cluster/link.js'
import { Peers } from '../../../src/cluster/peers.js'
import { socketNameOf } from '../../../src/cluster/socket-name.js'
import { silentLogger } from '../../helpers/delivery.js'
import { scratchFolder } from '../../helpers/process.js'

const ACCOUNTS = Array.from({ length: 50 }, (_, nth) => `account ${nth}`)

/**
 * A worker in slot 0, and another one in slot 1 that answers.
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
  const [self, other] = [placeOf(0), placeOf(1)]
  /** @type {any[]} */
  const asked = []
  /** @type {import('node:net').Socket[]} */
  const sockets = []
  const server = createServer(async (socket) => {
    sockets.push(socket)
    socket.on('error', () => {})
    const first = await readFrame(socket, { timeoutMs: 60_000 })
    const answer = async (/** @type {any} */ { n: _, ...question }) => {
      asked.push(question)
      return 'well met'
    }
    if (first) answerLink(socket, first, answer, assert.fail)
  }).listen(other.path)
  await once(server, 'listening')
  /** @type {unknown[]} */
  const events = []
  const peers = new Peers({
    folder,
    self,
    onMet: ({ path }, answer) => events.push([path, answer]),
    onGone: () => events.push('gone'),
    logger: silentLogger
  })
  t.after(() => {
    peers.close()
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  /** @returns {string} whose the accounts are: of this one, the other or both */
  const registrars = () =>
    [...new Set(ACCOUNTS.map((id) => peers.registrarOf(id)?.path ?? self.path))]
      .map((path) => (path === self.path ? 'self' : 'other'))
      .sort()
      .join(' and ')
  return { folder, placeOf, self, other, asked, sockets, events, peers, registrars }
}

test('a worker that is met shares the accounts, until it leaves or dies', async (t) => {
  const { peers, self, other, asked, sockets, events, registrars } = await setUp(t)
  assert.deepEqual([registrars(), peers.slots, peers.isTaking(other.path)], ['self', 1, false])
  await Promise.all([peers.meet(other), peers.meet(other)])
  assert.deepEqual(asked, [{ op: 'hello', self }])
  assert.deepEqual(events.splice(0), [[other.path, 'well met']])
  assert.deepEqual([registrars(), peers.slots], ['other and self', 2])
  assert.deepEqual([peers.isTaking(other.path), peers.isTaking(self.path)], [true, true])

  for (let times = 0; times < 2; times++) peers.noteLeaving(other.path)
  peers.noteLeaving('/nobody.sock')
  assert.deepEqual(events.splice(0), ['gone'])
  assert.deepEqual([registrars(), peers.slots, peers.isTaking(other.path)], ['self', 1, false])
  assert.equal(peers.find(other.path)?.isLeaving, true)
  for (const socket of sockets) socket.destroy()
  while (peers.all.length > 0) await turn()
  assert.deepEqual(events, ['gone'])
  assert.equal(peers.find(other.path), null)
})

test('accounts of a worker that has died fall back, and those of one that leaves go to the other', async (t) => {
  const { peers, self, other, sockets, events, registrars } = await setUp(t)
  await peers.meet(other)
  assert.equal(registrars(), 'other and self')
  for (const socket of sockets.splice(0)) socket.destroy()
  while (peers.all.length > 0) await turn()
  assert.deepEqual([registrars(), peers.slots], ['self', 1])

  await peers.meet(other)
  assert.equal(registrars(), 'other and self')
  peers.leave()
  assert.deepEqual([registrars(), peers.slots, peers.isTaking(self.path)], ['other', 1, false])
  const socket = sockets[0]?.resume() ?? assert.fail()
  events.splice(0)
  peers.close()
  for (let turns = 0; turns < 1000 && !socket.destroyed; turns++) await turn()
  assert.ok(socket.destroyed)
  assert.deepEqual([peers.all, registrars()], [[], 'self'])
  await turn()
  assert.deepEqual(events.splice(0), [], 'nobody has gone but this one')
})

test('a start meets who is there and removes what killed ones left, and nothing else', async (t) => {
  const { peers, folder, placeOf, other } = await setUp(t)
  const killed = placeOf(2)
  const server = createServer().listen(`${killed.path}.x`)
  await once(server, 'listening')
  await rename(`${killed.path}.x`, killed.path)
  await once(server.close(), 'close')
  const beside = [
    'xworker-1-1-1.sock',
    'worker-1-1-1.sock.tmp',
    'worker-1-1-1234567.sock~',
    'notes'
  ]
  for (const name of beside) await writeFile(join(folder, name), '')
  // Reaching it fails otherwise than where nobody listens, as it does where no descriptor is free.
  const unreachable = placeOf(3).path
  await symlink(unreachable, unreachable)
  await peers.start()
  assert.deepEqual(
    peers.all.map(({ path, slot, generation, pid }) => ({ path, slot, generation, pid })),
    [other]
  )
  await assert.rejects(access(killed.path), { code: 'ENOENT' })
  for (const name of beside) await access(join(folder, name))
  await lstat(unreachable)
})

test('workers that have missed each other meet later', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const { peers, other } = await setUp(t)
  await rename(other.path, `${other.path}.x`)
  await peers.start()
  assert.deepEqual(peers.all, [])
  await rename(`${other.path}.x`, other.path)
  t.mock.timers.tick(5_000)
  while (peers.all.length === 0) await turn()
  assert.equal(peers.find(other.path)?.slot, other.slot)
})
