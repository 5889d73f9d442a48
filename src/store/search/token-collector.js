/**
 * Collects the tokens of one text for the index (tokens.js says what they are).
 */
import { EMPTY_HASH, TokenTable, hashOf, hashWith } from './token-table.js'
import {
  GRAM_LENGTH,
  MAX_GAP_LENGTH,
  MAX_NUMBER_LENGTH,
  MAX_WORD_LENGTH,
  SEPARATOR,
  gramsOf,
  isWhole,
  isWordPoint
} from './tokens.js'

/** A run that is longer than any token is taken in pieces of this size, UTF-16 units. */
const MAX_HELD_LENGTH = 4096

/** What a code point is, in bits; of a run, those of all its points together, which is either WORD or GAP. */
const NONE = 0
const WORD = 1
const GAP = 2
const LETTER = 4
const DIGIT = 8
/** Beyond ASCII. */
const FAR = 16

const ASCII = Uint8Array.from({ length: 128 }, (_, unit) => {
  const letter = String.fromCharCode(unit)
  if (/[a-z]/i.test(letter)) return WORD | LETTER
  return /\d/.test(letter) ? WORD | DIGIT : GAP
})

/** Code points of one unit, as they are met. */
const far = new Uint8Array(65_536)

/**
 * @param {string} text
 * @param {number} at
 * @returns {number} what begins there
 */
function classAt(text, at) {
  const point = /** @type {number} */ (text.codePointAt(at))
  const isShort = point < far.length
  const known = isShort ? /** @type {number} */ (far[point]) : 0
  if (known !== 0) return known
  if (point === SEPARATOR.charCodeAt(0)) return NONE
  const found = FAR | (isWordPoint(String.fromCodePoint(point)) ? WORD : GAP)
  if (isShort) far[point] = found
  return found
}

/** What the collectors of a batch have in common. */
export class BatchTokens {
  /** Runs that are tokens as they stand. */
  whole = new TokenTable()
  /** Trigrams of the others. */
  grams = new TokenTable()
}

/** Collects the tokens of a text that comes in pieces. Of collectors that share tables, one must end before the next begins. */
export class TokenCollector {
  #tokens
  #mark
  #gramMark
  /** @type {number[]} numbers in the table of whole runs, each once */
  whole = []
  /** @type {number[]} numbers in the table of trigrams, each once */
  grams = []
  /** A run that may go on in the next piece. */
  #held = ''
  /** Whether `#held` continues a run that was taken in part already. */
  #isPart = false

  /** @param {BatchTokens} tokens */
  constructor(tokens) {
    this.#tokens = tokens
    this.#mark = tokens.whole.takeMark()
    this.#gramMark = tokens.grams.takeMark()
  }

  /** @returns {number} */
  get size() {
    return this.whole.length + this.grams.length
  }

  /**
   * @param {string} text - folded and fit
   * @param {boolean} isContinued - whether it goes on where the one before has ended
   */
  add(text, isContinued) {
    if (!isContinued) this.end()
    const all = this.#held + text
    this.#held = ''
    this.#read(all, true)
  }

  /** Ends the text. */
  end() {
    const run = this.#held
    this.#held = ''
    this.#read(run, false)
  }

  /**
   * @param {string} all
   * @param {boolean} mayGoOn - the last run
   */
  #read(all, mayGoOn) {
    const { length } = all
    for (let from = 0; from < length;) {
      let hash = EMPTY_HASH
      let shape = NONE
      let at = from
      while (at < length) {
        const unit = all.charCodeAt(at)
        const found = unit < 128 ? /** @type {number} */ (ASCII[unit]) : classAt(all, at)
        if (shape !== NONE && (shape & found & (WORD | GAP)) === 0) break
        hash = hashWith(hash, unit)
        at++
        if (found === NONE) break
        shape |= found
        // The other half of a pair: fit text has no half alone.
        if (unit >= 0xd800 && unit < 0xdc00) hash = hashWith(hash, all.charCodeAt(at++))
      }
      // Nothing is open before a separator: what was held is the beginning of `all`.
      if (shape !== NONE) {
        if (at === length && mayGoOn) this.#hold(all.slice(from))
        else this.#take(all, from, at, shape, hash)
      }
      from = at
    }
  }

  /** @param {string} run - at the end of a piece */
  #hold(run) {
    if (run.length > MAX_HELD_LENGTH) {
      this.#takeGrams(run, 0, run.length, FAR)
      this.#isPart = true
      this.#held = [...run.slice(-2 * GRAM_LENGTH)].slice(1 - GRAM_LENGTH).join('')
    } else this.#held = run
  }

  /**
   * @param {string} text
   * @param {number} from
   * @param {number} to - a complete run is between
   * @param {number} shape - of it
   * @param {number} hash - of it
   */
  #take(text, from, to, shape, hash) {
    const isPart = this.#isPart
    this.#isPart = false
    const { whole } = this.#tokens
    let token = -1
    if (!isPart) {
      if (shape & FAR) {
        token = whole.find(text, from, to, hash)
        if (token === -1 && to - from <= MAX_WORD_LENGTH && isWhole(text.slice(from, to)))
          token = whole.add(text, from, to, hash)
      } else if (isWholeAscii(to - from, shape)) token = whole.add(text, from, to, hash)
    }
    if (token === -1) this.#takeGrams(text, from, to, shape)
    else if (whole.claim(token, this.#mark)) this.whole.push(token)
  }

  /**
   * @param {string} text
   * @param {number} from
   * @param {number} to - a run is between
   * @param {number} shape - of it
   */
  #takeGrams(text, from, to, shape) {
    if (shape & FAR) {
      for (const gram of gramsOf(text.slice(from, to))) this.#takeGram(gram, 0, gram.length)
      return
    }
    for (let at = from; at + GRAM_LENGTH <= to; at++) this.#takeGram(text, at, at + GRAM_LENGTH)
  }

  /**
   * @param {string} text
   * @param {number} from
   * @param {number} to
   */
  #takeGram(text, from, to) {
    const { grams } = this.#tokens
    const token = grams.add(text, from, to, hashOf(text, from, to))
    if (grams.claim(token, this.#gramMark)) this.grams.push(token)
  }
}

/**
 * @param {number} length - of a run of ASCII
 * @param {number} shape
 * @returns {boolean} what `isWhole` says of it
 */
function isWholeAscii(length, shape) {
  if (length <= GRAM_LENGTH) return true
  if (shape & GAP) return length <= MAX_GAP_LENGTH
  if ((shape & DIGIT) === 0) return length <= MAX_WORD_LENGTH
  return (shape & LETTER) === 0 && length <= MAX_NUMBER_LENGTH
}
