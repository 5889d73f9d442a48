import { test } from 'node:test'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { relay } from '../../../src/cluster/relay.js'

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ near: import('node:net').Socket, far: import('node:net').Socket }>} two ends of a connection
 */
async function connected(t) {
  const server = createServer({ allowHalfOpen: true })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const far = connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  const [near] = await once(server, 'connection')
  server.close()
  t.after(() => {
    for (const socket of [near, far]) socket.destroy()
  })
  return { near, far }
}

const isHolderAlive = async () => true

test('a client that has closed its side before its session goes elsewhere is heard to its last word there', async (t) => {
  const { near: client, far: program } = await connected(t)
  const { near: holder, far: worker } = await connected(t)
  program.end('a NOOP\r\n')
  client.on('readable', () => client.read())
  await once(client, 'end')
  client.removeAllListeners('readable')
  const isOver = relay({ client, rest: Buffer.from('a NOOP\r\n'), holder, isHolderAlive })
  let heard = ''
  // `text` reads by an iterator, which destroys a socket at its end in Node 26, with what is still to be sent.
  worker.on('data', (bytes) => (heard += bytes.toString()))
  await once(worker, 'end')
  assert.equal(heard, 'a NOOP\r\n')
  worker.end('a OK\r\n')
  assert.equal(await text(program), 'a OK\r\n')
  program.destroy()
  await isOver
})

test('a client that is slow to read gets all that comes before the end', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { near: client, far: program } = await connected(t)
  const { near: holder, far: worker } = await connected(t)
  // More than the system takes on its way.
  let bytes = 0
  while (client.writableLength === 0) {
    const piece = Buffer.alloc(1024 * 1024, 'x')
    client.write(piece)
    bytes += piece.length
    await new Promise((resolve) => setImmediate(resolve))
  }
  const isOver = relay({ client, rest: Buffer.alloc(0), holder, isHolderAlive })
  worker.end('* BYE\r\n')
  await once(holder, 'end')
  while (!client.writableEnded) await new Promise((resolve) => setImmediate(resolve))
  t.mock.timers.tick(60_000)
  const all = await text(program)
  assert.deepEqual([all.length, all.endsWith('x* BYE\r\n')], [bytes + '* BYE\r\n'.length, true])
  // It does not close: it is not waited for.
  while (!client.writableFinished) await new Promise((resolve) => setImmediate(resolve))
  await new Promise((resolve) => setImmediate(resolve))
  t.mock.timers.tick(5000)
  await isOver
  assert.ok(client.destroyed)
})

test('a client that does not even take the last words of its session is let go of', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { near: client } = await connected(t)
  const { near: holder, far: worker } = await connected(t)
  while (client.writableLength === 0) {
    client.write(Buffer.alloc(1024 * 1024))
    await new Promise((resolve) => setImmediate(resolve))
  }
  const isOver = relay({ client, rest: Buffer.alloc(0), holder, isHolderAlive })
  worker.end()
  while (!client.writableEnded) await new Promise((resolve) => setImmediate(resolve))
  t.mock.timers.tick(5 * 60_000)
  await isOver
  assert.ok(client.destroyed)
})

test('a client that takes nothing for a while, and then does, keeps its session', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { near: client, far: program } = await connected(t)
  const { near: holder, far: worker } = await connected(t)
  const isOver = relay({ client, rest: Buffer.alloc(0), holder, isHolderAlive })
  const long = Buffer.alloc(64 * 1024 * 1024, 'x')
  worker.write(long)
  while (!holder.isPaused()) await new Promise((resolve) => setImmediate(resolve))
  t.mock.timers.tick(4 * 60_000)
  let bytes = 0
  program.on('data', (chunk) => (bytes += chunk.length))
  while (bytes < long.length || client.writableLength > 0)
    await new Promise((resolve) => setImmediate(resolve))
  t.mock.timers.tick(4 * 60_000)
  assert.equal(client.destroyed, false)
  // The next time is counted anew.
  program.pause()
  worker.on('error', () => {})
  worker.write(long)
  while (!holder.isPaused()) await new Promise((resolve) => setImmediate(resolve))
  t.mock.timers.tick(5 * 60_000)
  await isOver
  assert.ok(client.destroyed)
})

test('a client that sends faster than its worker takes is held back, and all arrives', async (t) => {
  const { near: client, far: program } = await connected(t)
  const { near: holder, far: worker } = await connected(t)
  const isOver = relay({ client, rest: Buffer.from('a '), holder, isHolderAlive })
  const message = Buffer.alloc(64 * 1024 * 1024, 'x')
  program.end(message)
  while (!client.isPaused()) await new Promise((resolve) => setImmediate(resolve))
  assert.ok(holder.writableLength < 1024 * 1024, String(holder.writableLength))
  let bytes = 0
  worker.on('data', (chunk) => (bytes += chunk.length))
  await once(worker, 'end')
  assert.equal(bytes, 2 + message.length)
  worker.end('a OK\r\n')
  assert.equal(await text(program), 'a OK\r\n')
  program.destroy()
  await isOver
})

test('a client that takes nothing is let go of, and its session with it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const { near: client, far: program } = await connected(t)
  const { near: holder, far: worker } = await connected(t)
  program.pause()
  const isOver = relay({ client, rest: Buffer.alloc(0), holder, isHolderAlive })
  worker.resume().on('error', () => {})
  const isClosed = new Promise((resolve) => worker.on('close', resolve))
  // As much as all buffers on the way take, and more.
  worker.end(Buffer.alloc(64 * 1024 * 1024))
  while (!holder.isPaused()) await new Promise((resolve) => setImmediate(resolve))
  t.mock.timers.tick(5 * 60_000)
  await isOver
  assert.ok(client.destroyed)
  await isClosed
})

test('of a client that has gone nothing waits any longer, however it has left', async (t) => {
  const set = t.mock.method(globalThis, 'setTimeout')
  const clear = t.mock.method(globalThis, 'clearTimeout')
  for (const way of ['reset', 'end', 'bye']) {
    const { near: client, far: program } = await connected(t)
    const { near: holder, far: worker } = await connected(t)
    const isOver = relay({ client, rest: Buffer.alloc(0), holder, isHolderAlive })
    const isLet = once(holder, 'close')
    worker.on('end', () => worker.end())
    worker.resume()
    program.on('end', () => program.end())
    program.resume()
    if (way === 'reset') program.resetAndDestroy()
    else if (way === 'end') program.end()
    else worker.end('* BYE\r\n')
    await Promise.all([isOver, isLet])
    await new Promise((resolve) => setImmediate(resolve))
  }
  const cleared = new Set(clear.mock.calls.map(({ arguments: [timer] }) => timer))
  const left = set.mock.calls.filter(({ result }) => !cleared.has(result))
  assert.deepEqual(
    left.map(({ arguments: [, ms] }) => ms),
    []
  )
})

test('a client that has gone before its session goes elsewhere is none to that worker', async (t) => {
  const { near: client } = await connected(t)
  const { near: holder } = await connected(t)
  client.destroy()
  await once(client, 'close')
  await relay({ client, rest: Buffer.from('a NOOP\r\n'), holder, isHolderAlive })
  assert.ok(holder.destroyed)
})

const BYE = '* BYE The mailbox moved to another process, log in again\r\n'
test('a worker whose connection is reset takes nobody with it, and the client is told', async (t) => {
  const { near: client, far: program } = await connected(t)
  const { near: holder, far: worker } = await connected(t)
  const isOver = relay({
    client,
    rest: Buffer.alloc(0),
    holder,
    isHolderAlive: async () => false
  })
  worker.resetAndDestroy()
  assert.equal(await text(program), BYE)
  program.destroy()
  await isOver
})

for (const way of ['dies', 'ends its session'])
  test(`a client that is held back as its worker ${way} may send the rest, is told, and is let go of as it closes`, async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    const { near: client, far: program } = await connected(t)
    const { near: holder, far: worker } = await connected(t)
    const alive = async () => way !== 'dies'
    const isOver = relay({ client, rest: Buffer.alloc(0), holder, isHolderAlive: alive })
    program.end(Buffer.alloc(64 * 1024 * 1024, 'x'))
    while (!client.isPaused()) await new Promise((resolve) => setImmediate(resolve))
    if (way === 'ends its session') {
      worker.end('* BYE done\r\n')
      while (!client.writableEnded) await new Promise((resolve) => setImmediate(resolve))
    }
    worker.resetAndDestroy()
    assert.equal(await text(program), way === 'dies' ? BYE : '* BYE done\r\n')
    await isOver
  })

for (const [what, sent, isAlive, isTold] of /** @type {const} */ ([
  ['before it has said anything', '', false, true],
  ['behind a line', '* 1 EXISTS\r\n', false, true],
  ['amid a literal', '* 1 FETCH (BODY[] {10}\r\nabc', false, false],
  ['behind compressed data', 'x\0\0\u00ff\u00ff', false, false],
  ['with a line of its own, and lives', '* BYE gone\r\n', true, false]
]))
  test(`a client is told with a line, and where one may begin, that its worker has died: ${what}`, async (t) => {
    const { near: client, far: program } = await connected(t)
    const { near: holder, far: worker } = await connected(t)
    let asked = 0
    const alive = async () => ++asked > 0 && isAlive
    const isOver = relay({ client, rest: Buffer.alloc(0), holder, isHolderAlive: alive })
    worker.end(Buffer.from(sent, 'latin1'))
    const got = (await buffer(program)).toString('latin1')
    assert.equal(got, isTold ? `${sent}${BYE}` : sent)
    program.destroy()
    await isOver
    assert.equal(asked, 1)
  })
