/**
 * Numbers and times as people read them.
 */

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB']
/** From here on, one decimal would read 1000.0: as in src/support/format.js, which no browser gets. */
const NEXT_UNIT_FROM = 999.95
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

/**
 * @param {number | null | undefined} value
 * @returns {string}
 */
export function count(value) {
  return value === null || value === undefined ? '–' : whole.format(value)
}

/**
 * @param {number | null | undefined} value
 * @param {string} one - what there is one of
 * @param {string} [many] - any other number of it
 * @returns {string}
 */
export function counted(value, one, many = `${one}s`) {
  return `${count(value)} ${value === 1 ? one : many}`
}

/**
 * @param {number | null | undefined} value
 * @returns {string}
 */
export function bytes(value) {
  if (value === null || value === undefined) return '–'
  let size = value
  let unit = 0
  while (size >= NEXT_UNIT_FROM && unit < UNITS.length - 1) {
    size /= 1000
    unit++
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${UNITS[unit]}`
}

/**
 * @param {number} part - of 1
 * @returns {string}
 */
export const percent = (part) => `${Math.round(part * 100)} %`

/**
 * @param {number | null | undefined} atMs
 * @returns {string} local time
 */
export function time(atMs) {
  if (atMs === null || atMs === undefined) return 'never'
  const date = new Date(atMs)
  const two = (/** @type {number} */ value) => String(value).padStart(2, '0')
  return (
    `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ` +
    `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
  )
}

/**
 * @param {number | null | undefined} ms
 * @returns {string}
 */
export function duration(ms) {
  if (ms === null || ms === undefined) return '–'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 2 * MINUTE_MS) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  if (ms < 2 * HOUR_MS) return `${Math.round(ms / MINUTE_MS)} min`
  return ms < 2 * DAY_MS ? `${Math.round(ms / HOUR_MS)} h` : `${Math.round(ms / DAY_MS)} days`
}

/**
 * @param {number} atMs
 * @returns {string} how long ago
 */
export const age = (atMs) => duration(Math.max(0, new Date().getTime() - atMs))

/**
 * @param {string} title - of a chart
 * @param {(number | null)[]} values - the newest last
 * @param {(value: number) => string} format
 * @returns {string} for those who do not see it
 */
export function chartText(title, values, format) {
  const known = values.filter((value) => value !== null)
  const now = known.at(-1)
  if (now === undefined) return `${title}: nothing yet`
  const [low, high] = [Math.min(...known), Math.max(...known)].map(format)
  return `${title}: ${format(now)} now, between ${low} and ${high}`
}
