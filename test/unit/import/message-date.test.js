import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chooseInternalDate } from '../../../src/import/message-date.js'

/** @typedef {import('../../../src/import/import-item.js').ZonedDate} ZonedDate */

const NOW = 1_700_000_000

/**
 * @param {number} epochSeconds
 * @param {number} [zoneMinutes]
 * @returns {ZonedDate}
 */
const at = (epochSeconds, zoneMinutes = 0) => ({ epochSeconds, zoneMinutes })

const WITH_DATE = 'Subject: x\nDate: Thu, 1 Jan 1970 01:00:50 +0100\n\n'

/** @type {{ name: string, known?: (ZonedDate | null)[], head?: string, fallback?: ZonedDate, chosen: ZonedDate }[]} */
const CASES = [
  { name: 'of the format', known: [null, at(7), at(8)], head: WITH_DATE, chosen: at(7) },
  { name: 'of the header', known: [null], head: WITH_DATE, fallback: at(9), chosen: at(50, 60) },
  { name: 'of the file', head: 'Subject: x\n\n', fallback: at(9), chosen: at(9) },
  { name: 'of now where there is none', chosen: at(NOW) },
  { name: 'of 1970', known: [at(0)], chosen: at(0) },
  { name: 'before 1970 is none', known: [at(-1)], fallback: at(9), chosen: at(9) },
  { name: 'of tomorrow', known: [at(NOW + 86_400)], chosen: at(NOW + 86_400) },
  { name: 'after tomorrow is none', known: [at(NOW + 86_401)], fallback: at(9), chosen: at(9) },
  {
    name: 'of a header after tomorrow is none',
    head: 'Date: 1 Jan 2090 00:00:00\n\n',
    fallback: at(9),
    chosen: at(9)
  }
]

for (const { name, known = [], head = '', fallback = null, chosen } of CASES)
  test(`an imported message has the date ${name}`, () => {
    const request = { known, head: Buffer.from(head), fallback, nowMs: NOW * 1000 + 999 }
    assert.deepEqual(chooseInternalDate(request), chosen)
  })
