/**
 * Figures as people read them.
 */

/**
 * @param {number} value
 * @returns {string} three significant digits, thousands with commas
 */
export function formatNumber(value) {
  if (!Number.isFinite(value)) return '–'
  const rounded = Math.abs(value) >= 1000 ? Math.round(value) : Number(value.toPrecision(3))
  return rounded.toLocaleString('en-US', { maximumFractionDigits: 6 })
}

const BYTE_UNITS = [
  ['GB', 1e9],
  ['MB', 1e6],
  ['kB', 1e3],
  ['B', 1]
]

/**
 * @param {number} value
 * @param {import('./question.js').Unit} unit
 * @returns {string}
 */
export function formatValue(value, unit) {
  if (unit === 'count' || unit === 'ratio') return formatNumber(value)
  if (unit !== 'bytes') return `${formatNumber(value)} ${unit}`
  const [name, size] = /** @type {[string, number]} */ (
    BYTE_UNITS.find(([, size]) => Math.abs(value) >= Number(size)) ?? ['B', 1]
  )
  return `${formatNumber(value / size)} ${name}`
}

/**
 * @param {unknown} settings
 * @returns {string} on one line
 */
export function formatSettings(settings) {
  return Object.entries(/** @type {Record<string, unknown>} */ (settings))
    .map(([name, value]) => `${name}=${typeof value === 'object' ? JSON.stringify(value) : value}`)
    .join(' ')
}
