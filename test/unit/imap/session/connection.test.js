import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { limitsBeforeLogin } from '../../../../src/imap/protocol/limits.js'
import { Receiver } from '../../../../src/imap/protocol/receiver.js'
import { Pace } from '../../../../src/imap/session/allowance.js'
import { Connection } from '../../../../src/imap/session/connection.js'

/** More than the sockets of both sides hold. */
const LONG_BYTES = 32 * 1024 * 1024

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ connection: Connection, client: import('node:net').Socket }>} a client that does not read yet; at the
 *   connection it is 0 ms
 */
async function connected(t) {
  const server = createServer({ allowHalfOpen: true }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const client = connect({ port, host: '127.0.0.1' })
  client.on('error', () => {})
  t.after(() => client.destroy())
  client.pause()
  const [socket] = await once(server, 'connection')
  const receiver = new Receiver(limitsBeforeLogin())
  const connection = new Connection({ socket, receiver, nowMs: 0 })
  t.after(() => connection.destroy())
  return { connection, client }
}

test('a client that reads slowly gets all that was said before the end, however long it takes', async (t) => {
  const { connection, client } = await connected(t)
  connection.write(Buffer.alloc(LONG_BYTES))
  connection.write('* BYE see you\r\nx OK\r\n')
  connection.end()
  for (let nowMs = 1000; nowMs <= 60_000; nowMs += 1000) connection.tick(nowMs)
  let received = 0
  client.on('data', (/** @type {Buffer} */ chunk) => {
    received += chunk.length
  })
  client.resume()
  await once(client, 'end')
  assert.equal(received, LONG_BYTES + '* BYE see you\r\nx OK\r\n'.length)
})

test('one that never reads is cut off after some minutes, one that keeps its side open after some seconds', async (t) => {
  const slow = await connected(t)
  slow.connection.write(Buffer.alloc(LONG_BYTES))
  slow.connection.end()
  slow.connection.tick(299_000)
  await sleep(50)
  assert.equal(slow.client.destroyed, false)
  slow.connection.tick(301_000)
  await slow.connection.closed

  const open = await connected(t)
  open.client.allowHalfOpen = true
  open.connection.write('* BYE\r\n')
  open.connection.end()
  open.client.resume()
  await once(open.client, 'end')
  open.connection.tick(6000)
  await open.connection.closed
})

test('all who wait for the client go on when it reads, and when it goes', async (t) => {
  for (const goes of [false, true]) {
    const { connection, client } = await connected(t)
    connection.write(Buffer.alloc(LONG_BYTES))
    const waits = [connection.drain(), connection.drain()]
    const outcomes = Promise.allSettled(waits)
    if (goes) client.destroy()
    else client.resume()
    const states = (await outcomes).map(({ status }) => status)
    assert.deepEqual(states, Array(2).fill(goes ? 'rejected' : 'fulfilled'))
  }
})

test('a client that goes before a session has run is no longer counted', async (t) => {
  const { connection, client } = await connected(t)
  let released = 0
  const release = () => released++
  connection.pace = new Pace({ commands: [], bytes: [], refill: () => {}, release })
  client.destroy()
  connection.end()
  await connection.closed
  assert.equal(released, 1)
  connection.dropPace()
  assert.equal(released, 1)
})

test('of many commands that came in one packet some are given in one turn of the event loop', async (t) => {
  const { connection, client } = await connected(t)
  const commands = 100
  client.write('a NOOP\r\n'.repeat(commands))
  let turns = 0
  let turn = setImmediate(() => {})
  const countTurns = () => {
    turns++
    turn = setImmediate(countTurns)
  }
  t.after(() => clearImmediate(turn))
  for (let given = 0; given < commands; given++) {
    const event = await connection.nextEvent({ deadlineMs: Infinity })
    assert.equal(event.kind, 'command')
    if (given === 0) countTurns()
    // What a command costs at least.
    for (const startedMs = performance.now(); performance.now() - startedMs < 1;);
  }
  assert.ok(turns >= 10, String(turns))
})
