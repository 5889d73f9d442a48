import { test } from 'node:test'
import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ClusterWorker } from '../../../src/cluster/cluster-worker.js'
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
 * @property {(accountId: string) => ReturnType<ClusterWorker['acquire']>} acquire
 * @property {(accountId: string) => Promise<'here' | 'elsewhere'>} logIn
 */

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
  const worker = await ClusterWorker.join({
    runFolder: folder,
    slot,
    lingerMs: 0,
    port: {
      admits: () => true,
      hasRoomFor: () => true,
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
    ring: () => {},
    endSession: () => {},
    forget: (id) => forgotten.push(id),
    answers: {
      heard: () => true,
      slow: async () => {
        if (slot > 0) return await new Promise((resolve) => setImmediate(resolve))
        throw new TypeError('a fault of this worker')
      }
    },
    notices: {},
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
  return { worker, opened, adopted, forgotten, acquire, logIn }
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
