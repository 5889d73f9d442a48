/**
 * Which generations are kept: the last of each of so many days, weeks and months that have one, and always the newest.
 * Of those days, all in UTC, none is longer or shorter than another.
 * Pure.
 */
import { isOfFuture } from './generation-order.js'
import { generationTimeMs } from './repository.js'

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * @typedef {object} Retention
 * @property {number} keepDaily
 * @property {number} keepWeekly
 * @property {number} keepMonthly
 */

/**
 * @param {number} timeMs
 * @returns {string} the day, UTC
 */
const dayOf = (timeMs) => new Date(timeMs).toISOString().slice(0, 10)

/**
 * @param {number} timeMs
 * @returns {string} the Monday of its week (ISO 8601)
 */
function weekOf(timeMs) {
  const daysSinceMonday = (new Date(timeMs).getUTCDay() + 6) % 7
  return dayOf(timeMs - daysSinceMonday * DAY_MS)
}

/**
 * @param {number} timeMs
 * @returns {string}
 */
const monthOf = (timeMs) => dayOf(timeMs).slice(0, 7)

/**
 * @param {string[]} names - of generations, in any order
 * @param {Retention} retention
 * @param {number} nowMs
 * @returns {{ keep: string[], drop: string[] }} each the oldest first
 */
export function applyRetention(names, { keepDaily, keepWeekly, keepMonthly }, nowMs) {
  const all = [...names].sort()
  // Generations of the future were made while the clock was wrong, or it is wrong now: they are kept, and no other goes for them.
  const future = all.filter((name) => isOfFuture(name, nowMs))
  const newestFirst = all.slice(0, all.length - future.length).reverse()
  const keep = new Set([...newestFirst.slice(0, 1), ...future])
  for (const [periodOf, count] of /** @type {const} */ ([
    [dayOf, keepDaily],
    [weekOf, keepWeekly],
    [monthOf, keepMonthly]
  ])) {
    const periods = new Set()
    for (const name of newestFirst) {
      const period = periodOf(generationTimeMs(name))
      if (periods.has(period)) continue
      if (periods.size >= count) break
      periods.add(period)
      keep.add(name)
    }
  }
  return {
    keep: all.filter((name) => keep.has(name)),
    drop: all.filter((name) => !keep.has(name))
  }
}
