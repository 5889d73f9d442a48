/** Sets of message numbers and UIDs: `sequence-set`, RFC 9051 §9; `$`, RFC 5182. */
import { badSyntax } from '../syntax-failure.js'
import { MAX_NUMBER } from './number.js'

/**
 * @typedef {object} NumberRange
 * @property {number} from - 1 to 2^32 - 1; 0 means `*`
 * @property {number} to - the same; it may be smaller than `from`, as in `*:3`
 */

const ASTERISK = 42
const COLON = 58
const COMMA = 44
const ZERO = 48

/** A piece of a long set is made of so many numbers: half a millisecond. */
const STEP_NUMBERS = 4096

/** A set as the client wrote it. */
export class SequenceSet {
  /**
   * @param {NumberRange[]} ranges
   * @param {{ isSearchResult?: boolean }} [options] - `isSearchResult`: the set is `$`
   */
  constructor(ranges, { isSearchResult = false } = {}) {
    /** @type {NumberRange[]} */
    this.ranges = ranges
    /** @type {boolean} */
    this.isSearchResult = isSearchResult
  }

  /** @returns {boolean} whether `*` is in it */
  get hasStar() {
    return this.ranges.some(({ from, to }) => from === 0 || to === 0)
  }

  /**
   * @param {string} text
   * @returns {SequenceSet}
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  static parse(text) {
    if (text === '$') return new SequenceSet([], { isSearchResult: true })
    /** @type {NumberRange[]} */
    const ranges = []
    let at = 0
    /** @returns {number} */
    const readNumber = () => {
      if (text.charCodeAt(at) === ASTERISK) {
        at += 1
        return 0
      }
      const start = at
      let value = 0
      for (; at < text.length; at += 1) {
        const digit = text.charCodeAt(at) - ZERO
        if (digit < 0 || digit > 9) break
        value = value * 10 + digit
        if (value > MAX_NUMBER) throw badSyntax('Invalid message set')
      }
      if (at === start || value === 0) throw badSyntax('Invalid message set')
      return value
    }
    for (;;) {
      const from = readNumber()
      let to = from
      if (text.charCodeAt(at) === COLON) {
        at += 1
        to = readNumber()
      }
      ranges.push({ from, to })
      if (at === text.length) return new SequenceSet(ranges)
      if (text.charCodeAt(at) !== COMMA) throw badSyntax('Invalid message set')
      at += 1
    }
  }

  /**
   * @param {Iterable<number>} numbers - ascending, each once
   * @returns {SequenceSet}
   */
  static fromNumbers(numbers) {
    return new SequenceSet([...rangesOf(numbers)])
  }

  /**
   * The numbers as ranges, with `*` known. `n:*` always holds the largest number, even when that is below n (RFC 9051
   * §6.4.9); `*` of an empty mailbox is nothing.
   * @param {number} maxValue - the largest number or UID there is; 0 when there is none
   * @returns {NumberRange[]} ascending, apart from each other; not cut off at maxValue
   */
  resolve(maxValue) {
    /** @type {NumberRange[]} */
    const ranges = []
    for (const range of this.ranges) {
      const from = range.from === 0 ? maxValue : range.from
      const to = range.to === 0 ? maxValue : range.to
      if (from !== 0 && to !== 0) ranges.push(from <= to ? { from, to } : { from: to, to: from })
    }
    return merge(ranges)
  }

  /** @returns {string} as on the wire */
  toString() {
    if (this.isSearchResult) return '$'
    return this.ranges
      .map(({ from, to }) =>
        from === to ? numberText(from) : `${numberText(from)}:${numberText(to)}`
      )
      .join(',')
  }
}

/**
 * @param {ArrayLike<number>} numbers - ascending, each once
 * @returns {string} the shortest set that names them: `1:3,5`; the empty string for none
 */
export const compileNumberSet = (numbers) => [...numberSetPieces(numbers)].join('')

/**
 * Compiles the set a piece at a time, for very many numbers: between two pieces others may have their turn.
 *
 * @param {ArrayLike<number>} numbers - ascending, each once
 * @returns {Generator<string, void, void>} pieces of the set
 */
export function* numberSetPieces(numbers) {
  let text = ''
  let from = 0
  let to = 0
  const end = () => (from === to ? `${from}` : `${from}:${to}`)
  for (let index = 0; index < numbers.length; index++) {
    const number = /** @type {number} */ (numbers[index])
    if (from > 0 && number !== to + 1) text += `${end()},`
    if (from === 0 || number !== to + 1) from = number
    to = number
    if (index % STEP_NUMBERS !== STEP_NUMBERS - 1) continue
    yield text
    text = ''
  }
  if (from > 0) yield text + end()
}

/** @param {number} number */
const numberText = (number) => (number === 0 ? '*' : String(number))

/**
 * @param {Iterable<number>} numbers - each once
 * @returns {Generator<NumberRange, void, void>} those that follow each other, in the order of the numbers
 */
export function* rangesOf(numbers) {
  /** @type {NumberRange | null} */
  let last = null
  for (const number of numbers) {
    if (last !== null && number === last.to + 1) last.to = number
    else {
      if (last !== null) yield last
      last = { from: number, to: number }
    }
  }
  if (last !== null) yield last
}

/**
 * @param {NumberRange[]} ranges - each with from <= to; sorted in place
 * @returns {NumberRange[]}
 */
function merge(ranges) {
  ranges.sort((a, b) => a.from - b.from)
  /** @type {NumberRange[]} */
  const merged = []
  for (const range of ranges) {
    const last = merged.at(-1)
    if (last !== undefined && range.from <= last.to + 1) last.to = Math.max(last.to, range.to)
    else merged.push(range)
  }
  return merged
}
