import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { IdSet, intersect, unite } from '../../../../src/store/search/id-list.js'

/** Lists that are dense, sparse, far from 0, and beyond 32 bits. */
const list = fc
  .record({
    steps: fc.array(
      fc.oneof({ weight: 5, arbitrary: fc.integer({ min: 1, max: 3 }) }, fc.nat(1e5)),
      {
        maxLength: 60,
        size: 'max'
      }
    ),
    first: fc.constantFrom(1, 1000, 2 ** 33)
  })
  .map(({ steps, first }) => {
    let id = first
    return Float64Array.from(new Set(steps.map((step) => (id += step))))
  })

test('lists are put together as sets are', () => {
  fc.assert(
    fc.property(list, list, (left, right) => {
      assert.deepEqual(
        intersect(left, right),
        left.filter((id) => right.includes(id))
      )
      assert.deepEqual(unite(left, right), Float64Array.from(new Set([...left, ...right])).sort())
    })
  )
})

test('a list tells of each id whether it is in it', () => {
  fc.assert(
    fc.property(list, (ids) => {
      const set = new IdSet(ids)
      const all = new Set(ids)
      const near = [...ids].flatMap((id) => [id - 8, id - 1, id, id + 1, id + 8])
      for (const id of [...near, 0, 2 ** 40]) assert.equal(set.has(id), all.has(id), `${id}`)
    })
  )
})
