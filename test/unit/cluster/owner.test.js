import { test } from 'node:test'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { ownerAmong } from '../../../src/cluster/owner.js'

const IDS = Array.from({ length: 4000 }, () => randomBytes(8).toString('hex'))

/**
 * @param {number} slot
 * @param {number} [generation]
 * @param {number} [pid]
 */
const worker = (slot, generation = 1, pid = 100 + slot) => ({ slot, generation, pid })

test('accounts are spread evenly, in whatever order the workers are known', () => {
  const workers = [0, 1, 2, 3].map((slot) => worker(slot))
  const counts = [0, 0, 0, 0]
  for (const id of IDS) {
    const owner = ownerAmong(id, workers)
    assert.equal(ownerAmong(id, [...workers].reverse()), owner)
    counts[owner?.slot ?? 0] = (counts[owner?.slot ?? 0] ?? 0) + 1
  }
  for (const count of counts) assert.ok(count > 850 && count < 1150, counts.join())
})

test('a worker that goes moves its own accounts and no others; back again, it has them as before', () => {
  const workers = [0, 1, 2, 3].map((slot) => worker(slot))
  for (const id of IDS) {
    const before = ownerAmong(id, workers)
    const without = ownerAmong(
      id,
      workers.filter(({ slot }) => slot !== 2)
    )
    if (before?.slot !== 2) assert.equal(without, before)
    else assert.notEqual(without?.slot, 2)
  }
})

test('a reload moves no account to another slot: the newest process of a slot owns', () => {
  const old = [0, 1, 2].map((slot) => worker(slot))
  const newer = worker(1, 2, 7)
  for (const id of IDS) {
    const before = ownerAmong(id, old)
    for (const all of [
      [...old, newer],
      [newer, ...old]
    ]) {
      assert.equal(ownerAmong(id, all), before?.slot === 1 ? newer : before)
    }
  }
})

test('without workers there is no owner', () => assert.equal(ownerAmong('x', []), null))
