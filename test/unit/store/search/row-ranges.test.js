import assert from 'node:assert/strict'
import test from 'node:test'
import { searchMessages } from '../../../../src/store/search/evaluate.js'
import { compileRowKey } from '../../../../src/store/search/row-keys.js'
import { accountFolder, rawHandle } from '../../../helpers/account-folder.js'
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
  ...['', 'SAVED', 'SENT'].flatMap((which) =>
    ['BEFORE', 'ON', 'SINCE'].flatMap((comparison) =>
      [13, 14, 15, 16, 17].map((day) => `${which}${comparison} ${day}-Jun-2024`)
    )
  ),
  ...['LARGER 100', 'SMALLER 100', 'LARGER 99', 'SMALLER 101', 'LARGER 0', 'SMALLER 0'],
  ...['YOUNGER 86400', 'OLDER 86400', 'YOUNGER 43200', 'OLDER 43200', 'YOUNGER 129600']
]

/**
 * @param {{ epochSeconds: number, zoneMinutes: number }} date
 * @returns {string} as in a Date header
 */
function headerDate({ epochSeconds, zoneMinutes }) {
  const local = new Date((epochSeconds + zoneMinutes * 60) * 1000).toUTCString().slice(5, 25)
  const minutes = Math.abs(zoneMinutes)
  const digits = String(Math.floor(minutes / 60) * 100 + (minutes % 60)).padStart(4, '0')
  return `${local} ${zoneMinutes < 0 ? '-' : '+'}${digits}`
}

test('dates, sizes and ages of many messages in a row are compared as those of one, also where some have gone', async (t) => {
  let nowMs = 0
  const store = await temporaryStore(t, { clock: { nowMs: () => nowMs } })
  const rows = Array.from({ length: MESSAGES }, (_, index) => ({
    size: 80 + (index % 60),
    internalDate: rowOf(index),
    // Of some nobody knows it.
    sentDate: index % 10 === 0 ? null : rowOf(index * 7 + 1),
    savedAtMs: MIDNIGHT_SECONDS * 1000 + ((index % 3) - 1) + (index % 4) * DAY_SECONDS * 1000
  }))
  for (const { size, internalDate, savedAtMs, sentDate } of rows) {
    nowMs = savedAtMs
    const date = sentDate === null ? '' : `Date: ${headerDate(sentDate)}\r\n`
    const head = `${date}Subject: row\r\n\r\n`
    const bytes = Buffer.from(head + 'x'.repeat(size - head.length))
    await appendAll(store, 'INBOX', [{ bytes, internalDate }])
  }
  nowMs = NOW_SECONDS * 1000
  // What is made of contents is in the file then, as it is of nearly all mail.
  await store.indexSearch()
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
  const isLarge = (/** @type {SearchRow} */ row) => row.size > 90
  for (const text of KEYS) {
    const passes = compileRowKey(searchKey(text), NOW_SECONDS)
    for (const isKept of [false, true]) {
      // What the view has kept of earlier searches.
      if (!isKept) view.sortColumns.clear()
      /** @type {[string, (row: SearchRow) => boolean, number][]} */
      const searches = [
        [`1:100 ${text} LARGER 90 SUBJECT row`, (row) => passes(row) && isLarge(row), 100],
        [`1:20 ${text}`, passes, 20],
        [text, passes, MESSAGES],
        [`NOT ${text}`, (row) => !passes(row), MESSAGES],
        [`OR ${text} NOT LARGER 90`, (row) => passes(row) || !isLarge(row), MESSAGES]
      ]
      for (const [search, test, last] of searches)
        assert.deepEqual(
          await find(search),
          expected(test).filter((uid) => uid <= last),
          `${search}, ${isKept ? 'kept' : 'read'}`
        )
    }
  }
})

for (const [where, modulus] of /** @type {const} */ ([
  ['where they are few', 4],
  ['in a thread where they are many', 1]
]))
  test(`sending dates that older code has read are read anew, ${where}`, async (t) => {
    const account = await accountFolder(t)
    const store = await account.create()
    const mails = Array.from({ length: 200 }, (_, index) => ({
      bytes: Buffer.from(`Date: ${1 + (index % 9)} Jun 2024 10:00:00 +0000\r\nX: ${index}\r\n\r\n`)
    }))
    await appendAll(store, 'INBOX', mails)
    await store.indexSearch()
    await store.close()
    const db = rawHandle(account)
    const wrong =
      'UPDATE message_meta SET builder_version = 1, sent_at = 0 WHERE content_id % ? = 0'
    assert.equal(db.prepare(wrong).run(modulus).changes, 200 / modulus)
    db.close()
    const again = await account.open()
    const { view, selected } = await selectIn(again)
    const scans = t.mock.method(again.searchAccess.scanner, 'scan')
    const found = await searchMessages({
      store: again,
      view,
      selected,
      key: searchKey('SENTSINCE 5-Jun-2024'),
      clock: { nowMs: () => 0 }
    })
    assert.deepEqual(
      found,
      [...mails.keys()].filter((index) => index % 9 >= 4)
    )
    assert.equal(scans.mock.callCount(), modulus === 1 ? 1 : 0)
  })

test('the first hundred years are not those of the last century', () => {
  const internalDate = { epochSeconds: Date.UTC(1940, 0, 1) / 1000, zoneMinutes: 0 }
  const row = { size: 1, internalDate, savedAtMs: 0 }
  const found = (/** @type {string} */ text) => compileRowKey(searchKey(text), NOW_SECONDS)(row)
  assert.deepEqual(['BEFORE 1-Jan-0050', 'SINCE 1-Jan-0050'].map(found), [false, true])
})
