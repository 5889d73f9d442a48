/**
 * Works through a list a transaction at a time, so that none holds the event loop for long. While the disk is waited for,
 * the next ones are committed already: one sync then serves several.
 */
import { nextTurn } from '../support/turns.js'

/** Pages that may be committed and not on the disk yet. */
const MAX_UNDER_WAY = 4

/**
 * @template T
 * @param {readonly number[]} numbers - UIDs, or ids of contents
 * @param {object} options
 * @param {number} options.pageSize
 * @param {number} [options.pageRuns] - runs without a gap that a page has at most, where each costs about as much as a long one
 * @param {() => boolean} [options.mayOverlap] - whether a page may begin before the one before it is through; default: always
 * @param {(page: readonly number[]) => Promise<T>} work - begins its transaction at once
 * @returns {Promise<T[]>} in the order of the pages
 * @throws what `work` threw first; the pages that had begun have come to their end by then, later ones were not begun
 */
export async function inPages(
  numbers,
  { pageSize, pageRuns = Infinity, mayOverlap = () => true },
  work
) {
  /** @type {Promise<T>[]} */
  const underWay = []
  /** @type {T[]} */
  const results = []
  const settleFirst = async () => {
    results.push(await /** @type {Promise<T>} */ (underWay.shift()))
  }
  try {
    for (let start = 0; start < numbers.length;) {
      const page = numbers.slice(start, endOfPage(numbers, start, { pageSize, pageRuns }))
      // Whoever has a long list has taken his time to make it.
      if (page.length < numbers.length) await nextTurn()
      const begun = work(page)
      // A failure is thrown when its turn comes. Until then Node would take it for one that nobody handles, and exit.
      begun.catch(() => {})
      underWay.push(begun)
      start += page.length
      while (underWay.length >= (mayOverlap() ? MAX_UNDER_WAY : 1)) await settleFirst()
    }
    while (underWay.length > 0) await settleFirst()
  } finally {
    await Promise.allSettled(underWay)
  }
  return results
}

/**
 * @param {readonly number[]} numbers
 * @param {number} start
 * @param {{ pageSize: number, pageRuns: number }} limits
 * @returns {number} where the page that starts there ends, exclusive
 */
function endOfPage(numbers, start, { pageSize, pageRuns }) {
  const last = Math.min(start + pageSize, numbers.length)
  let runs = 1
  for (let end = start + 1; end < last; end++)
    if (numbers[end] !== (numbers[end - 1] ?? 0) + 1 && ++runs > pageRuns) return end
  return last
}
