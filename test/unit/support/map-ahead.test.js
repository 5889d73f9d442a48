/** Work that begins before it is its turn. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mapAhead } from '../../../src/support/map-ahead.js'
import { nextTurn } from '../../../src/support/turns.js'

/** @param {number} item - takes so many turns */
async function takeTurns(item) {
  for (let turn = 0; turn < item; turn++) await nextTurn()
}

test('results come in the order of the items, and no more are under way than asked for', async () => {
  const items = [5, 1, 4, 2, 3, 0]
  for (const ahead of [1, 2, 8]) {
    let running = 0
    let most = 0
    const work = async (/** @type {number} */ item) => {
      most = Math.max(most, ++running)
      await takeTurns(item)
      running--
      return item * 10
    }
    const found = []
    for await (const result of mapAhead(items, work, { ahead: () => ahead })) {
      // While it is used, the others go on.
      assert.ok(running <= ahead)
      await takeTurns(2)
      found.push(result)
    }
    assert.deepEqual(found, [50, 10, 40, 20, 30, 0])
    assert.equal(most, Math.min(ahead + 1, items.length))
  }
})

test('what work throws comes when it is its turn, and when all that was under way has ended', async () => {
  let running = 0
  const work = async (/** @type {number} */ item) => {
    running++
    await takeTurns(item)
    running--
    if (item === 1) throw new Error('one')
    return item
  }
  /** @type {number[]} */
  const found = []
  const use = async () => {
    for await (const item of mapAhead([3, 1, 9, 9], work, { ahead: () => 4 })) found.push(item)
  }
  await assert.rejects(use(), { message: 'one' })
  assert.deepEqual(found, [3])
  assert.equal(running, 0)
})

test('who stops early waits for what was begun, and hears of no failure of it', async () => {
  let running = 0
  const work = async (/** @type {number} */ item) => {
    running++
    await takeTurns(item)
    running--
    if (item > 2) throw new Error('of nobody')
    return item
  }
  const results = mapAhead([1, 3, 4], work, { ahead: () => 2 })
  assert.deepEqual(await results.next(), { done: false, value: 1 })
  assert.equal(running, 2)
  await results.return()
  assert.equal(running, 0)
})
