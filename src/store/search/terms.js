/**
 * How a term is asked of the fields' index: as a phrase of trigrams, each of three code points, or, where it has fewer, as
 * what trigrams begin with. Everything here is about folded text.
 */
import { SEPARATOR } from './tokens.js'

/** Terms with fewer code points have no trigram. */
const TRIGRAM_LENGTH = 3

/** No code point comes behind it. */
const LAST_POINT = '\u{10ffff}'

/**
 * @param {string} value - of a field
 * @returns {string} what goes into the index: each code point of the value begins a trigram
 */
export const withEnd = (value) => value && value + SEPARATOR.repeat(TRIGRAM_LENGTH - 1)

/** Code points of a phrase, each of them an iterator of FTS5's. */
const MAX_PHRASE_LENGTH = 100

/**
 * @param {string} term - folded, askable (see tokens.js)
 * @returns {boolean} whether the fields' index can be asked for it
 */
export const hasTrigram = (term) => countUpTo(term, TRIGRAM_LENGTH) === TRIGRAM_LENGTH

/**
 * @param {string} term - askable, with a trigram
 * @param {string} column - of `search_header`
 * @returns {{ query: string, isExact: boolean }} an FTS5 query for the texts that contain the term, or the beginning of
 *   a very long one
 */
export function phraseQuery(term, column) {
  const letters = [...term]
  const phrase = letters.slice(0, MAX_PHRASE_LENGTH).join('')
  return {
    query: `{${column}} : ${quote(phrase)}`,
    isExact: letters.length <= MAX_PHRASE_LENGTH
  }
}

/**
 * @param {string} term - askable, without a trigram
 * @returns {[from: string, to: string]} first and last of the trigrams that begin with it: one of a field's is among them
 *   just when the field contains the term
 */
export const trigramRange = (term) => [term, term + LAST_POINT.repeat(TRIGRAM_LENGTH)]

/**
 * @param {string} text
 * @returns {string} an FTS5 string
 */
const quote = (text) => `"${text.replaceAll('"', '""')}"`

/**
 * @param {string} text
 * @param {number} limit
 * @returns {number} code points, counted up to the limit
 */
function countUpTo(text, limit) {
  let count = 0
  for (const { length } of text) {
    count += length > 0 ? 1 : 0
    if (count === limit) break
  }
  return count
}
