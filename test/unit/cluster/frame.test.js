import { test } from 'node:test'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createConnection, createServer } from 'node:net'
import { join } from 'node:path'
import { onFrames, readFrame, writeFrame } from '../../../src/cluster/frame.js'
import { scratchFolder } from '../../helpers/process.js'

/** @param {import('node:test').TestContext} t */
async function connected(t) {
  const path = join(scratchFolder(t, 'frame'), 's.sock')
  const server = createServer({ allowHalfOpen: true }).listen(path)
  await once(server, 'listening')
  const client = createConnection({ path, allowHalfOpen: true })
  const [socket] = await once(server, 'connection')
  t.after(() => {
    client.destroy()
    socket.destroy()
    server.close()
  })
  return { client, socket: /** @type {import('node:net').Socket} */ (socket) }
}

test('a frame carries a value and a secret; what follows it stays on the socket', async (t) => {
  const { client, socket } = await connected(t)
  const key = Buffer.alloc(32, 7)
  const writes = t.mock.method(client, 'write').mock
  writeFrame(client, { op: 'session', name: 'ä' }, key)
  client.write('a1 NOOP\r\n')
  client.end()
  const frame = await readFrame(socket, { timeoutMs: 10_000 })
  assert.deepEqual(frame?.value, { op: 'session', name: 'ä' })
  assert.deepEqual(frame?.secret.bytes, Buffer.alloc(32, 7))
  assert.deepEqual(key, Buffer.alloc(32, 7))
  let rest = ''
  for await (const chunk of socket) rest += chunk
  assert.equal(rest, 'a1 NOOP\r\n')
  if (!client.writableFinished) await once(client, 'finish')
  const copy = /** @type {Uint8Array} */ (writes.calls[0]?.arguments[0])
  assert.ok(copy.length > 32 && copy.every((byte) => byte === 0))
})

test('frames come whole and in order, however the bytes are cut', async (t) => {
  const { client, socket } = await connected(t)
  /** @type {Buffer[]} */
  const written = []
  const collect = /** @type {import('node:net').Socket} */ (
    /** @type {unknown} */ ({ write: (/** @type {Buffer} */ bytes) => written.push(bytes) })
  )
  const values = Array.from({ length: 30 }, (_, n) => ({ n, text: 'x'.repeat(n * 97) }))
  for (const value of values) writeFrame(collect, value)
  /** @type {unknown[]} */
  const got = []
  const all = new Promise((resolve) => {
    onFrames(socket, ({ value }) => {
      if (got.push(value) === values.length) resolve(undefined)
    })
  })
  const bytes = Buffer.concat(written)
  for (let at = 0; at < bytes.length; at += 61) {
    client.write(bytes.subarray(at, at + 61))
    if (at % 7 === 0) await new Promise((resolve) => setImmediate(resolve))
  }
  await all
  assert.deepEqual(got, values)
})

test('what is no frame ends the connection', async (t) => {
  const { client, socket } = await connected(t)
  client.end(Buffer.from('ffffffff00', 'hex'))
  assert.equal(await readFrame(socket, { timeoutMs: 10_000 }), null)
  assert.equal(socket.destroyed, true)
})

test('the largest frame that is sent is taken', async (t) => {
  const { client, socket } = await connected(t)
  const text = 'x'.repeat(16 * 1024 * 1024 - 2)
  writeFrame(client, /** @type {any} */ (text))
  const frame = await readFrame(socket, { timeoutMs: 60_000 })
  assert.ok(frame?.value === text)
})

test('what the other side would not take is not sent', () => {
  const writes = /** @type {Buffer[]} */ ([])
  const socket = /** @type {any} */ ({ write: (/** @type {Buffer} */ bytes) => writes.push(bytes) })
  // With its quotes, this is one byte too long.
  const text = 'x'.repeat(16 * 1024 * 1024 - 1)
  assert.throws(() => writeFrame(socket, /** @type {any} */ (text)), RangeError)
  assert.equal(writes.length, 0)
  writeFrame(socket, /** @type {any} */ (text.slice(1)))
  assert.equal(writes.length, 1)
})

/**
 * @param {object} value
 * @returns {Buffer} a frame with a secret, as it goes over the wire
 */
function bytesOf(value) {
  const json = Buffer.from(JSON.stringify(value))
  const head = Buffer.alloc(5)
  head.writeUInt32BE(json.length, 0)
  head.writeUInt8(32, 4)
  return Buffer.concat([head, json, Buffer.alloc(32, 7)])
}

const whole = bytesOf({ op: 'session' })

for (const [where, first, second] of /** @type {const} */ ([
  ['in its head and behind it', 3, whole.length + 5],
  ['at its end', whole.length, whole.length + 4],
  ['behind it', whole.length + 2, whole.length + 4]
]))
  test(`what follows a frame stays whole, also where the socket gives all in pieces, cut ${where}`, async (t) => {
    const { socket } = await connected(t)
    const all = Buffer.concat([whole, Buffer.from('a1 NOOP\r\n')])
    const cuts = [0, first, second, second + 2, all.length]
    const pieces = cuts.slice(1).map((end, at) => all.subarray(cuts[at], end))
    t.mock.method(socket, 'read', () => pieces.shift() ?? null)
    const unshift = t.mock.method(socket, 'unshift', () => {}).mock
    assert.deepEqual((await readFrame(socket, { timeoutMs: 60_000 }))?.value, { op: 'session' })
    assert.deepEqual(
      unshift.calls.map(({ arguments: [rest] }) => String(rest)),
      ['a1 NOOP\r\n']
    )
  })

test('of a frame that comes in pieces no copy of the secret stays in memory', async (t) => {
  const { client, socket } = await connected(t)
  const reads = t.mock.method(socket, 'read').mock
  const read = () => reads.calls.map(({ result }) => result).filter((chunk) => chunk !== null)
  const reading = readFrame(socket, { timeoutMs: 60_000 })
  client.write(whole.subarray(0, -9))
  while (read().length === 0) await new Promise((resolve) => setImmediate(resolve))
  client.write(whole.subarray(-9))
  const frame = await reading
  assert.deepEqual(frame?.secret.bytes, Buffer.alloc(32, 7))
  assert.equal(Buffer.concat(read()).length, whole.length)
  assert.ok(Buffer.concat(read()).every((byte) => byte === 0))
})

const BROKEN = {
  'breaks off': whole.subarray(0, -1),
  'is none': Buffer.concat([whole.subarray(0, 5), Buffer.from('x'), whole.subarray(6)])
}

for (const [what, bytes] of Object.entries(BROKEN)) {
  test(`of a frame that ${what} no secret stays in memory`, async (t) => {
    const first = await connected(t)
    const reads = t.mock.method(first.socket, 'read').mock
    first.client.end(bytes)
    assert.equal(await readFrame(first.socket, { timeoutMs: 10_000 }), null)
    const read = reads.calls.map(({ result }) => result).filter((chunk) => chunk !== null)
    assert.equal(Buffer.concat(read).length, bytes.length)
    assert.ok(Buffer.concat(read).every((byte) => byte === 0))

    const second = await connected(t)
    /** @type {Buffer[]} */
    const got = []
    onFrames(second.socket, () => assert.fail('a frame'))
    second.socket.on('data', (chunk) => got.push(/** @type {Buffer} */ (chunk)))
    second.socket.on('end', () => second.socket.destroy())
    second.client.end(bytes)
    await once(second.socket, 'close')
    assert.equal(Buffer.concat(got).length, bytes.length)
    assert.ok(Buffer.concat(got).every((byte) => byte === 0))
  })
}
