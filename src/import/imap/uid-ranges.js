/**
 * Sets of UIDs as IMAP writes them (RFC 9051 §9, sequence-set).
 */

/**
 * @param {readonly number[]} uids - ascending
 * @returns {string} such as `1:3,7`
 */
export function toUidSet(uids) {
  const parts = []
  for (let at = 0; at < uids.length;) {
    const first = /** @type {number} */ (uids[at])
    let last = first
    while (uids[at + 1] === last + 1) {
      last++
      at++
    }
    parts.push(first === last ? `${first}` : `${first}:${last}`)
    at++
  }
  return parts.join(',')
}

/**
 * @template T
 * @param {readonly T[]} items
 * @param {number} size
 * @returns {Generator<T[]>}
 */
export function* slices(items, size) {
  for (let at = 0; at < items.length; at += size) yield items.slice(at, at + size)
}
