import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { readFrame } from '../../../src/cluster/frame.js'
import { offerSession, takeSession } from '../../../src/cluster/handoff.js'
import { SecretBuffer } from '../../../src/crypto/secret-buffer.js'
import { MailError } from '../../../src/errors.js'

/** Sessions that an account may have here. */
const ROOM = 2

/**
 * @param {import('node:test').TestContext} t
 * @param {import('../../../src/cluster/handoff.js').HandoffPort} port
 * @returns {Promise<string>} where sessions are offered
 */
async function holderOf(t, port) {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-handoff-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'holder.sock')
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, async (socket) => {
    t.after(() => socket.destroy())
    const frame = await readFrame(socket, { timeoutMs: 60_000 })
    assert.ok(frame)
    await takeSession(socket, frame, port)
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
async function offerTo(path, sessionId, isHolderAlive = async () => true) {
  using masterKey = SecretBuffer.moveFrom(Buffer.alloc(32, 1))
  const account = /** @type {any} */ ({ id: 'account', keyEpoch: 1 })
  const scope = /** @type {any} */ ('all')
  const unlocked = { account, credentialId: 'c', credentialVersion: 1, scope, masterKey }
  const client = { sessionId, remoteAddress: '192.0.2.1', isTls: false }
  const offer = await offerSession(path, unlocked, client, isHolderAlive)
  if ('socket' in offer) offer.socket.destroy()
  return offer.state
}

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
