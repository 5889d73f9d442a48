import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createConnection, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn } from 'node:timers/promises'
import { readFrame, writeFrame } from '../../../src/cluster/frame.js'
import { offerSession, takeSession } from '../../../src/cluster/handoff.js'
import { SecretBuffer } from '../../../src/crypto/secret-buffer.js'
import { MailError } from '../../../src/errors.js'

/** Sessions that an account may have here. */
const ROOM = 2

/**
 * @param {import('node:test').TestContext} t
 * @param {import('../../../src/cluster/handoff.js').HandoffPort} port
 * @param {{ frames?: import('../../../src/cluster/frame.js').Frame[], unforeseen?: Error[], sockets?: import('node:net').Socket[] }} [seen] -
 *   filled in
 * @returns {Promise<string>} where sessions are offered
 */
async function holderOf(t, port, { frames = [], unforeseen = [], sockets = [] } = {}) {
  return await listen(t, async (socket) => {
    sockets.push(socket)
    const frame = await readFrame(socket, { timeoutMs: 60_000 })
    assert.ok(frame)
    frames.push(frame)
    // What nobody foresaw is thrown here as well: the other side says what it was told.
    await takeSession(socket, frame, port).catch((error) => unforeseen.push(error))
  })
}

/**
 * @param {import('node:test').TestContext} t
 * @param {(socket: import('node:net').Socket) => void} onConnection
 * @returns {Promise<string>} where sessions are offered
 */
async function listen(t, onConnection) {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-handoff-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'holder.sock')
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (socket) => {
    t.after(() => socket.destroy())
    onConnection(socket)
  })
  server.listen(path)
  await once(server, 'listening')
  t.after(() => server.close())
  return path
}

/**
 * @param {string} path
 * @param {string} sessionId
 * @param {() => Promise<boolean>} [isHolderAlive]
 */
async function offerTo(path, sessionId, isHolderAlive) {
  const offer = await offered(path, sessionId, isHolderAlive)
  if ('socket' in offer) offer.socket.destroy()
  return offer.state
}

/**
 * @param {string} path
 * @param {string} sessionId
 * @param {() => Promise<boolean>} [isHolderAlive]
 */
async function offered(path, sessionId, isHolderAlive = async () => true) {
  using masterKey = SecretBuffer.moveFrom(Buffer.alloc(32, 1))
  const account = /** @type {any} */ ({ id: 'account', keyEpoch: 1 })
  const scope = /** @type {any} */ ('all')
  const unlocked = { account, credentialId: 'c', credentialVersion: 1, scope, masterKey }
  const client = { sessionId, remoteAddress: '192.0.2.1', isTls: false, password: 'secret' }
  return await offerSession(path, unlocked, client, isHolderAlive)
}

/** @type {import('../../../src/cluster/handoff.js').HandoffPort} */
const TAKING = {
  isTaking: () => true,
  admits: () => true,
  hasRoomFor: () => true,
  findAccount: async (id) => /** @type {any} */ ({ id, keyEpoch: 1 }),
  acquire: async ({ masterKey }) => {
    masterKey.dispose()
    return /** @type {any} */ ({ release: async () => {} })
  },
  adopt: () => {}
}
const failing = (/** @type {Error} */ error) => async () => {
  throw error
}

for (const [what, port, answer] of /** @type {const} */ ([
  ['takes the session', {}, 'taken'],
  ['takes none any more', { isTaking: () => false }, 'moved'],
  ['ends meanwhile', { acquire: failing(new MailError('SHUTTING_DOWN')) }, 'moved'],
  ['does not know the account', { findAccount: async () => null }, 'AUTHENTICATION_FAILED'],
  ['can bear no more', { admits: () => false }, 'OVERLOADED'],
  ['has no room for the account', { hasRoomFor: () => false }, 'LIMIT'],
  [
    'cannot open the mailbox',
    { acquire: failing(new MailError('ACCOUNT_DAMAGED')) },
    'ACCOUNT_DAMAGED'
  ],
  ['makes a mistake', { acquire: failing(new TypeError('x')) }, 'failed to open it']
]))
  test(`a worker that ${what} says so`, async (t) => {
    /** @type {Error[]} */
    const unforeseen = []
    /** @type {import('node:net').Socket[]} */
    const sockets = []
    const path = await holderOf(t, { ...TAKING, ...port }, { unforeseen, sockets })
    const told = await offerTo(path, 's').catch((error) => error.code ?? error.message)
    assert.ok(String(told).endsWith(answer), String(told))
    assert.deepEqual(
      unforeseen.map(({ name }) => name),
      what === 'makes a mistake' ? ['TypeError'] : []
    )
    if (answer === 'taken') return
    const [socket] = sockets
    for (let turns = 0; turns < 1000 && !socket?.destroyed; turns++) await turn()
    assert.equal(
      socket?.destroyed,
      true,
      'it keeps no connection of a session that it does not take'
    )
  })

for (const [
  what,
  die
] of /** @type {[string, (socket: import('node:net').Socket) => unknown][]} */ ([
  ['before it is offered the session', (socket) => socket.destroy()],
  ['before it has read what it is offered', (socket) => turn().then(() => socket.destroy())]
]))
  test(`a worker that dies ${what} is silent, and takes nobody with it`, async (t) => {
    assert.equal(await offerTo(await listen(t, die), 's'), 'silent')
  })

test('a worker that answers while it is asked whether it lives keeps the session, whatever comes of that', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const [found, life] = [Promise.withResolvers(), Promise.withResolvers()]
  /** @type {import('../../../src/cluster/frame.js').Frame[]} */
  const frames = []
  const path = await holderOf(
    t,
    { ...TAKING, findAccount: () => /** @type {any} */ (found.promise) },
    { frames }
  )
  const offering = offered(path, 's', () => {
    found.resolve({ id: 'account', keyEpoch: 1 })
    return /** @type {Promise<boolean>} */ (life.promise)
  })
  while (frames.length === 0) await turn()
  t.mock.timers.tick(1000)
  const offer = await offering
  assert.ok(offer.state === 'taken')
  life.resolve(false)
  await turn()
  assert.equal(offer.socket.destroyed, false)
  offer.socket.destroy()
})

test('a worker that has answered is asked no more whether it lives', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  let asked = 0
  const alive = async () => ++asked > 0
  assert.equal(await offerTo(await holderOf(t, TAKING), 's', alive), 'taken')
  t.mock.timers.tick(60_000)
  assert.equal(asked, 0)
})

test('where nobody listens the worker has gone', async () => {
  assert.equal(await offerTo('/nonexistent/holder.sock', 's'), 'gone')
})

test('of a client only what the session needs leaves the process, and the key is that of the login', async (t) => {
  /** @type {import('../../../src/cluster/frame.js').Frame[]} */
  const frames = []
  /** @type {any[]} */
  const sessions = []
  /** @type {any[]} */
  const logins = []
  const adopt = (/** @type {any} */ { socket: _, login: __, ...facts }) => sessions.push(facts)
  const acquire = async (/** @type {any} */ { masterKey, ...login }) => {
    logins.push({ ...login, key: Buffer.from(masterKey.bytes) })
    masterKey.dispose()
    return /** @type {any} */ ({ release: async () => {} })
  }
  const path = await holderOf(t, { ...TAKING, adopt, acquire }, { frames })
  assert.equal(await offerTo(path, 's'), 'taken')
  const client = { sessionId: 's', remoteAddress: '192.0.2.1', isTls: false, clientName: null }
  const credential = { credentialId: 'c', credentialVersion: 1, scope: 'all' }
  assert.deepEqual(
    frames.map(({ value }) => value),
    [{ op: 'session', accountId: 'account', keyEpoch: 1, ...credential, ...client }]
  )
  assert.deepEqual(sessions, [client])
  const account = { id: 'account', keyEpoch: 1 }
  assert.deepEqual(logins, [{ account, ...credential, key: Buffer.alloc(32, 1) }])
  assert.ok(frames.every(({ secret }) => secret.isDisposed))
})

test('a session is taken with the account as it was when its key was unwrapped', async (t) => {
  /** @type {number[]} */
  const epochs = []
  const path = await holderOf(t, {
    isTaking: () => true,
    admits: () => true,
    hasRoomFor: () => true,
    findAccount: async (id) => /** @type {any} */ ({ id, keyEpoch: 2 }),
    acquire: async ({ account, masterKey }) => {
      masterKey.dispose()
      epochs.push(account.keyEpoch)
      throw new MailError('BUSY')
    },
    adopt: () => {}
  })
  await assert.rejects(offerTo(path, 's'), { code: 'BUSY' })
  assert.deepEqual(epochs, [1])
})

test('from a worker of an earlier release, which sends no epoch of the key, a session is taken as the account is now', async (t) => {
  /** @type {number[]} */
  const epochs = []
  const path = await holderOf(t, {
    ...TAKING,
    findAccount: async (id) => /** @type {any} */ ({ id, keyEpoch: 2 }),
    acquire: async ({ account, masterKey }) => {
      masterKey.dispose()
      epochs.push(account.keyEpoch)
      return /** @type {any} */ ({ release: async () => {} })
    }
  })
  const socket = createConnection(path)
  t.after(() => socket.destroy())
  writeFrame(socket, { op: 'session', accountId: 'account' }, Buffer.alloc(32, 1))
  const answer = await readFrame(socket, { timeoutMs: 60_000 })
  assert.deepEqual([answer?.value, epochs], [{ state: 'taken' }, [2]])
})

test('of sessions that wait together for their mailbox to be opened, as many are taken as the account may have', async (t) => {
  const opened = Promise.withResolvers()
  let waiting = 0
  let taken = 0
  let released = 0
  const path = await holderOf(t, {
    isTaking: () => true,
    admits: () => true,
    hasRoomFor: () => taken < ROOM,
    findAccount: async (id) => /** @type {any} */ ({ id }),
    acquire: async ({ masterKey }) => {
      masterKey.dispose()
      waiting++
      await opened.promise
      return /** @type {any} */ ({ release: async () => released++ })
    },
    adopt: () => taken++
  })
  const offers = Array.from({ length: ROOM + 3 }, (_, nth) => offerTo(path, `s${nth}`))
  while (waiting < offers.length) await new Promise(setImmediate)
  opened.resolve(undefined)
  const answers = await Promise.allSettled(offers)
  const states = answers.map((answer) =>
    answer.status === 'fulfilled' ? answer.value : answer.reason.code
  )
  assert.deepEqual(states.sort(), [...Array(3).fill('LIMIT'), ...Array(ROOM).fill('taken')])
  assert.deepEqual({ taken, released }, { taken: ROOM, released: 3 })
})

test('a worker that hangs is waited for no longer than it answers whether it lives', async (t) => {
  const path = await holderOf(t, {
    isTaking: () => true,
    admits: () => true,
    hasRoomFor: () => true,
    findAccount: () => new Promise(() => {}),
    acquire: () => new Promise(() => {}),
    adopt: () => {}
  })
  const lives = [true, true, false]
  assert.equal(await offerTo(path, 's', async () => lives.shift() ?? false), 'silent')
  assert.deepEqual(lives, [])
})
