/**
 * Which backup is the last one. Their names say when they began, by a clock that may have been wrong then: one night in the
 * year 2036 would be the last backup for ten years, the one that is restored, rehearsed and built upon. Pure.
 */
import { generationTimeMs } from './repository.js'

/** Two clocks that differ by at most so many ms are both taken for right. */
const SLACK_MS = 24 * 60 * 60 * 1000

/**
 * @param {string} name - of a generation
 * @param {number} nowMs
 * @returns {boolean} whether it cannot have been made yet
 */
export const isOfFuture = (name, nowMs) => generationTimeMs(name) > nowMs + SLACK_MS

/**
 * @param {string[]} names - of generations, in any order
 * @param {number} nowMs
 * @returns {string[]} the last one at the end; those that cannot have been made yet come before all others
 */
export function inOrder(names, nowMs) {
  const sorted = [...names].sort()
  const isFuture = (/** @type {string} */ name) => isOfFuture(name, nowMs)
  return [...sorted.filter(isFuture), ...sorted.filter((name) => !isFuture(name))]
}
