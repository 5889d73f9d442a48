/**
 * The collation `i;unicode-casemap` (RFC 5051), by which SORT and THREAD compare text (RFC 5256 §2): each character in
 * title case, then decomposed, then compared as UTF-8 bytes.
 */

import { MAX_BASE_SUBJECT_CHARACTERS } from '../../mime/limits.js'

/**
 * A key is kept for each message while they are sorted. A display name may have a quarter of a megabyte, and
 * decomposition makes eighteen characters of some.
 */
const MAX_KEY_BYTES = 4096

const ASCII = /^[\0-\x7f]*$/

/** Letters that hold two; their title case has only the first of them large. */
const DIGRAPHS = new Map([
  ['\u01c4', '\u01c5'],
  ['\u01c6', '\u01c5'],
  ['\u01c7', '\u01c8'],
  ['\u01c9', '\u01c8'],
  ['\u01ca', '\u01cb'],
  ['\u01cc', '\u01cb'],
  ['\u01f1', '\u01f2'],
  ['\u01f3', '\u01f2']
])

/**
 * @param {string} text - of which as much counts as of a subject
 * @returns {string} one character for each byte; two texts compare as these do by `<`, and match if they are equal
 */
export function collationKey(text) {
  // The start of a longer one would hold all of it in memory: that is copied below.
  if (text.length <= MAX_BASE_SUBJECT_CHARACTERS && ASCII.test(text)) return text.toUpperCase()
  let titled = ''
  for (const character of text.slice(0, MAX_BASE_SUBJECT_CHARACTERS)) titled += titleCase(character)
  return Buffer.from(titled.normalize('NFKD')).toString('latin1', 0, MAX_KEY_BYTES)
}

/**
 * @param {string} character - one code point
 * @returns {string} its simple title case: what would become several code points stays
 */
function titleCase(character) {
  const digraph = DIGRAPHS.get(character)
  if (digraph !== undefined) return digraph
  const upper = character.toUpperCase()
  return upper.length === character.length ? upper : character
}

/**
 * @template {string | number} T
 * @param {T} left
 * @param {T} right
 * @returns {number}
 */
export function compareValues(left, right) {
  return left < right ? -1 : left > right ? 1 : 0
}
