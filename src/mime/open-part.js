/**
 * The open parts, between a message's root and the place that is being read, and which of them a delimiter line belongs to.
 *
 * @typedef {import('./part.js').Part} Part
 *
 * @typedef {object} OpenPart
 * @property {Part} part
 * @property {string | null} boundary - byte string; null when the part is no multipart, or its last delimiter was seen
 * @property {boolean} isMessageRoot - whether its header is that of a message
 * @property {number} linesBefore - line ends of the message before its body
 */

/**
 * @param {readonly OpenPart[]} open - from the root on
 * @param {string} line - without its two dashes, and trimmed at its end
 * @returns {{ index: number, isClosing: boolean } | null} the innermost part whose delimiter it is; null if it is none
 */
export function ownerOf(open, line) {
  const index = open.findLastIndex(({ boundary }) => boundary === line)
  if (index !== -1) return { index, isClosing: false }
  if (!line.endsWith('--')) return null
  const closed = line.slice(0, -2)
  const closing = open.findLastIndex(({ boundary }) => boundary === closed)
  return closing === -1 ? null : { index: closing, isClosing: true }
}
