/**
 * Sorting that gives way: 100,000 messages take a quarter of a second to compare, which must not hold up the others.
 */

/** @import { Slicer } from '../../support/slicer.js' */

/** Items that are sorted at a stretch: below a millisecond. */
const RUN_ITEMS = 1024
/** Items that are merged between two looks at the clock. */
const STEP_ITEMS = 4096

/**
 * @template T
 * @param {readonly T[]} items
 * @param {(left: T, right: T) => number} compare
 * @param {Slicer} slicer
 * @returns {Promise<T[]>} sorted; equal items keep their order
 */
export async function sortInSlices(items, compare, slicer) {
  /** @type {T[][]} */
  let runs = []
  for (let start = 0; start < items.length; start += RUN_ITEMS) {
    await slicer.breathe()
    runs.push(items.slice(start, start + RUN_ITEMS).sort(compare))
  }
  while (runs.length > 1) {
    /** @type {T[][]} */
    const merged = []
    for (let index = 0; index < runs.length; index += 2) {
      const left = /** @type {T[]} */ (runs[index])
      const right = runs[index + 1]
      merged.push(right === undefined ? left : await merge(left, right, compare, slicer))
    }
    runs = merged
  }
  return runs[0] ?? []
}

/**
 * @template T
 * @param {readonly T[]} left
 * @param {readonly T[]} right
 * @param {(left: T, right: T) => number} compare
 * @param {Slicer} slicer
 * @returns {Promise<T[]>}
 */
async function merge(left, right, compare, slicer) {
  /** @type {T[]} */
  const merged = []
  let i = 0
  let j = 0
  while (i < left.length && j < right.length) {
    if (merged.length % STEP_ITEMS === 0) await slicer.breathe()
    const a = /** @type {T} */ (left[i])
    const b = /** @type {T} */ (right[j])
    if (compare(a, b) <= 0) {
      merged.push(a)
      i++
    } else {
      merged.push(b)
      j++
    }
  }
  for (; i < left.length; i++) merged.push(/** @type {T} */ (left[i]))
  for (; j < right.length; j++) merged.push(/** @type {T} */ (right[j]))
  return merged
}
