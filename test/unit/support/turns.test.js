import assert from 'node:assert/strict'
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
