/**
 * What a process that has mailboxes open answers a backup, over its socket.
 */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { connect as connectTo } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { connectOwners } from '../../../src/backup/owner-client.js'
import { listenForBackups } from '../../../src/backup/owner-listener.js'
import { MailError } from '../../../src/errors.js'
import { readWal } from '../../../src/store/upkeep/space.js'
import { accountFolder, appendMany, scratchFolder } from '../../helpers/account-folder.js'

const LONG_MS = 60_000
const logger = pino({ level: 'silent' })

/** @typedef {import('../../../src/backup/owner-client.js').Owner} Owner */

/** @param {import('node:test').TestContext} t */
async function setUp(t) {
  const { create } = await accountFolder(t)
  const store = await create()
  const runFolder = await scratchFolder(t)
  /** @type {string[]} */
  const closed = []
  /** @type {string[]} */
  const rung = []
  const listener = await listenForBackups({
    runFolder,
    findStore: async (accountId) => {
      if (accountId === 'waits') throw new MailError('BUSY')
      return accountId === 'anna' ? store : null
    },
    closeMailbox: async (accountId) => {
      closed.push(accountId)
    },
    ring: (accountId) => rung.push(accountId),
    logger
  })
  t.after(() => listener.close())
  const connect = async () => {
    const [owner] = await connectOwners(runFolder)
    assert.ok(owner)
    t.after(() => owner.close())
    return owner
  }
  return { store, listener, closed, rung, connect }
}

/**
 * @param {Owner} owner
 * @param {string} token
 */
const freeze = (owner, token) =>
  owner.ask({ op: 'freeze', accountId: 'anna', token, forMs: LONG_MS })

/**
 * @param {import('../../../src/store/account-store.js').AccountStore} store
 * @returns {Promise<number>} what a checkpoint leaves in the log
 */
async function waitingIn(store) {
  await store.checkpoint()
  return await store.searchAccess.database.readSettled((db) => readWal(db).waiting)
}

test('a freeze is held, renewed and let go by the connection that has asked for it, and by no other', async (t) => {
  const { connect } = await setUp(t)
  const owner = await connect()
  const stranger = await connect()
  assert.equal(await freeze(owner, 'one'), 'held')
  for (const op of /** @type {const} */ (['renew', 'thaw']))
    assert.equal(await stranger.ask({ op, token: 'one', forMs: LONG_MS }), 'broken')
  assert.equal(await owner.ask({ op: 'renew', token: 'one', forMs: LONG_MS }), 'held')
  assert.equal(await owner.ask({ op: 'thaw', token: 'one' }), 'unbroken')
  assert.equal(await owner.ask({ op: 'renew', token: 'one', forMs: LONG_MS }), 'broken')
})

test('a freeze lasts as long as the last renewal said', async (t) => {
  const { connect } = await setUp(t)
  const owner = await connect()
  assert.equal(await freeze(owner, 'one'), 'held')
  while ((await owner.ask({ op: 'renew', token: 'one', forMs: 1 })) === 'held') await sleep(20)
  assert.equal(await owner.ask({ op: 'thaw', token: 'one' }), 'broken')
})

test('when a backup has gone, what it froze goes on', async (t) => {
  const { connect, store } = await setUp(t)
  const owner = await connect()
  assert.equal(await freeze(owner, 'one'), 'held')
  await appendMany(store, 'INBOX', 3)
  assert.ok((await waitingIn(store)) > 0)
  owner.close()
  while ((await waitingIn(store)) > 0) await sleep(5)
})

test('what is not open here, cannot be asked now, or is no question is answered so', async (t) => {
  const { connect, closed, listener } = await setUp(t)
  const owner = await connect()
  const request = { token: 'one', forMs: LONG_MS }
  assert.equal(await owner.ask({ op: 'freeze', accountId: 'bob', ...request }), 'closed')
  assert.equal(await owner.ask({ op: 'freeze', accountId: 'waits', ...request }), 'failed')
  assert.equal(await owner.ask(/** @type {any} */ ({ op: 'of a later release' })), 'failed')
  assert.equal(await owner.ask({ op: 'close', accountId: 'anna' }), 'closed')
  assert.deepEqual(closed, ['anna'])
  await listener.close()
  assert.equal(existsSync(listener.path), false)
  for (let times = 0; times < 2; times++) assert.equal(await freeze(owner, 'one'), 'broken')
})

test('a connection stays for as long as it is answered, however long that is', async (t) => {
  const { connect } = await setUp(t)
  const owner = await connect()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  for (let hours = 0; hours < 3; hours++) {
    assert.equal(await owner.ask({ op: 'ping' }), 'alive')
    t.mock.timers.tick(3600_000)
  }
})

test('a mailbox whose file cannot be opened any more is not said to be held', async (t) => {
  const { connect, store } = await setUp(t)
  const owner = await connect()
  await rm(store.folder, { recursive: true })
  assert.equal(await freeze(owner, 'one'), 'failed')
  assert.equal(await owner.ask({ op: 'ping' }), 'alive')
})

for (const line of ['null', '7', '"ping"', '']) {
  test(`who sends ${JSON.stringify(line)} is no backup: the connection ends, and others are answered`, async (t) => {
    const { connect, listener, store } = await setUp(t)
    const socket = connectTo(listener.path)
    const question = { op: 'freeze', accountId: 'anna', token: 'one', forMs: LONG_MS }
    socket.write(`${JSON.stringify(question)}\n`)
    await once(socket, 'data')
    const ending = once(socket, 'close')
    socket.resume().write(`${line}\n`)
    await ending
    const owner = await connect()
    assert.equal(await owner.ask({ op: 'ping' }), 'alive')
    await appendMany(store, 'INBOX', 3)
    while ((await waitingIn(store)) > 0) await sleep(5)
  })
}

test('who has put mail into a spool can have its owner look there', async (t) => {
  const { connect, rung } = await setUp(t)
  const owner = await connect()
  assert.equal(await owner.ask({ op: 'ring', accountId: 'anna' }), 'alive')
  assert.deepEqual(rung, ['anna'])
})

test('where the path is too long for a socket, the start says so', async (t) => {
  const runFolder = join(await scratchFolder(t), 'x'.repeat(100))
  const options = {
    runFolder,
    findStore: async () => null,
    closeMailbox: async () => {},
    ring: () => {},
    logger
  }
  await assert.rejects(listenForBackups(options), { code: 'CONFIG_INVALID' })
  assert.equal(existsSync(runFolder), false)
})
