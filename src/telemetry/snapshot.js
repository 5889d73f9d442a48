/**
 * The figures of one worker as plain data, and of several as one.
 */

/**
 * @typedef {{ [name: string]: number | number[] | Sums }} Sums - numbers, lists of them, and groups
 *
 * @typedef {object} WorkerSnapshot
 * @property {Sums} sums - added up over workers
 * @property {Record<string, number>} maxima - of each, the largest over the workers counts
 * @property {number | null} [slot] - of the worker; null or absent where it is the only one
 */

/**
 * @param {Sums} left
 * @param {Sums} right
 * @returns {Sums}
 */
function addSums(left, right) {
  const sum = { ...left }
  for (const [name, value] of Object.entries(right)) {
    const present = sum[name]
    sum[name] = present === undefined ? value : added(present, value)
  }
  return sum
}

/**
 * @param {Sums[string]} left
 * @param {Sums[string]} right
 * @returns {Sums[string]}
 * @throws {TypeError} where one worker gives a number and another a group: they are of different releases
 */
function added(left, right) {
  if (typeof left === 'number' && typeof right === 'number') return left + right
  if (Array.isArray(left) && Array.isArray(right)) {
    return Array.from(
      { length: Math.max(left.length, right.length) },
      (_, index) => (left[index] ?? 0) + (right[index] ?? 0)
    )
  }
  const areGroups =
    typeof left === 'object' &&
    typeof right === 'object' &&
    !Array.isArray(left) &&
    !Array.isArray(right)
  if (areGroups) return addSums(left, right)
  throw new TypeError('The snapshots do not fit together')
}

/**
 * @param {WorkerSnapshot[]} snapshots - one for each worker
 * @returns {WorkerSnapshot}
 */
export function mergeSnapshots(snapshots) {
  /** @type {WorkerSnapshot} */
  const merged = { sums: {}, maxima: {} }
  for (const { sums, maxima } of snapshots) {
    merged.sums = addSums(merged.sums, sums)
    for (const [name, value] of Object.entries(maxima)) {
      merged.maxima[name] = Math.max(merged.maxima[name] ?? value, value)
    }
  }
  return merged
}

/**
 * In a reload two workers have one slot for a while: these are merged.
 *
 * @param {WorkerSnapshot[]} snapshots - one for each worker
 * @returns {Map<number | null, WorkerSnapshot>} by slot, in its order
 */
export function mergeBySlot(snapshots) {
  const bySlot = Map.groupBy(snapshots, ({ slot = null }) => slot)
  return new Map(
    [...bySlot]
      .sort(([left], [right]) => (left ?? 0) - (right ?? 0))
      .map(([slot, ofSlot]) => [slot, mergeSnapshots(ofSlot)])
  )
}
