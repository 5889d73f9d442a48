/**
 * Cursors of several segments, the one with the lowest term first: a binary heap, because twenty segments that are merged at
 * once have most of their terms in one or two of them.
 */

/** @typedef {import('./segment-cursor.js').SegmentCursor} SegmentCursor */

/** Those that have not come to their end. */
export class CursorHeap {
  /** @type {SegmentCursor[]} none is before the one at half of its place */
  #cursors

  /** @param {readonly SegmentCursor[]} cursors */
  constructor(cursors) {
    this.#cursors = cursors
      .filter(({ isAtEnd }) => !isAtEnd)
      .sort((left, right) => (isBefore(left, right) ? -1 : 1))
  }

  /** @returns {SegmentCursor | undefined} the first in the order of terms and, with the same term, of contents */
  get first() {
    return this.#cursors[0]
  }

  /** To be called when the first has gone to its next term. */
  settleFirst() {
    const cursors = this.#cursors
    const moved = /** @type {SegmentCursor} */ (cursors[0]?.isAtEnd ? cursors.pop() : cursors[0])
    if (cursors.length === 0) return
    let place = 0
    for (;;) {
      let child = 2 * place + 1
      let lower = cursors[child]
      if (!lower) break
      const right = cursors[child + 1]
      if (right && isBefore(right, lower)) {
        lower = right
        child++
      }
      if (!isBefore(lower, moved)) break
      cursors[place] = lower
      place = child
    }
    cursors[place] = moved
  }
}

/**
 * @param {SegmentCursor} left
 * @param {SegmentCursor} right
 * @returns {boolean}
 */
function isBefore(left, right) {
  if (left.termClass !== right.termClass) return left.termClass < right.termClass
  if (left.term !== right.term) return left.term < right.term
  return left.base < right.base
}
