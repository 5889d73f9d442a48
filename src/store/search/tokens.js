/**
 * How text is cut for the index: into runs of letters, marks and digits, and the runs of everything else between them.
 * Together they are the whole text, so that a term that lies within one run is a substring of some token, and any other
 * term is a sequence of runs. Everything here is about folded text.
 *
 * A run of usual length is a token as it stands (`whole`). What is longer, and writing without spaces, is data or whole
 * sentences, each of them found once: of these the trigrams are tokens (`gram`), all of which a text has that contains
 * the run.
 */

/** Longer runs of letters are no words but encoded data. UTF-16 units. */
export const MAX_WORD_LENGTH = 24

/** Years and the like; longer numbers are found in one message each. */
export const MAX_NUMBER_LENGTH = 4

/** Runs of punctuation and spaces. */
export const MAX_GAP_LENGTH = 8

/** So short is a token whatever it is: it has no second trigram. Code points. */
export const GRAM_LENGTH = 3

/** What the index has replaced (see `fit`), and halves of pairs. */
const UNFIT = /[\0\ufffd-\uffff]|\p{Surrogate}/u

/** What stands between texts that must not match together is in no run. */
const RUN = /[\p{L}\p{M}\p{N}]+|[^\p{L}\p{M}\p{N}\ufffd]+/gu
const IS_WORD = /^[\p{L}\p{M}\p{N}]/u
const DIGITS = /^\p{Nd}+$/u
const PLAIN_LETTERS = /^[a-z]+$/
/** Letters of scripts that put spaces between words. */
const LETTERS =
  /^[[\p{L}\p{M}]--[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}\p{Script=Yi}]]+$/v

/** Parts two texts; no term that is asked of the index has it. */
export const SEPARATOR = '\ufffd'

/** What a term cannot have, and stands for other things in files: NUL and noncharacters. */
const REPLACED = /[\0\ufffe\uffff]/g

/**
 * @param {string} text
 * @returns {string} the same text for every term that is asked of the index
 */
export const fit = (text) => text.toWellFormed().replace(REPLACED, SEPARATOR)

/**
 * @param {string} term - folded, not empty
 * @returns {boolean} whether the index can say which texts may contain it
 */
export const isAskable = (term) => term !== '' && !UNFIT.test(term)

/**
 * @param {string} point - a code point
 * @returns {boolean} whether it is in runs of letters, marks and digits
 */
export const isWordPoint = (point) => IS_WORD.test(point)

/**
 * @param {string} run
 * @returns {boolean} whether the run is one token
 */
export function isWhole(run) {
  const { length } = run
  if (length <= GRAM_LENGTH) return true
  if (PLAIN_LETTERS.test(run)) return length <= MAX_WORD_LENGTH
  if (!IS_WORD.test(run)) return length <= MAX_GAP_LENGTH || countPoints(run) <= GRAM_LENGTH
  if (DIGITS.test(run)) return length <= MAX_NUMBER_LENGTH || countPoints(run) <= GRAM_LENGTH
  return (
    (length <= MAX_WORD_LENGTH && LETTERS.test(run)) ||
    (length <= 2 * GRAM_LENGTH && countPoints(run) <= GRAM_LENGTH)
  )
}

/**
 * @param {string} run
 * @returns {Set<string>} its trigrams, of code points; none for a run that has fewer
 */
export function gramsOf(run) {
  const grams = new Set()
  const letters = [...run]
  for (let at = 0; at + GRAM_LENGTH <= letters.length; at++)
    grams.add(letters.slice(at, at + GRAM_LENGTH).join(''))
  return grams
}

/**
 * @param {string} text
 * @returns {number} code points
 */
export function countPoints(text) {
  let count = 0
  for (const { length } of text) count += length > 0 ? 1 : 0
  return count
}

/**
 * @typedef {object} TermRun - one run of a term
 * @property {string} text
 * @property {boolean} isOpenLeft - in a text the run may have more before it
 * @property {boolean} isOpenRight - or after it
 */

/**
 * @param {string} term - askable
 * @returns {TermRun[]}
 */
export function runsOf(term) {
  const runs = term.match(RUN) ?? []
  return runs.map((text, index) => ({
    text,
    isOpenLeft: index === 0,
    isOpenRight: index === runs.length - 1
  }))
}
