import { test } from 'node:test'
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { registrarAmong } from '../../../src/cluster/registrar.js'

const IDS = Array.from({ length: 4000 }, (_, number) =>
  createHash('sha256').update(`${number}`).digest('hex').slice(0, 16)
)

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
    const registrar = registrarAmong(id, workers)
    assert.equal(registrarAmong(id, [...workers].reverse()), registrar)
    counts[registrar?.slot ?? 0] = (counts[registrar?.slot ?? 0] ?? 0) + 1
  }
  for (const count of counts) assert.ok(count > 850 && count < 1150, counts.join())
})

test('a worker that goes moves its own accounts and no others; back again, it has them as before', () => {
  const workers = [0, 1, 2, 3].map((slot) => worker(slot))
  for (const id of IDS) {
    const before = registrarAmong(id, workers)
    const without = registrarAmong(
      id,
      workers.filter(({ slot }) => slot !== 2)
    )
    if (before?.slot !== 2) assert.equal(without, before)
    else assert.notEqual(without?.slot, 2)
  }
})

test('a reload moves no account to another slot: the newest process of a slot is the registrar', () => {
  const old = [0, 1, 2].map((slot) => worker(slot))
  const newer = worker(1, 2, 7)
  for (const id of IDS) {
    const before = registrarAmong(id, old)
    for (const all of [
      [...old, newer],
      [newer, ...old]
    ]) {
      assert.equal(registrarAmong(id, all), before?.slot === 1 ? newer : before)
    }
  }
})

test('without workers there is no registrar', () => assert.equal(registrarAmong('x', []), null))
