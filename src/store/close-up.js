/**
 * Takes tombstones out of the arrays of a view.
 */

/** Runs of up to so many elements are copied in a loop: a call of `copyWithin` takes as long as some dozens of them. */
const SHORT = 32

/**
 * @param {Readonly<Uint8Array>} dead - 1 for a tombstone
 * @param {number} length - slots in use
 * @returns {Uint32Array} where each run of living messages begins and, exclusive, ends
 */
export function aliveRuns(dead, length) {
  /** @type {number[]} */
  const bounds = []
  let wasAlive = 0
  for (let slot = 0; slot < length; slot++) {
    const isAlive = dead[slot] === 0 ? 1 : 0
    if (isAlive !== wasAlive) bounds.push(slot)
    wasAlive = isAlive
  }
  if (wasAlive === 1) bounds.push(length)
  return Uint32Array.from(bounds)
}

/**
 * Moves what is of living messages to the front; behind it stand zeros.
 *
 * @param {Uint8Array | Uint32Array | Float64Array} array - may be shorter than `length`
 * @param {Readonly<Uint32Array>} runs - of living messages
 * @param {number} length - slots in use
 */
export function closeUp(array, runs, length) {
  const top = Math.min(length, array.length)
  if (top === 0) return
  let to = 0
  for (let at = 0; at < runs.length; at += 2) {
    const first = Math.min(/** @type {number} */ (runs[at]), top)
    const end = Math.min(/** @type {number} */ (runs[at + 1]), top)
    if (end - first > SHORT) {
      array.copyWithin(to, first, end)
      to += end - first
    } else
      for (let from = first; from < end; from++) array[to++] = /** @type {number} */ (array[from])
  }
  array.fill(0, to)
}
