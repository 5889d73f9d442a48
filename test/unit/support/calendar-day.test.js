import assert from 'node:assert/strict'
import { test } from 'node:test'
import { dayBeginMs } from '../../../src/support/calendar-day.js'

test('a day begins at midnight in UTC', () => {
  assert.equal(dayBeginMs('2026-11-20'), Date.UTC(2026, 10, 20))
  assert.equal(dayBeginMs('2028-02-29'), Date.UTC(2028, 1, 29))
})

for (const text of [
  '',
  '2026',
  '2026-11',
  '2026-1-1',
  '2026-11-31',
  '2026-02-29',
  '2026-13-01',
  '2026-11-20 ',
  '2026-11-20T00:00Z',
  '+002026-11-20'
])
  test(`${JSON.stringify(text)} is no day`, () => assert.ok(Number.isNaN(dayBeginMs(text))))
