/**
 * How many messages are read at once where each may be small or large: what lies in memory, and what is done at a stretch,
 * goes by the bytes.
 */

/** Bytes of a page above which the next one is smaller, and far below which it is larger. */
const PAGE_BYTES = 512 * 1024

/**
 * @param {number} pageSize - messages of the last page
 * @param {number} bytes - what it held in memory
 * @param {number} maxSize - messages a page has at most
 * @returns {number} messages of the next page
 */
export function nextPageSize(pageSize, bytes, maxSize) {
  if (bytes > PAGE_BYTES) return Math.max(1, pageSize >>> 1)
  return bytes * 4 < PAGE_BYTES ? Math.min(maxSize, pageSize * 2) : pageSize
}
