/**
 * Figures as people read them.
 */

const UNITS = ['B', 'kB', 'MB', 'GB', 'TB']

/** From here on, a figure with one place behind the point would read 1000.0. */
const NEXT_UNIT_FROM = 999.95

/**
 * @param {number} bytes
 * @returns {string} for instance `1.5 MB`
 */
export function formatBytes(bytes) {
  let size = bytes
  let unit = 0
  while (size >= NEXT_UNIT_FROM && unit < UNITS.length - 1) {
    size /= 1000
    unit++
  }
  return `${unit === 0 ? size : size.toFixed(1)} ${UNITS[unit]}`
}

/**
 * @param {number} number
 * @param {string} one - what there is one of
 * @param {string} [many] - any other number of it
 * @returns {string} for instance `1 message`, `2 messages`
 */
export function counted(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`
}
