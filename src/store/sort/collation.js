/**
 * The collation `i;unicode-casemap` (RFC 5051), by which SORT and THREAD compare text (RFC 5256 §2): each character in
 * title case, then decomposed, then compared as UTF-8 bytes.
 */

import { MAX_BASE_SUBJECT_CHARACTERS } from '../../mime/limits.js'

/**
 * A key has at most so many bytes: one is kept for each message while they are sorted. A display name may have a quarter of a
 * megabyte, and decomposition makes eighteen characters of some.
 */
const MAX_KEY_BYTES = 4096

const ASCII = /^[\0-\x7f]*$/

/** Letters that hold two; their title case, a letter of its own, has only the first of them large. */
const DIGRAPHS = new Map([
  ['\u01c4', '\u01c5'],
  ['\u01c5', '\u01c5'],
  ['\u01c6', '\u01c5'],
  ['\u01c7', '\u01c8'],
  ['\u01c8', '\u01c8'],
  ['\u01c9', '\u01c8'],
  ['\u01ca', '\u01cb'],
  ['\u01cb', '\u01cb'],
  ['\u01cc', '\u01cb'],
  ['\u01f1', '\u01f2'],
  ['\u01f2', '\u01f2'],
  ['\u01f3', '\u01f2']
])

/** Georgian has capital letters since Unicode 11, but writes no title case with them. */
const GEORGIAN = /^[\u10d0-\u10ff]$/

/** Greek vowels with an iota below: in upper case they are two letters, in title case one, so many places behind. */
const WITH_IOTA = /^[\u1f80-\u1f87\u1f90-\u1f97\u1fa0-\u1fa7]$/
const WITH_LATE_IOTA = /^[\u1fb3\u1fc3\u1ff3]$/
const IOTA_STEP = 8

/** All letters of these kinds lie between the two; most text does not. */
const FIRST_SPECIAL = '\u01c4'
const LAST_SPECIAL = '\u1fff'

/**
 * @param {string} text - only its first MAX_BASE_SUBJECT_CHARACTERS count
 * @returns {string} one character for each byte; two texts compare as these do by `<`, and match if they are equal
 */
export function collationKey(text) {
  // Of a longer text, a slice would keep the whole in memory: below, the key is copied.
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
  const special =
    character >= FIRST_SPECIAL && character <= LAST_SPECIAL ? specialTitleCase(character) : null
  if (special !== null) return special
  const upper = character.toUpperCase()
  return upper.length === character.length ? upper : character
}

/**
 * @param {string} character - one code point
 * @returns {string | null} null: its title case is its upper case, if it has one
 */
function specialTitleCase(character) {
  const digraph = DIGRAPHS.get(character)
  if (digraph !== undefined) return digraph
  if (GEORGIAN.test(character)) return character
  const step = WITH_IOTA.test(character)
    ? IOTA_STEP
    : WITH_LATE_IOTA.test(character)
      ? IOTA_STEP + 1
      : 0
  return step > 0 ? String.fromCharCode(character.charCodeAt(0) + step) : null
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
