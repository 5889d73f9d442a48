/** VANISHED responses, RFC 7162 §3.2.10. */

/** @typedef {import('../values/sequence-set.js').NumberRange} NumberRange */

/** Ranges in one line: some 16 KiB, since clients read a line into memory. */
const RANGES_A_LINE = 1000

/**
 * @param {readonly NumberRange[]} ranges - UIDs, ascending; may be none
 * @param {{ isEarlier: boolean }} options - `isEarlier`: gone before this session could know
 * @returns {string} as many lines as it takes
 */
export function compileVanished(ranges, { isEarlier }) {
  let lines = ''
  for (let start = 0; start < ranges.length; start += RANGES_A_LINE) {
    const set = ranges
      .slice(start, start + RANGES_A_LINE)
      .map(({ from, to }) => (from === to ? String(from) : `${from}:${to}`))
      .join(',')
    lines += `* VANISHED ${isEarlier ? '(EARLIER) ' : ''}${set}\r\n`
  }
  return lines
}
