/**
 * The search keys that a message's row answers: dates of arrival, saving and sending, size, age. RFC 3501 §6.4.4, RFC 5032 §2,
 * RFC 8514 §4.3.
 */
import { MailError } from '../../errors.js'

/** @typedef {import('../../imap/protocol/values/search-key.js').SearchKey} SearchKey */
/** @typedef {import('../sort/sort-columns.js').ColumnKey} ColumnKey */
/** @typedef {{ epochSeconds: number, zoneMinutes: number }} ZonedDate */
/**
 * @typedef {object} SearchRow
 * @property {number} size
 * @property {ZonedDate} internalDate
 * @property {number} savedAtMs
 * @property {ZonedDate | null} [sentDate] - of the Date header, if it is asked for
 */

export const SECONDS_PER_DAY = 86_400

/**
 * @param {SearchKey} key - of the row's stage (see plan.js)
 * @param {number} nowSeconds - the search's one "now", seconds since 1970
 * @returns {(row: SearchRow) => boolean}
 * @throws {MailError} CANNOT for a key of another stage
 */
export function compileRowKey(key, nowSeconds) {
  switch (key.op) {
    case 'larger':
      return (row) => row.size > key.size
    case 'smaller':
      return (row) => row.size < key.size
    case 'younger':
      return (row) => row.internalDate.epochSeconds >= nowSeconds - key.seconds
    case 'older':
      return (row) => row.internalDate.epochSeconds <= nowSeconds - key.seconds
    case 'date': {
      const test = compileDateTest(key)
      if (key.which === 'saved') return (row) => test(savedDate(row))
      if (key.which === 'sent') return ({ sentDate }) => Boolean(sentDate && test(sentDate))
      return (row) => test(row.internalDate)
    }
    default:
      throw new MailError('CANNOT', { detail: `search key ${key.op}` })
  }
}

/**
 * @param {SearchKey} key
 * @returns {Exclude<ColumnKey, 'DATE'> | null} the column of numbers that answers it where the view keeps one (kept-values.js); null: none does
 */
export function columnOf(key) {
  switch (key.op) {
    case 'larger':
    case 'smaller':
      return 'SIZE'
    case 'younger':
    case 'older':
      return 'ARRIVAL'
    case 'date':
      if (key.which === 'saved') return null
      return key.which === 'sent' ? 'LOCAL_SENT' : 'LOCAL_ARRIVAL'
    default:
      return null
  }
}

/**
 * Days are compared as written: the date in the zone that the message carries, "disregarding time and timezone"
 * (RFC 3501 §6.4.4).
 *
 * @param {Extract<SearchKey, { op: 'date' }>} key
 * @returns {(date: ZonedDate) => boolean}
 */
function compileDateTest(key) {
  const wanted = wantedDay(key)
  switch (key.comparison) {
    case 'before':
      return (date) => dayOf(date) < wanted
    case 'on':
      return (date) => dayOf(date) === wanted
    case 'since':
      return (date) => dayOf(date) >= wanted
  }
}

/**
 * @param {Extract<SearchKey, { op: 'date' }>} key
 * @returns {number} the day that is asked for, days since 1970
 */
export const wantedDay = ({ date: { year, month, day } }) =>
  // Date.UTC takes the years 0 to 99 for 1900 to 1999.
  new Date(0).setUTCFullYear(year, month - 1, day) / 1000 / SECONDS_PER_DAY

/**
 * @param {ZonedDate} date
 * @returns {number} days since 1970 in the date's own zone
 */
function dayOf({ epochSeconds, zoneMinutes }) {
  return Math.floor((epochSeconds + zoneMinutes * 60) / SECONDS_PER_DAY)
}

/**
 * @param {SearchRow} row
 * @returns {ZonedDate} the saving date carries no zone and is told in UTC
 */
function savedDate(row) {
  return { epochSeconds: Math.floor(row.savedAtMs / 1000), zoneMinutes: 0 }
}
