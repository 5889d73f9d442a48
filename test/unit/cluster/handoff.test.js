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

/** Sessions that an account may have here. */
const ROOM = 2

test('of sessions that wait together for their mailbox to be opened, as many are taken as the account may have', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-handoff-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'holder.sock')
  const opened = Promise.withResolvers()
  let waiting = 0
  let taken = 0
  let released = 0
  /** @type {import('../../../src/cluster/handoff.js').HandoffPort} */
  const port = {
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
  }
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, async (socket) => {
    t.after(() => socket.destroy())
    const frame = await readFrame(socket, { timeoutMs: 60_000 })
    assert.ok(frame)
    await takeSession(socket, frame, port)
  })
  server.listen(path)
  await once(server, 'listening')
  t.after(() => server.close())

  const offers = Array.from({ length: ROOM + 3 }, async (_, nth) => {
    using masterKey = SecretBuffer.moveFrom(Buffer.alloc(32, 1))
    const account = /** @type {any} */ ({ id: 'account' })
    const credential = {
      credentialId: 'c',
      credentialVersion: 1,
      scope: /** @type {any} */ ('all')
    }
    const client = { sessionId: `s${nth}`, remoteAddress: '192.0.2.1', isTls: false }
    const offer = await offerSession(path, { account, ...credential, masterKey }, client)
    if ('socket' in offer) offer.socket.destroy()
    return offer.state
  })
  while (waiting < offers.length) await new Promise(setImmediate)
  opened.resolve(undefined)
  const answers = await Promise.allSettled(offers)
  const states = answers.map((answer) =>
    answer.status === 'fulfilled' ? answer.value : answer.reason.code
  )
  assert.deepEqual(states.sort(), [...Array(3).fill('LIMIT'), ...Array(ROOM).fill('taken')])
  assert.deepEqual({ taken, released }, { taken: ROOM, released: 3 })
})
