/**
 * The Date field: RFC 5322 §3.3 with the obsolete forms of §4.3, C's asctime, and ISO 8601, which some programs
 * write instead.
 */
import { decodeCharset } from './charset.js'

/**
 * @typedef {object} MailDate
 * @property {number} epochSeconds - seconds since 1970-01-01T00:00:00Z
 * @property {number} zoneMinutes - offset of the sender's clock from UTC, east positive
 */

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec']

/** Zones by name, RFC 5322 §4.3. Military letters but Z mean -0000 there, since they were used with both signs. */
const ZONES = new Map([
  ['ut', 0],
  ['utc', 0],
  ['gmt', 0],
  ['z', 0],
  ['est', -300],
  ['edt', -240],
  ['cst', -360],
  ['cdt', -300],
  ['mst', -420],
  ['mdt', -360],
  ['pst', -480],
  ['pdt', -420],
  ['bst', 60],
  ['wet', 0],
  ['west', 60],
  ['met', 60],
  ['mest', 120],
  ['cet', 60],
  ['cest', 120],
  ['eet', 120],
  ['eest', 180],
  ['msk', 180],
  ['jst', 540],
  ['kst', 540]
])

/** At most so many bytes are read: no date is longer, and the rest is a comment. */
const MAX_DATE_BYTES = 200

/**
 * @param {Uint8Array} bytes - the value of a Date field, folded or not
 * @returns {MailDate | null} null when there is no date in it; a missing or unknown zone counts as UTC, a time that is
 *   missing or none as 00:00 (RFC 5256 §2.2)
 */
export function parseMailDate(bytes) {
  const text = decodeCharset(bytes.subarray(0, MAX_DATE_BYTES), 'iso-8859-1')
    .replace(/\([^()]*\)/g, ' ')
    .toLowerCase()
  const iso =
    /^\s*(\d{4})-(\d\d)-(\d\d)(?!\d)(?:[t ]\s*(\d\d:\d\d(?::\d\d)?)(?:\.\d+)?\s*(\S*))?/.exec(text)
  if (iso) return combine(iso[1], Number(iso[2]) - 1, iso[3], iso[4], iso[5])
  const rfc =
    /(\d{1,2})[\s-]*([a-z]{3})[a-z.]*[\s-]*(\d{2,4})[\s,t]+(\d{1,2}\s*[:.]\s*\d{1,2}(?:\s*[:.]\s*\d{1,2})?)\s*(?:([ap])m\b)?\s*((?:gmt|utc)?[+-]?\s*[a-z0-9:]+)?/.exec(
      text
    )
  if (rfc) return combine(rfc[3], monthOf(rfc[2]), rfc[1], rfc[4], rfc[6], rfc[5])
  const asctime =
    /([a-z]{3})[a-z]*\s+(\d{1,2}),?\s+(\d{1,2}:\d{2}(?::\d{2})?)\s+(?:([a-z]{1,5}|[+-]\d{4})\s+)?(\d{4})\s*([+-]\d{4})?/.exec(
      text
    )
  if (asctime)
    return combine(
      asctime[5],
      monthOf(asctime[1]),
      asctime[2],
      asctime[3],
      asctime[4] ?? asctime[6]
    )
  const day = /(\d{1,2})[\s-]*([a-z]{3})[a-z.]*[\s-]*(\d{4})(?!\d)/.exec(text)
  return day && combine(day[3], monthOf(day[2]), day[1], undefined, undefined)
}

/**
 * @param {string | undefined} name
 * @returns {number} 0 to 11, or -1
 */
function monthOf(name) {
  return MONTHS.indexOf(name ?? '')
}

/**
 * @param {string | undefined} yearText
 * @param {number} month - 0 to 11
 * @param {string | undefined} dayText
 * @param {string | undefined} timeText
 * @param {string | undefined} zoneText
 * @param {string} [half] - `a` or `p` where hours are counted to twelve
 * @returns {MailDate | null}
 */
function combine(yearText, month, dayText, timeText, zoneText, half) {
  const year = fullYear(yearText ?? '')
  const day = Number(dayText)
  const [clock = 0, minute = 0, second = 0] = (timeText ?? '').split(/[:.]/).map(Number)
  // Twelve is the first hour of its half; some name the half although they count to 24.
  const isOfHalf = half !== undefined && clock <= 12
  const hour = isOfHalf ? (clock % 12) + (half === 'p' ? 12 : 0) : clock
  if (!(month >= 0 && month < 12 && day >= 1 && day <= 31)) return null
  const isTime = hour < 24 && minute < 60 && second < 61
  const zoneMinutes = parseZone(zoneText)
  const local = isTime
    ? Date.UTC(2000, month, day, hour, minute, Math.min(second, 59))
    : Date.UTC(2000, month, day)
  // Date.UTC takes the years 0 to 99 for 1900 to 1999.
  const date = new Date(local)
  date.setUTCFullYear(year, month, day)
  return { epochSeconds: date.getTime() / 1000 - zoneMinutes * 60, zoneMinutes }
}

/**
 * RFC 5322 §4.3: two digits below 50 are this century, others and three digits are counted from 1900.
 * @param {string} text
 * @returns {number}
 */
function fullYear(text) {
  const year = Number(text)
  if (text.length === 2) return year < 50 ? 2000 + year : 1900 + year
  return text.length === 3 ? 1900 + year : year
}

/**
 * @param {string | undefined} text
 * @returns {number} minutes east of UTC
 */
function parseZone(text) {
  const zone = (text ?? '').replace(/\s/g, '')
  const numeric = /^([+-])?(?:gmt|utc)?([+-])?(\d{1,2}):?(\d\d)$/.exec(zone)
  if (numeric) {
    const minutes = Number(numeric[3]) * 60 + Number(numeric[4])
    // Counts as no zone: RFC 9051 §9 has zones of four digits, and no place is as far as a day from UTC.
    if (minutes >= 24 * 60) return 0
    return (numeric[1] ?? numeric[2]) === '-' ? -minutes : minutes
  }
  return ZONES.get(zone) ?? ZONES.get(/^[a-z]+/.exec(zone)?.[0] ?? '') ?? 0
}
