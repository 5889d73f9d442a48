/** VANISHED responses, RFC 7162 §3.2.10. */

/** @typedef {import('../values/sequence-set.js').NumberRange} NumberRange */

/** One line has at most so many ranges: some 16 KiB, since clients read a line into memory. */
const RANGES_A_LINE = 1000

/**
 * @param {Iterable<NumberRange>} ranges - UIDs, ascending; may be none
 * @param {{ isEarlier: boolean }} options - `isEarlier`: gone before this session could know
 * @returns {Generator<Buffer, void, void>} as many lines as it takes, one by one
 */
export function* compileVanished(ranges, { isEarlier }) {
  const line = (/** @type {string[]} */ set) =>
    Buffer.from(`* VANISHED ${isEarlier ? '(EARLIER) ' : ''}${set.join(',')}\r\n`, 'latin1')
  /** @type {string[]} */
  let set = []
  for (const { from, to } of ranges) {
    set.push(from === to ? String(from) : `${from}:${to}`)
    if (set.length < RANGES_A_LINE) continue
    yield line(set)
    set = []
  }
  if (set.length > 0) yield line(set)
}
