import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ChangeLog } from '../../../src/store/change-log.js'

/** @typedef {import('../../../src/store/mailbox-view.js').ChangeRecord} ChangeRecord */

const MANY = 100_000
const ALL = Array.from({ length: MANY }, (_, slot) => slot)

/**
 * @param {readonly ChangeRecord[]} records
 * @returns {unknown} what a reader makes of them: no order among kinds, and each slot of an origin once
 */
function meaningOf(records) {
  const flags = records.filter((record) => record.kind === 'flags')
  return {
    others: records.filter(({ kind }) => kind !== 'flags'),
    flags: ['a', 'b', null].map((origin) => [
      ...new Set(flags.filter((record) => record.origin === origin).flatMap(({ slots }) => slots).sort((x, y) => x - y)) // prettier-ignore
    ])
  }
}

test('for who does not look for long no more is kept than each slot for each origin, whenever it looks', () => {
  for (let rounds = 1; rounds <= 40; rounds++) {
    const log = new ChangeLog()
    const silent = { next: 0 }
    const other = { next: 0 }
    log.join(silent)
    log.join(other)
    for (let round = 0; round < rounds; round++) {
      log.push([{ kind: 'flags', slots: ALL, origin: round % 2 ? 'a' : 'b' }])
      log.take(other)
    }
    log.push([{ kind: 'append', fromSlot: MANY, toSlot: MANY + 1 }])
    const records = log.take(silent)
    const slots = records.reduce((sum, one) => sum + ('slots' in one ? one.slots.length : 0), 0)
    // Those of two origins and what the other reader has not taken, twice, before they are made fewer.
    assert.ok(slots <= 6 * MANY, `${slots} slots after ${rounds} rounds`)
    assert.deepEqual(meaningOf(records), {
      others: [{ kind: 'append', fromSlot: MANY, toSlot: MANY + 1 }],
      flags: [rounds > 1 ? ALL : [], ALL, []]
    })
    assert.equal(log.hasNewsFor(silent), false)
  }
})

test('a change of many flags is taken in behind very many messages that came one by one', () => {
  const log = new ChangeLog()
  const silent = { next: 0 }
  log.join(silent)
  for (let slot = 0; slot < 2 * MANY; slot++)
    log.push([{ kind: 'append', fromSlot: slot, toSlot: slot + 1 }])
  log.push([{ kind: 'flags', slots: ALL, origin: 'a' }])
  const records = log.take(silent)
  assert.equal(records.length, 2 * MANY + 1)
  assert.deepEqual(records.at(-1), { kind: 'flags', slots: ALL, origin: 'a' })
})

test('each reader is given what has come since it joined or last took, merged or not', () => {
  const record = fc.oneof(
    fc.record({
      kind: fc.constant('flags'),
      slots: fc.constantFrom(ALL, ALL.slice(7, 70_000), [3], [1, 5, 9], ALL.slice(60_000)),
      origin: fc.constantFrom('a', 'b', null)
    }),
    fc.record({ kind: fc.constant('expunge'), slots: fc.constant([4]), after: fc.nat() })
  )
  const step = fc.oneof(
    { weight: 4, arbitrary: record },
    { weight: 1, arbitrary: fc.constantFrom(0, 1, 2) }
  )
  fc.assert(
    fc.property(fc.array(step, { maxLength: 25 }), (steps) => {
      const log = new ChangeLog()
      const readers = [0, 1, 2].map(() => ({ next: 0 }))
      for (const reader of readers) log.join(reader)
      /** @type {ChangeRecord[][]} */
      const expected = [[], [], []]
      const look = (/** @type {number} */ nth) => {
        const reader = /** @type {{ next: number }} */ (readers[nth])
        assert.equal(log.hasNewsFor(reader), expected[nth]?.length !== 0)
        assert.deepEqual(meaningOf(log.take(reader)), meaningOf(expected[nth] ?? []))
        expected[nth] = []
      }
      for (const what of steps) {
        if (typeof what === 'number') look(what)
        else {
          const change = /** @type {ChangeRecord} */ (/** @type {unknown} */ (what))
          log.push([change])
          for (const waiting of expected) waiting.push(change)
        }
      }
      for (const nth of readers.keys()) look(nth)
    }),
    { numRuns: 30 }
  )
})
