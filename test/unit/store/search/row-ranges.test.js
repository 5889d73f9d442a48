import assert from 'node:assert/strict'
import test from 'node:test'
import { searchMessages } from '../../../../src/store/search/evaluate.js'
import { compileRowKey } from '../../../../src/store/search/row-keys.js'
import { selectIn } from '../../../helpers/selected.js'
import { searchKey } from '../../../helpers/search-key.js'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'

/** @typedef {import('../../../../src/imap/protocol/values/search-key.js').SearchKey} SearchKey */
/** @typedef {import('../../../../src/store/search/row-keys.js').SearchRow} SearchRow */

const NOW_SECONDS = Date.UTC(2024, 5, 15, 12) / 1000
const MIDNIGHT_SECONDS = Date.UTC(2024, 5, 14) / 1000
const DAY_SECONDS = 86_400
const MESSAGES = 150

/**
 * The second before midnight, midnight and the second after, in zones from -12 to +14 hours, on four days.
 *
 * @param {number} index - of the message
 */
const rowOf = (index) => {
  const zoneMinutes = ((index % 27) - 12) * 60 + (index % 2) * 30
  const local = MIDNIGHT_SECONDS + ((index % 3) - 1) + (Math.floor(index / 3) % 4) * DAY_SECONDS
  return { epochSeconds: local - zoneMinutes * 60, zoneMinutes }
}

const KEYS = [
  ...['BEFORE', 'ON', 'SINCE', 'SAVEDBEFORE', 'SAVEDON', 'SAVEDSINCE'].flatMap((name) =>
    [13, 14, 15, 16, 17].map((day) => `${name} ${day}-Jun-2024`)
  ),
  ...['LARGER 100', 'SMALLER 100', 'LARGER 99', 'SMALLER 101', 'LARGER 0', 'SMALLER 0'],
  ...['YOUNGER 86400', 'OLDER 86400', 'YOUNGER 43200', 'OLDER 43200', 'YOUNGER 129600']
]

test('dates, sizes and ages of many messages in a row are compared as those of one, also where some have gone', async (t) => {
  let nowMs = 0
  const store = await temporaryStore(t, { clock: { nowMs: () => nowMs } })
  const rows = Array.from({ length: MESSAGES }, (_, index) => ({
    size: 60 + (index % 80),
    internalDate: rowOf(index),
    savedAtMs: MIDNIGHT_SECONDS * 1000 + ((index % 3) - 1) + (index % 4) * DAY_SECONDS * 1000
  }))
  for (const { size, internalDate, savedAtMs } of rows) {
    nowMs = savedAtMs
    const head = 'Subject: row\r\n\r\n'
    const bytes = Buffer.from(head + 'x'.repeat(size - head.length))
    await appendAll(store, 'INBOX', [{ bytes, internalDate }])
  }
  nowMs = NOW_SECONDS * 1000
  const { view, selected } = await selectIn(store)
  // The searching session still gives these their numbers, but has no row to compare.
  const gone = [1, 40, 41, 42, MESSAGES]
  const change = { view, uids: gone, origin: 'other' }
  await store.changeFlags({ ...change, action: 'add', flags: ['\\Deleted'], unchangedSince: null })
  await store.expunge(change)
  /** @param {string} text */
  const find = async (text) => {
    const clock = { nowMs: () => nowMs }
    const slots = await searchMessages({ store, view, selected, key: searchKey(text), clock })
    return slots.map((slot) => view.uids[slot] ?? 0)
  }
  /** @param {(row: SearchRow) => boolean} test */
  const expected = (test) =>
    rows.flatMap((row, index) => (test(row) && !gone.includes(index + 1) ? [index + 1] : []))
  for (const text of KEYS) {
    const passes = compileRowKey(searchKey(text), NOW_SECONDS)
    assert.deepEqual(await find(text), expected(passes), text)
    assert.deepEqual(
      await find(`NOT ${text}`),
      expected((row) => !passes(row)),
      `NOT ${text}`
    )
    const isLarge = (/** @type {SearchRow} */ row) => row.size > 90
    assert.deepEqual(
      await find(`OR ${text} NOT LARGER 90`),
      expected((row) => passes(row) || !isLarge(row)),
      `${text} or small`
    )
    assert.deepEqual(
      await find(`1:100 ${text} LARGER 90 SUBJECT row`),
      expected((row) => passes(row) && isLarge(row)).filter((uid) => uid <= 100),
      `${text}, large, among the first`
    )
  }
})

test('the first hundred years are not those of the last century', () => {
  const internalDate = { epochSeconds: Date.UTC(1940, 0, 1) / 1000, zoneMinutes: 0 }
  const row = { size: 1, internalDate, savedAtMs: 0 }
  const found = (/** @type {string} */ text) => compileRowKey(searchKey(text), NOW_SECONDS)(row)
  assert.deepEqual(['BEFORE 1-Jan-0050', 'SINCE 1-Jan-0050'].map(found), [false, true])
})
