/**
 * Slots of a mailbox in their order. Where a large mailbox is emptied, millions are expunged between two looks of a client:
 * typed arrays take half of the time and of the memory.
 */

/** @type {Readonly<Uint32Array>} */
export const NO_SLOTS = new Uint32Array(0)

/** Numbers that are fewer than one in so many of a range are sorted sooner than looked for in it. */
const SPARSE_FACTOR = 64

/**
 * @param {Readonly<Uint32Array>} left - sorted, unique
 * @param {Readonly<Uint32Array>} right - sorted, unique
 * @returns {Readonly<Uint32Array>} sorted, unique; may be one of the two
 */
export function mergeSorted(left, right) {
  if (left.length === 0) return right
  if (right.length === 0) return left
  const merged = new Uint32Array(left.length + right.length)
  let length = 0
  let i = 0
  let j = 0
  while (i < left.length && j < right.length) {
    const a = /** @type {number} */ (left[i])
    const b = /** @type {number} */ (right[j])
    merged[length++] = Math.min(a, b)
    if (a <= b) i++
    if (b <= a) j++
  }
  const rest = i < left.length ? left.subarray(i) : right.subarray(j)
  merged.set(rest, length)
  return merged.subarray(0, length + rest.length)
}

/**
 * @param {readonly (readonly number[])[]} lists - of which no two have a number in common
 * @returns {Uint32Array} sorted
 */
export function inOrder(lists) {
  const numbers = new Uint32Array(lists.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const list of lists) {
    numbers.set(list, at)
    at += list.length
  }
  // Each page mostly comes behind the one before, and sorting takes ten times as long as seeing that.
  return isAscending(numbers) ? numbers : numbers.sort()
}

/**
 * @param {readonly (readonly number[])[]} lists - each ascending
 * @param {number} end - above all of them
 * @returns {readonly number[]} ascending, each once
 */
export function onceInOrder(lists, end) {
  if (lists.length === 1) return lists[0] ?? []
  const isInOrder = lists.every(
    (list, at) => at === 0 || (list[0] ?? 0) > (lists[at - 1]?.at(-1) ?? -1)
  )
  /** @type {number[]} */
  const all = []
  if (isInOrder) return all.concat(...lists)
  const count = lists.reduce((sum, { length }) => sum + length, 0)
  if (count * SPARSE_FACTOR < end) return [...new Set(all.concat(...lists))].sort((a, b) => a - b)
  const isNamed = new Uint8Array(end)
  for (const list of lists)
    for (let index = 0; index < list.length; index++)
      isNamed[/** @type {number} */ (list[index])] = 1
  const named = []
  for (let number = 0; number < end; number++) if (isNamed[number] === 1) named.push(number)
  return named
}

/** @param {Uint32Array} numbers */
function isAscending(numbers) {
  for (let index = 1; index < numbers.length; index++)
    if (/** @type {number} */ (numbers[index]) < /** @type {number} */ (numbers[index - 1]))
      return false
  return true
}

/**
 * @param {readonly number[]} slots - ascending
 * @param {Readonly<Uint32Array>} hidden - sorted, unique
 * @returns {readonly number[]} those that are not among the hidden; may be the same list
 */
export function withoutHidden(slots, hidden) {
  if (hidden.length === 0) return slots
  const others = []
  let below = 0
  for (const slot of slots) {
    while (below < hidden.length && /** @type {number} */ (hidden[below]) < slot) below++
    if (below === hidden.length || hidden[below] !== slot) others.push(slot)
  }
  return others
}

/**
 * @param {Readonly<Uint32Array>} slots - sorted, unique
 * @param {Readonly<Uint32Array>} hidden - sorted, unique; none of the slots
 * @returns {Uint32Array} for each slot how many visible ones there are up to it, the last slot's first
 */
export function ranksFromLast(slots, hidden) {
  const { length } = slots
  const ranks = new Uint32Array(length)
  let below = 0
  for (let index = 0; index < length; index++) {
    const slot = /** @type {number} */ (slots[index])
    while (below < hidden.length && /** @type {number} */ (hidden[below]) < slot) below++
    ranks[length - 1 - index] = slot + 1 - below
  }
  return ranks
}

/**
 * @param {number} count
 * @param {Readonly<Uint32Array>} hidden - sorted, unique
 * @returns {number} the visible slot before which there are so many others
 */
export function visibleAt(count, hidden) {
  // hidden[k] - k visible slots lie before the k-th hidden one.
  let low = 0
  let high = hidden.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (/** @type {number} */ (hidden[middle]) - middle <= count) low = middle + 1
    else high = middle
  }
  return count + low
}
