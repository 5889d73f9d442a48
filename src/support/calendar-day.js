/** Days as people write them. */

/**
 * @param {string} text - as 2026-11-20
 * @returns {number} when it begins in UTC, ms; NaN for what no calendar has: JavaScript takes the 31st of November for the 1st of
 *   December
 */
export function dayBeginMs(text) {
  const timeMs = /^\d{4}-\d\d-\d\d$/.test(text) ? Date.parse(`${text}T00:00Z`) : Number.NaN
  const isThere = !Number.isNaN(timeMs) && new Date(timeMs).toISOString().startsWith(text)
  return isThere ? timeMs : Number.NaN
}
