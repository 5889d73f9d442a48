import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { test } from 'node:test'
import { Slicer } from '../../../src/support/slicer.js'
import { inTurnsOf, isTurnSpent, nextTurn } from '../../../src/support/turns.js'

/**
 * @param {number} slices
 * @param {() => void} onSlice - called when one begins
 */
async function workLong(slices, onSlice) {
  const slicer = new Slicer()
  for (let count = 0; count < slices; count++) {
    onSlice()
    while (!slicer.isSpent);
    await slicer.breathe()
  }
}

test('of many that work long one has a slice in a turn of the event loop', async () => {
  let slices = 0
  const work = () => inTurnsOf('alice', () => workLong(3, () => slices++))
  const working = Promise.all(Array.from({ length: 20 }, work))
  // All have begun, in this turn.
  slices = 0
  /** @type {number[]} */
  const turns = []
  for (let before = 0; before < 40; before = slices) {
    await setImmediate()
    turns.push(slices - before)
  }
  await working
  assert.ok(Math.max(...turns) <= 2, `slices in a turn: ${turns.join()}`)
})

test('who has one piece of work goes on as often as who has twenty', async () => {
  /** @type {string[]} */
  const order = []
  const work = (/** @type {string} */ user) =>
    inTurnsOf(user, () => workLong(5, () => order.push(user)))
  const many = Array.from({ length: 20 }, () => work('alice'))
  await Promise.all([work('bob'), ...many])
  const places = order.flatMap((user, place) => (user === 'bob' ? [place] : []))
  const first = /** @type {number} */ (places[1])
  assert.deepEqual(
    places.slice(1).map((place) => place - first),
    [0, 2, 4, 6]
  )
})

test('short pieces of work share a turn', async () => {
  let turns = 0
  const watch = () => {
    turns++
    watching = globalThis.setImmediate(watch)
  }
  let watching = globalThis.setImmediate(watch)
  const work = async () => {
    await nextTurn()
    // What they do may take several steps.
    for (let step = 0; step < 5; step++) await null
  }
  await Promise.all(Array.from({ length: 100 }, work))
  clearImmediate(watching)
  assert.ok(turns < 50, `turns: ${turns}`)
})

test('a turn is spent when much was done in it, and the next one is not', async () => {
  while (!isTurnSpent());
  await setImmediate()
  await setImmediate()
  assert.equal(isTurnSpent(), false)
})

test('after a turn in which much was done, what has come is heard of before anybody is let go on', async (t) => {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  const client = connect(port, '127.0.0.1')
  const [peer] = /** @type {[import('node:net').Socket]} */ (await once(server, 'connection'))
  t.after(() => {
    client.destroy()
    server.close()
  })
  /** @type {string[]} */
  const order = []
  peer.on('data', (data) => order.push(data.toString()))
  client.write('first')
  await once(peer, 'data')
  isTurnSpent()
  const goingOn = nextTurn().then(() => order.push('let go on'))
  client.write('heard')
  while (!isTurnSpent());
  await goingOn
  assert.deepEqual(order, ['first', 'heard', 'let go on'])
})

test('work that is begun in a turn in which much was done has no slice of its own', async () => {
  await nextTurn()
  const before = new Slicer()
  while (!before.isSpent);
  assert.equal(new Slicer().isSpent, true)
})
