import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { generationName } from '../../../src/backup/repository.js'
import { applyRetention } from '../../../src/backup/retention.js'

const DAY_MS = 24 * 60 * 60 * 1000
const NOW_MS = Date.UTC(2027, 0, 1)
const KEEP = { keepDaily: 7, keepWeekly: 4, keepMonthly: 12 }

/**
 * @param {string} first - the day of the first
 * @param {number} days
 * @returns {string[]} one each night
 */
const nightly = (first, days) =>
  Array.from({ length: days }, (_, day) =>
    generationName(Date.parse(`${first}T03:14:07Z`) + day * DAY_MS)
  )

test('of two years of nights, 7 days, 4 weeks and 12 months are kept', () => {
  const { keep, drop } = applyRetention(nightly('2025-01-01', 730), KEEP, NOW_MS)
  assert.deepEqual(
    keep.map((name) => name.slice(0, 10)),
    [
      ...['2026-01-31', '2026-02-28', '2026-03-31', '2026-04-30', '2026-05-31', '2026-06-30'],
      ...['2026-07-31', '2026-08-31', '2026-09-30', '2026-10-31', '2026-11-30'],
      ...['2026-12-13', '2026-12-20'],
      ...['2026-12-25', '2026-12-26', '2026-12-27', '2026-12-28', '2026-12-29', '2026-12-30'],
      '2026-12-31'
    ]
  )
  assert.equal(keep.length + drop.length, 730)
})

test('of several on one day, the last is kept', () => {
  const names = ['2026-05-05T01-00-00Z', '2026-05-05T02-00-00Z', '2026-05-05T02-00-00Z-2']
  assert.deepEqual(applyRetention(names, KEEP, NOW_MS), {
    keep: names.slice(2),
    drop: names.slice(0, 2)
  })
})

test('days without a backup do not count', () => {
  const names = ['2020-01-01T00-00-00Z', '2023-01-01T00-00-00Z', '2026-01-01T00-00-00Z']
  assert.deepEqual(applyRetention(names, KEEP, NOW_MS).drop, [])
})

test('what a wrong clock has made stands in no other’s place, and goes when it has become the past', () => {
  const wrong = nightly('2036-02-01', 10)
  const right = nightly('2026-12-01', 30)
  const few = { keepDaily: 2, keepWeekly: 0, keepMonthly: 0 }
  assert.deepEqual(applyRetention([...wrong, ...right], few, NOW_MS), {
    keep: [...right.slice(-2), ...wrong],
    drop: right.slice(0, -2)
  })
  const later = applyRetention([...wrong, ...right], few, Date.UTC(2036, 2, 1))
  assert.deepEqual(later.keep, wrong.slice(-2))
})

test('a clock that is behind drops nothing', () => {
  assert.deepEqual(applyRetention(nightly('2025-01-01', 730), KEEP, 0).drop, [])
})

test('the newest is always kept', () => {
  const names = nightly('2026-01-01', 3)
  const { keep } = applyRetention(names, { keepDaily: 0, keepWeekly: 0, keepMonthly: 0 }, NOW_MS)
  assert.deepEqual(keep, names.slice(-1))
})

test('what was dropped on one day is never asked for on a later one', () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 400 }), fc.integer({ min: 1, max: 60 }), (days, more) => {
      const all = nightly('2025-03-07', days + more)
      const daily = new Set(all.slice(0, days))
      for (let day = days; day < days + more; day++) {
        daily.add(/** @type {string} */ (all[day]))
        for (const name of applyRetention([...daily], KEEP, NOW_MS).drop) daily.delete(name)
      }
      assert.deepEqual([...daily].sort(), applyRetention(all, KEEP, NOW_MS).keep)
    }),
    { numRuns: 20 }
  )
})
