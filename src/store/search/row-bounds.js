/**
 * The search keys of row-keys.js as ranges of whole numbers, for whatever compares many at once.
 */
import { MailError } from '../../errors.js'
import { SECONDS_PER_DAY, wantedDay } from './row-keys.js'

/** @typedef {import('../../imap/protocol/values/search-key.js').SearchKey} SearchKey */
/** @typedef {{ low: number, high: number }} Bounds - both inclusive; infinite where there is none */

/**
 * @param {SearchKey} key - of the row's stage (see plan.js)
 * @param {number} nowSeconds - YOUNGER and OLDER count from it
 * @returns {Bounds} bytes, or seconds since 1970: for days in the zone of the date. A message without a Date is in none
 * @throws {MailError} CANNOT for a key of another stage
 */
export function boundsOf(key, nowSeconds) {
  switch (key.op) {
    case 'larger':
      return { low: key.size + 1, high: Infinity }
    case 'smaller':
      return { low: -Infinity, high: key.size - 1 }
    case 'younger':
      return { low: nowSeconds - key.seconds, high: Infinity }
    case 'older':
      return { low: -Infinity, high: nowSeconds - key.seconds }
    case 'date':
      return dayBounds(key)
    default:
      throw new MailError('CANNOT', { detail: `search key ${key.op}` })
  }
}

/**
 * @param {Extract<SearchKey, { op: 'date' }>} key
 * @returns {Bounds}
 */
function dayBounds(key) {
  const start = wantedDay(key) * SECONDS_PER_DAY
  switch (key.comparison) {
    case 'before':
      return { low: -Infinity, high: start - 1 }
    case 'on':
      return { low: start, high: start + SECONDS_PER_DAY - 1 }
    case 'since':
      return { low: start, high: Infinity }
  }
}
