/**
 * How a search term is asked of the index. Everything here is about folded text.
 *
 * A trigram is three code points. A text that contains a term contains all trigrams of the term; the other way round
 * it need not, unless the term is one trigram. A word is a run of letters or of digits, so that a word that begins
 * with the term proves that the text contains the term.
 */

/** Terms with fewer code points have no trigram. */
const TRIGRAM_LENGTH = 3

/** Trigrams that are asked for at once: those of a longer term select next to nothing more. */
const MAX_TRIGRAMS = 48

/** Code points of a phrase, each of them an iterator of FTS5's. */
const MAX_PHRASE_LENGTH = 100

/** Longer runs of letters are no words but encoded data, and would be most of the index. UTF-16 units. */
const MAX_WORD_LENGTH = 24

/** Longer runs of digits are numbers of something: each in one message, and cheap to look at there. */
const MAX_NUMBER_LENGTH = 8

/** Of one letter there is a word in every text. */
const MIN_WORD_LENGTH = 2

/** What the index has replaced (see index-text.js), and halves of pairs. */
const UNFIT = /[\0\ufffd-\uffff]|\p{Surrogate}/u

const RUN = /[\p{L}\p{M}\p{N}]+/gu
const LETTERS = /^[\p{L}\p{M}]+$/u
const DIGITS = /^\p{Nd}+$/u

/**
 * @param {string} term - folded
 * @returns {boolean} whether the index can say which texts may contain it
 */
export function isIndexable(term) {
  return !UNFIT.test(term) && countUpTo(term, TRIGRAM_LENGTH) === TRIGRAM_LENGTH
}

/**
 * @param {string} term - indexable
 * @returns {{ query: string, isExact: boolean }} an FTS5 query for the AND of its trigrams; `isExact`: whoever has them
 *   contains the term
 */
export function trigramQuery(term) {
  const letters = [...term]
  const trigrams = new Set()
  for (let at = 0; at + TRIGRAM_LENGTH <= letters.length; at++)
    trigrams.add(letters.slice(at, at + TRIGRAM_LENGTH).join(''))
  const chosen = thinOut([...trigrams], MAX_TRIGRAMS)
  return { query: chosen.map(quote).join(' AND '), isExact: letters.length === TRIGRAM_LENGTH }
}

/**
 * @param {string} term - indexable
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
 * @param {string} term - folded
 * @returns {string | null} an FTS5 query for words that begin with the term; null when no word does
 */
export function wordQuery(term) {
  return isWord(term) ? `${quote(term)} *` : null
}

/**
 * @param {string} text - folded
 * @returns {string} its words, each once, divided by spaces
 */
export function wordsOf(text) {
  const words = new Set()
  for (const [run] of text.matchAll(RUN)) if (isWord(run)) words.add(run)
  return [...words].join(' ')
}

/**
 * @param {string} run
 * @returns {boolean}
 */
function isWord(run) {
  const { length } = run
  if (length < MIN_WORD_LENGTH || length > MAX_WORD_LENGTH) return false
  return LETTERS.test(run) || (length <= MAX_NUMBER_LENGTH && DIGITS.test(run))
}

/**
 * @param {string} text
 * @returns {string} an FTS5 string
 */
const quote = (text) => `"${text.replaceAll('"', '""')}"`

/**
 * @param {string[]} items
 * @param {number} count
 * @returns {string[]} up to that many of them, from all over the list
 */
function thinOut(items, count) {
  if (items.length <= count) return items
  return Array.from(
    { length: count },
    (_, at) => /** @type {string} */ (items[Math.floor((at * items.length) / count)])
  )
}

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
