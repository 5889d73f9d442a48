import { test } from 'node:test'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { ClusterWorker } from '../../../src/cluster/cluster-worker.js'
import { writeFrame } from '../../../src/cluster/frame.js'
import { SecretBuffer } from '../../../src/crypto/secret-buffer.js'
import { createLogger } from '../../../src/telemetry/logger.js'

/**
 * A worker that opens nothing: it says where a session was served.
 *
 * @typedef {object} Served
 * @property {ClusterWorker} worker
 * @property {string[]} opened - accounts, in order
 * @property {string[]} adopted - accounts of sessions that came from another worker
 * @property {string[]} forgotten - accounts whose key no session needs any more
 * @property {unknown[][]} heard - what other workers have told it
 * @property {(accountId: string) => ReturnType<ClusterWorker['acquire']>} acquire
 * @property {(accountId: string) => Promise<'here' | 'elsewhere'>} logIn
 */

/** The run folder is read again after so long, ms. */
const LOOK_AGAIN_MS = 5_000

/** @param {() => boolean} isSo */
async function until(isSo) {
  while (!isSo()) await turn()
}

/** @param {import('node:test').TestContext} t */
function runFolder(t) {
  // No worker here is silent, however long the machine stands still.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-workers-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * @param {import('node:test').TestContext} t
 * @param {string} folder
 * @param {number} slot
 * @returns {Promise<Served>}
 */
async function startWorker(t, folder, slot) {
  /** @type {string[]} */
  const opened = []
  /** @type {string[]} */
  const adopted = []
  /** @type {string[]} */
  const forgotten = []
  /** @type {unknown[][]} */
  const heard = []
  const worker = await ClusterWorker.join({
    runFolder: folder,
    slot,
    lingerMs: 0,
    port: {
      admits: () => true,
      hasRoomFor: (id) => id !== 'full',
      findAccount: async (id) => /** @type {any} */ ({ id }),
      acquire: async ({ account, masterKey }) => {
        masterKey.dispose()
        opened.push(account.id)
        worker.hold(account.id)
        return /** @type {any} */ ({ account, release: async () => {} })
      },
      adopt: ({ socket, login }) => {
        adopted.push(login.account.id)
        socket.on('error', () => socket.destroy())
        socket.resume()
        socket.on('end', () => socket.end())
      }
    },
    ring: (id) => heard.push(['ring', id]),
    endSession: (id, text) => heard.push(['end', id, text]),
    forget: (id) => forgotten.push(id),
    answers: {
      heard: () => true,
      slow: async () => {
        if (slot > 0) return await new Promise((resolve) => setImmediate(resolve))
        throw new TypeError('a fault of this worker')
      }
    },
    notices: { news: (value) => heard.push(['news', value]) },
    logger: createLogger({ level: 'silent' })
  })
  t.after(() => worker.close())
  const acquire = async (/** @type {string} */ id) => {
    const masterKey = SecretBuffer.moveFrom(Buffer.alloc(32, 1))
    const account = /** @type {any} */ ({ id })
    const login = await worker.acquire(
      { account, masterKey, credentialId: 'c', credentialVersion: 1, scope: 'read-write' },
      { sessionId: 's', remoteAddress: '192.0.2.1', isTls: false }
    )
    assert.throws(() => masterKey.bytes, 'the key is disposed of')
    return login
  }
  const logIn = async (/** @type {string} */ id) => {
    const login = await acquire(id)
    await login.release()
    return 'relay' in login ? 'elsewhere' : 'here'
  }
  return { worker, opened, adopted, forgotten, heard, acquire, logIn }
}

test('an account is opened where its first session comes in, and the later ones are taken over there', async (t) => {
  const folder = runFolder(t)
  const [one, two, three] = /** @type {[Served, Served, Served]} */ (
    await Promise.all([0, 1, 2].map((slot) => startWorker(t, folder, slot)))
  )
  const accounts = Array.from({ length: 12 }, (_, n) => `account-${n}`)
  for (const [n, id] of accounts.entries()) {
    const first = [one, two, three][n % 3]
    assert.equal(await first?.logIn(id), 'here')
    for (const worker of [one, two, three]) {
      assert.equal(await worker.logIn(id), worker === first ? 'here' : 'elsewhere')
    }
  }
  for (const { adopted } of [one, two, three]) assert.equal(adopted.length, 8)

  // Closed, it may be opened anywhere.
  one.worker.release('account-0')
  await one.worker.askAllWorkers('heard')
  assert.equal(await two.logIn('account-0'), 'here')
  assert.equal(await one.logIn('account-0'), 'elsewhere')
})

test('the key of an account whose sessions are served elsewhere is forgotten once none is left', async (t) => {
  const folder = runFolder(t)
  const [holder, other] = /** @type {[Served, Served]} */ (
    await Promise.all([0, 1].map((slot) => startWorker(t, folder, slot)))
  )
  await holder.logIn('anna')
  const forgottenNow = () => {
    t.mock.timers.tick(1)
    return other.forgotten.splice(0)
  }
  const [first, second] = [await other.acquire('anna'), await other.acquire('anna')]
  await first.release()
  assert.deepEqual(forgottenNow(), [])
  await second.release()
  const third = await other.acquire('anna')
  assert.deepEqual(forgottenNow(), [], 'one has come in time')
  await third.release()
  assert.deepEqual(forgottenNow(), ['anna'])

  const fourth = await other.acquire('anna')
  assert.ok('relay' in fourth)
  const server = createServer({ allowHalfOpen: true }).listen(join(folder, 'client'))
  t.after(() => server.close())
  await once(server, 'listening')
  const client = createConnection(join(folder, 'client'))
  const [socket] = await once(server, 'connection')
  const served = fourth.relay({ socket, rest: Buffer.alloc(0) })
  await turn()
  assert.deepEqual(forgottenNow(), [], 'the client is there')
  client.resume().end()
  await served
  assert.deepEqual(forgottenNow(), ['anna'])
})

test('what the worker refuses that has the account open is refused, and opened nowhere else', async (t) => {
  const folder = runFolder(t)
  const [holder, other] = /** @type {[Served, Served]} */ (
    await Promise.all([0, 1].map((slot) => startWorker(t, folder, slot)))
  )
  assert.equal(await holder.logIn('full'), 'here')
  await assert.rejects(other.logIn('full'), { code: 'LIMIT' })
  assert.deepEqual(other.opened, [])
  t.mock.timers.tick(1)
  assert.deepEqual(other.forgotten, ['full'])
})

for (const turns of [0, 2, 8])
  test(`sessions that come just as the holder leaves meet in one other worker (${turns} turns before)`, async (t) => {
    const folder = runFolder(t)
    const [one, two, three] = /** @type {[Served, Served, Served]} */ (
      await Promise.all([0, 1, 2].map((slot) => startWorker(t, folder, slot)))
    )
    const accounts = Array.from({ length: 12 }, (_, n) => `account-${n}`)
    for (const id of accounts) await one.logIn(id)
    const logins = accounts.flatMap((id) => [two.logIn(id), three.logIn(id)])
    for (let n = 0; n < turns; n++) await turn()
    await Promise.all([one.worker.leave(), ...logins])
    for (const id of accounts) await two.logIn(id)
    const places = [two, three].flatMap(({ opened }) => [...new Set(opened)])
    assert.deepEqual(places.sort(), accounts.toSorted())
  })

test('a worker that joins is known to those that are there, and each hears what another tells', async (t) => {
  const folder = runFolder(t)
  const one = await startWorker(t, folder, 0)
  assert.deepEqual([one.worker.slots, one.worker.hasOthers], [1, false])
  const two = await startWorker(t, folder, 1)
  for (const { worker } of [one, two])
    assert.deepEqual([worker.slots, worker.hasOthers, await worker.countSilent()], [2, true, 0])

  for (const ids of [
    ['a', 'b', 'a'],
    ['c', 'a']
  ]) {
    for (const id of ids) one.worker.ring(id)
    await turn()
    await one.worker.askAllWorkers('heard')
    const rung = [...new Set(ids)].map((id) => ['ring', id])
    assert.deepEqual([one.heard.splice(0), two.heard.splice(0)], [[], rung])
  }
  await one.logIn('anna')
  const login = await two.acquire('anna')
  assert.ok('end' in login)
  login.end('bye')
  two.worker.tellOthers('news', { n: 1 })
  two.worker.tellOthers('of another release', null)
  await two.worker.askAllWorkers('heard')
  assert.deepEqual(one.heard, [
    ['end', 's', 'bye'],
    ['news', { n: 1 }]
  ])
  await login.release()

  await two.worker.leave()
  assert.deepEqual([one.worker.slots, one.worker.hasOthers], [1, false])
})

test('a worker that dies as it hands a session over takes nobody with it', async (t) => {
  const folder = runFolder(t)
  const one = await startWorker(t, folder, 0)
  const [name = ''] = readdirSync(folder)
  const dying = createConnection(join(folder, name))
  writeFrame(dying, { op: 'session', accountId: 'full' })
  dying.once('connect', () => setImmediate(() => dying.destroy()))
  while (one.opened.length === 0) await turn()
  for (let turns = 0; turns < 20; turns++) await turn()
  assert.equal(await one.logIn('anna'), 'here')
})

test('whoever asks all workers is told of a fault of his own, while the others still think', async (t) => {
  const folder = runFolder(t)
  const [one] = await Promise.all([0, 1].map((slot) => startWorker(t, folder, slot)))
  await assert.rejects(async () => await one?.worker.askAllWorkers('slow'), TypeError)
})

test('first sessions that come in everywhere at once are served by one worker', async (t) => {
  const folder = runFolder(t)
  const workers = await Promise.all([0, 1, 2, 3].map((slot) => startWorker(t, folder, slot)))
  for (let n = 0; n < 20; n++) {
    const places = await Promise.all(workers.map(({ logIn }) => logIn(`account-${n}`)))
    assert.equal(places.filter((place) => place === 'here').length, 1)
  }
})

test('one that has left is not asked, its accounts are opened elsewhere, and one that comes knows what the others hold', async (t) => {
  const folder = runFolder(t)
  const [one, two, three] = /** @type {[Served, Served, Served]} */ (
    await Promise.all([0, 1, 2].map((slot) => startWorker(t, folder, slot)))
  )
  const accounts = Array.from({ length: 12 }, (_, n) => `account-${n}`)
  for (const id of accounts) assert.equal(await one.logIn(id), 'here')
  await one.worker.leave()
  for (const id of accounts) {
    assert.equal(await two.logIn(id), 'here')
    assert.equal(await one.logIn(id), 'elsewhere', 'also for whoever still comes in there')
  }
  await one.worker.close()
  const newer = await startWorker(t, folder, 0)
  for (const id of accounts) {
    assert.equal(await newer.logIn(id), 'elsewhere')
    assert.equal(await three.logIn(id), 'elsewhere')
  }
  assert.deepEqual(newer.opened, [])
})

test('what is opened while a link between two that live is broken is known once there is another', async (t) => {
  const folder = runFolder(t)
  t.mock.timers.reset()
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const [one, two, three] = /** @type {[Served, Served, Served]} */ (
    await Promise.all([0, 1, 2].map((slot) => startWorker(t, folder, slot)))
  )
  const accounts = Array.from({ length: 12 }, (_, n) => `account-${n}`)
  // As to workers that hang: more than a link holds, before they read anything of it.
  for (let n = 0; n < 18; n++) one.worker.tellOthers('news', 'x'.repeat(2 ** 20))
  await until(() => !one.worker.hasOthers)
  for (const id of accounts) assert.equal(await one.logIn(id), 'here')
  t.mock.timers.tick(LOOK_AGAIN_MS)
  await until(() => one.worker.slots === 3)
  // First they meet, then each hears what the other holds.
  for (let n = 0; n < 2; n++) await one.worker.askAllWorkers('heard')
  // By now nobody asks around for accounts that it knows nothing of.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1100)
  for (const { logIn } of [two, three])
    for (const id of accounts) assert.equal(await logIn(id), 'elsewhere', id)
})
