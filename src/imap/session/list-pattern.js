/**
 * Mailbox name patterns of LIST and LSUB: `*` is anything, `%` anything without the hierarchy separator
 * (RFC 3501 §6.3.8).
 *
 * A pattern has one state more than it has characters that stand for themselves, and a wildcard is a state that may stay
 * as it is. All states that fit the name so far are bits that go on together, 32 at once, however many wildcards there are.
 */
import { MailError } from '../../errors.js'
import { canonicalInbox, HIERARCHY_DELIMITER } from '../protocol/values/mailbox-name.js'

/** @typedef {(name: string) => boolean} NameTest */

const ASTERISK = '*'.charCodeAt(0)
const PERCENT = '%'.charCodeAt(0)
const SEPARATOR = HIERARCHY_DELIMITER.charCodeAt(0)

const WILDCARD = /[*%]/
const ANYTHING = /^\*+$/

/**
 * One command has at most so many patterns with a wildcard: mail programs send two or three. Each is compared with each name,
 * and eight thousand would fit into a command. Patterns without a wildcard may be as many as fit.
 */
const MAX_PATTERNS = 100

/** @type {readonly number[]} */
const NO_STATES = []

/** INBOX as the first level of a name. */
const INBOX = /^INBOX(?=\/|$)/
const INBOX_LENGTH = 5

/**
 * @param {readonly string[]} patterns - of one command
 * @returns {NameTest[]} a name that one of these takes is meant
 * @throws {MailError} LIMIT when they are too many
 */
export function compileListPatterns(patterns) {
  const distinct = [...new Set(patterns)]
  if (distinct.some((pattern) => ANYTHING.test(pattern))) return [() => true]
  const wide = distinct.filter((pattern) => WILDCARD.test(pattern))
  if (wide.length > MAX_PATTERNS) throw new MailError('LIMIT', { detail: 'patterns of a LIST' })
  const names = new Set(distinct.filter((pattern) => !WILDCARD.test(pattern)).map(canonicalInbox))
  return [(name) => names.has(name), ...wide.map(compileListPattern)]
}

/**
 * @param {string} pattern - reference and mailbox name put together
 * @returns {NameTest}
 */
export function compileListPattern(pattern) {
  /**
   * By character: the states from which it leads to the next one.
   *
   * @type {Map<number, number[]>}
   */
  const steps = new Map()
  /**
   * The steps by capitals, each for the small letter as well: INBOX is one name in any case.
   *
   * @type {Map<number, number[]>}
   */
  const inboxSteps = new Map()
  /** @type {number[]} */
  const staysAnywhere = []
  /** @type {number[]} */
  const staysInLevel = []
  let last = 0
  for (let at = 0; at < pattern.length; at++) {
    const code = pattern.charCodeAt(at)
    if (code === ASTERISK) addBit(staysAnywhere, last)
    if (code === ASTERISK || code === PERCENT) addBit(staysInLevel, last)
    else {
      addStep(steps, code, last)
      addStep(inboxSteps, capitalOf(code), last)
      last++
    }
  }
  const states = new Uint32Array((last >>> 5) + 1)
  return (name) => {
    // Each step to the next state takes a character of the name.
    if (last > name.length) return false
    // INBOX is one name in any case, also as the first level (RFC 3501 §5.1).
    const inboxEnd = INBOX.test(name) ? INBOX_LENGTH : 0
    states.fill(0)
    states[0] = 1
    for (let at = 0; at < name.length; at++) {
      const code = name.charCodeAt(at)
      const stays = code === SEPARATOR ? staysAnywhere : staysInLevel
      const from = (at < inboxEnd ? inboxSteps : steps).get(code)
      if (!advance(states, from ?? NO_STATES, stays)) return false
    }
    return hasBit(states, last)
  }
}

/**
 * @param {Map<number, number[]>} steps
 * @param {number} code - of a character
 * @param {number} state - from which it leads to the next one
 */
function addStep(steps, code, state) {
  const from = steps.get(code) ?? []
  steps.set(code, from)
  addBit(from, state)
}

/**
 * @param {number} code - of a character
 * @returns {number} of the capital, for a letter of ASCII; the same for others
 */
const capitalOf = (code) => (code >= 97 && code <= 122 ? code - 32 : code)

/**
 * @param {Uint32Array} states - changed in place
 * @param {readonly number[]} steps - states that go on to the next one; words that are missing are 0
 * @param {readonly number[]} stays - states that stay as well
 * @returns {boolean} whether any is left
 */
function advance(states, steps, stays) {
  let carry = 0
  let left = 0
  for (let word = 0; word < states.length; word++) {
    const now = /** @type {number} */ (states[word])
    const stepped = now & (steps[word] ?? 0)
    const next = (stepped << 1) | carry | (now & (stays[word] ?? 0))
    carry = stepped >>> 31
    states[word] = next
    left |= next
  }
  return left !== 0
}

/**
 * @param {number[]} words
 * @param {number} bit
 */
function addBit(words, bit) {
  const word = bit >>> 5
  while (words.length <= word) words.push(0)
  words[word] = /** @type {number} */ (words[word]) | (1 << (bit & 31))
}

/**
 * @param {Uint32Array} words
 * @param {number} bit
 * @returns {boolean} whether the bit is set
 */
function hasBit(words, bit) {
  const word = /** @type {number} */ (words[bit >>> 5])
  return ((word >>> (bit & 31)) & 1) === 1
}
