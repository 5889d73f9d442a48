/** `date-time` and `date`, RFC 9051 §9: `17-Jul-1996 02:44:25 -0700` and `1-Feb-1994`. */
import { badSyntax } from '../syntax-failure.js'

/**
 * @typedef {object} InternalDate
 * @property {number} epochSeconds - since 1970-01-01T00:00:00Z
 * @property {number} zoneMinutes - east of UTC, as the client wrote it
 */

/**
 * @typedef {object} CalendarDate
 * @property {number} year
 * @property {number} month - 1 to 12
 * @property {number} day - 1 to 31
 */

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const MONTH_NUMBERS = new Map(MONTHS.map((name, index) => [name.toLowerCase(), index + 1]))

/** `date-day-fixed` is two places wide; a day of one place is accepted, with a space before it or without. */
const DATE_TIME = /^( ?\d|\d\d)-([A-Za-z]{3})-(\d{4}) (\d\d):(\d\d):(\d\d) ([+-])(\d\d)(\d\d)$/
const DATE = /^(\d{1,2})-([A-Za-z]{3})-(\d{4})$/

/** A zone is at most so far from UTC: no place on earth is further. RFC 5322 §3.3 allows 99:59, clients send less. */
const MAX_ZONE_HOURS = 24

/**
 * @param {string} text - without quotes
 * @returns {InternalDate}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseInternalDate(text) {
  const match = DATE_TIME.exec(text)
  if (match === null) throw badSyntax('Invalid date and time')
  const [, day = '', month = '', year = '', hour, minute, second, sign, zoneHour, zoneMinute] =
    match
  const date = calendarDate(Number(day), month, Number(year))
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 60)
    throw badSyntax('Invalid date and time')
  if (Number(zoneHour) > MAX_ZONE_HOURS || Number(zoneMinute) > 59)
    throw badSyntax('Invalid date and time')
  const zoneMinutes = (Number(zoneHour) * 60 + Number(zoneMinute)) * (sign === '-' ? -1 : 1)
  const seconds = Number(hour) * 3600 + Number(minute) * 60 + Number(second)
  const epochSeconds = daysSinceEpoch(date) * 86400 + seconds - zoneMinutes * 60
  return { epochSeconds, zoneMinutes: zoneMinutes === 0 ? 0 : zoneMinutes }
}

/**
 * @param {InternalDate} date - years 0000 to 9999
 * @returns {string} with the quotes: `" 1-Jan-2024 10:00:00 +0000"`
 */
export function compileInternalDate({ epochSeconds, zoneMinutes }) {
  const local = epochSeconds + zoneMinutes * 60
  const day = Math.floor(local / 86400)
  const second = local - day * 86400
  const hour = Math.floor(second / 3600)
  const minute = Math.floor(second / 60) % 60
  return `"${dayText(day)} ${two(hour)}:${two(minute)}:${two(second % 60)} ${zoneText(zoneMinutes)}"`
}

/** The day that was compiled last, kept because messages of a list lie close together. */
let lastDay = NaN
let lastDayText = ''

/**
 * @param {number} day - since 1970-01-01
 * @returns {string} ` 1-Jan-2024`
 */
function dayText(day) {
  if (day === lastDay) return lastDayText
  const date = new Date(day * 86_400_000)
  const dayOfMonth = String(date.getUTCDate()).padStart(2, ' ')
  const year = String(date.getUTCFullYear()).padStart(4, '0')
  lastDay = day
  lastDayText = `${dayOfMonth}-${MONTHS[date.getUTCMonth()]}-${year}`
  return lastDayText
}

/**
 * @param {number} zoneMinutes
 * @returns {string} `+0200`
 */
function zoneText(zoneMinutes) {
  const distance = Math.abs(zoneMinutes)
  return `${zoneMinutes < 0 ? '-' : '+'}${two(Math.floor(distance / 60))}${two(distance % 60)}`
}

/**
 * @param {string} text - without quotes
 * @returns {CalendarDate}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseDate(text) {
  const [, day, month = '', year] = DATE.exec(text) ?? []
  return calendarDate(Number(day), month, Number(year))
}

/**
 * @param {number} day
 * @param {string} monthName
 * @param {number} year
 * @returns {CalendarDate}
 */
function calendarDate(day, monthName, year) {
  const month = MONTH_NUMBERS.get(monthName.toLowerCase())
  if (month === undefined || day < 1 || day > daysInMonth(year, month))
    throw badSyntax('Invalid date')
  return { year, month, day }
}

/** @param {CalendarDate} date */
function daysSinceEpoch({ year, month, day }) {
  // Date.UTC takes the years 0 to 99 for 1900 to 1999.
  return new Date(0).setUTCFullYear(year, month - 1, day) / 86400000
}

/**
 * @param {number} year
 * @param {number} month
 */
function daysInMonth(year, month) {
  const date = new Date(0)
  date.setUTCFullYear(year, month, 0)
  return date.getUTCDate()
}

const TWO_DIGITS = Array.from({ length: 100 }, (_, number) => String(number).padStart(2, '0'))

/** @param {number} number - an integer from 0 to 99 */
const two = (number) => TWO_DIGITS[number] ?? String(number)
