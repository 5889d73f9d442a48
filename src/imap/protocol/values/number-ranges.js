/** Ranges of numbers, as `SequenceSet.resolve` gives them: ascending, apart from each other, both ends included. */

/** @typedef {import('./sequence-set.js').NumberRange} NumberRange */

/**
 * @param {readonly NumberRange[]} left
 * @param {readonly NumberRange[]} right
 * @returns {Generator<NumberRange, void, void>} what both have
 */
export function* intersectRanges(left, right) {
  let i = 0
  let j = 0
  for (;;) {
    const a = left[i]
    const b = right[j]
    if (a === undefined || b === undefined) return
    const from = Math.max(a.from, b.from)
    const to = Math.min(a.to, b.to)
    if (from <= to) yield { from, to }
    if (a.to <= b.to) i++
    if (b.to <= a.to) j++
  }
}

/**
 * @param {Iterable<NumberRange>} ranges
 * @param {(range: NumberRange) => Iterable<NumberRange>} rangesIn - those to leave out of a range, within it
 * @returns {Generator<NumberRange, void, void>} what is left, ranges next to each other joined
 */
export function* withoutRanges(ranges, rangesIn) {
  /** @type {NumberRange | null} */
  let last = null
  for (const { from, to } of rest(ranges, rangesIn)) {
    if (last !== null && last.to + 1 === from) last.to = to
    else {
      if (last !== null) yield last
      last = { from, to }
    }
  }
  if (last !== null) yield last
}

/**
 * @param {Iterable<NumberRange>} ranges
 * @param {(range: NumberRange) => Iterable<NumberRange>} rangesIn - as above
 * @returns {Generator<NumberRange, void, void>} not joined
 */
function* rest(ranges, rangesIn) {
  for (const range of ranges) {
    let { from } = range
    for (const out of rangesIn(range)) {
      if (from < out.from) yield { from, to: out.from - 1 }
      from = out.to + 1
    }
    if (from <= range.to) yield { from, to: range.to }
  }
}
