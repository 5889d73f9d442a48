/**
 * `partial-range`, RFC 9394 §4: a page of results, counted from 1, from the first result on or, with minus signs, from
 * the last one backwards. `400:500` and `500:400` are the same page; the answer repeats which of them was asked for.
 */
import { badSyntax } from '../syntax-failure.js'
import { parseNzNumber } from './number.js'

/**
 * @typedef {object} PartialRange
 * @property {number} from - 1 or more, up to `to`
 * @property {number} to - inclusive
 * @property {boolean} isFromEnd - counted from the last result
 * @property {boolean} isReversed - written with the larger number first
 */

const RANGE = /^(-?)(\d+):(-?)(\d+)$/

/**
 * @param {string} text
 * @returns {PartialRange}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parsePartialRange(text) {
  const [, sign, first = '', secondSign, second = ''] = RANGE.exec(text) ?? []
  if (sign === undefined || sign !== secondSign) throw badSyntax('Invalid PARTIAL range')
  const [one, other] = [parseNzNumber(first), parseNzNumber(second)]
  return {
    from: Math.min(one, other),
    to: Math.max(one, other),
    isFromEnd: sign === '-',
    isReversed: one > other
  }
}

/**
 * @param {PartialRange} range
 * @returns {string} as on the wire
 */
export function compilePartialRange({ from, to, isFromEnd, isReversed }) {
  const sign = isFromEnd ? '-' : ''
  return isReversed ? `${sign}${to}:${sign}${from}` : `${sign}${from}:${sign}${to}`
}

/**
 * @template Result
 * @param {readonly Result[]} results - in the order in which they are counted
 * @param {PartialRange} range
 * @returns {Result[]} those on the page, in the same order; none where the page lies beyond the results
 */
export function takePage(results, { from, to, isFromEnd }) {
  const { length } = results
  return isFromEnd
    ? results.slice(Math.max(0, length - to), Math.max(0, length - from + 1))
    : results.slice(from - 1, to)
}
