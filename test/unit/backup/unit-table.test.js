import { test } from 'node:test'
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { UnitTable } from '../../../src/backup/unit-table.js'

/** @param {number} number */
const hashOf = (number) => createHash('sha256').update(String(number)).digest()

test('a table of units answers as a Map does, also after it has grown', () => {
  const entry = fc.record({
    number: fc.nat(300),
    pack: fc.nat(1000),
    offset: fc.nat(0xffffffff),
    length: fc.constantFrom(1, 1000, 65536)
  })
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 500 }), (entries) => {
      const table = new UnitTable()
      /** @type {Map<number, { pack: number, offset: number, length: number }>} */
      const map = new Map()
      for (const { number, ...place } of entries) {
        table.add(hashOf(number), place.length, place)
        if (!map.has(number)) map.set(number, place)
      }
      assert.equal(table.size, map.size)
      for (let number = 0; number <= 300; number++) {
        const place = map.get(number)
        const expected = place ? { pack: place.pack, offset: place.offset } : null
        assert.deepEqual(table.find(hashOf(number), place?.length ?? 1), expected)
      }
    }),
    { numRuns: 30 }
  )
})

test('a unit of another length is not the same unit', () => {
  const table = new UnitTable(1)
  table.add(hashOf(1), 65536, { pack: 0, offset: 0 })
  assert.equal(table.find(hashOf(1), 4096), null)
})
