/** Ranges of numbers, as `SequenceSet.resolve` gives them: ascending, apart from each other, both ends included. */

/** @typedef {import('./sequence-set.js').NumberRange} NumberRange */

/**
 * @param {readonly NumberRange[]} left
 * @param {readonly NumberRange[]} right
 * @returns {NumberRange[]} what both have
 */
export function intersectRanges(left, right) {
  /** @type {NumberRange[]} */
  const common = []
  let i = 0
  let j = 0
  for (;;) {
    const a = left[i]
    const b = right[j]
    if (a === undefined || b === undefined) return common
    const from = Math.max(a.from, b.from)
    const to = Math.min(a.to, b.to)
    if (from <= to) common.push({ from, to })
    if (a.to <= b.to) i++
    if (b.to <= a.to) j++
  }
}

/**
 * @param {readonly NumberRange[]} ranges
 * @param {Iterable<number>} numbers - ascending
 * @returns {NumberRange[]} the ranges without these numbers, those next to each other joined
 */
export function withoutNumbers(ranges, numbers) {
  /** @type {NumberRange[]} */
  const left = []
  const add = (/** @type {number} */ from, /** @type {number} */ to) => {
    const last = left.at(-1)
    if (last !== undefined && last.to + 1 === from) last.to = to
    else if (from <= to) left.push({ from, to })
  }
  let index = 0
  let from = ranges[0]?.from ?? 0
  for (const number of numbers) {
    let range = ranges[index]
    while (range !== undefined && range.to < number) {
      add(from, range.to)
      range = ranges[++index]
      from = range?.from ?? 0
    }
    if (range === undefined) return left
    if (number < from) continue
    if (from < number) add(from, number - 1)
    from = number + 1
  }
  for (let range = ranges[index]; range !== undefined; range = ranges[++index]) {
    if (from <= range.to) add(Math.max(from, range.from), range.to)
  }
  return left
}
