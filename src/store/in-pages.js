/**
 * Works through a list a transaction at a time, so that none holds the event loop for long. While the disk is waited for,
 * the next ones are committed already: one sync then serves several.
 */
import { setImmediate } from 'node:timers/promises'

/** Pages that may be committed and not on the disk yet. */
const MAX_UNDER_WAY = 4

/**
 * @template T
 * @param {readonly number[]} uids
 * @param {{ pageSize: number, mayOverlap?: () => boolean }} options - `mayOverlap`: whether a page may begin before the one
 *   before it is through; default: always
 * @param {(page: readonly number[]) => Promise<T>} work - begins its transaction at once
 * @returns {Promise<T[]>} in the order of the pages
 * @throws what `work` threw first; the pages that had begun have come to their end by then, later ones were not begun
 */
export async function inPages(uids, { pageSize, mayOverlap = () => true }, work) {
  /** @type {Promise<T>[]} */
  const underWay = []
  /** @type {T[]} */
  const results = []
  const settleFirst = async () => {
    results.push(await /** @type {Promise<T>} */ (underWay.shift()))
  }
  try {
    for (let start = 0; start < uids.length; start += pageSize) {
      // Whoever has a long list has taken his time to make it.
      if (uids.length > pageSize) await setImmediate()
      underWay.push(work(uids.slice(start, start + pageSize)))
      while (underWay.length >= (mayOverlap() ? MAX_UNDER_WAY : 1)) await settleFirst()
    }
    while (underWay.length > 0) await settleFirst()
  } finally {
    await Promise.allSettled(underWay)
  }
  return results
}
