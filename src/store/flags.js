/**
 * Flags as bits. A message has two words of 32 bits:
 *
 *     flags     bit 0 \Seen  1 \Answered  2 \Flagged  3 \Deleted  4 \Draft   5..31 keywords 0..26
 *     keywords  bit 0..31    keywords 27..58
 *
 * Keywords are numbered once for the account, so that COPY and MOVE carry both words unchanged.
 */
import { MailError } from '../errors.js'
import { FlagWires } from './flag-wires.js'

/** The system flags' bits. */
export const SEEN = 1
/** RFC 9051 §2.3.2 \Answered. */
export const ANSWERED = 2
/** RFC 9051 §2.3.2 \Flagged. */
export const FLAGGED = 4
/** RFC 9051 §2.3.2 \Deleted. */
export const DELETED = 8
/** RFC 9051 §2.3.2 \Draft. */
export const DRAFT = 16

/** All of them. */
export const SYSTEM_FLAGS_MASK = SEEN | ANSWERED | FLAGGED | DELETED | DRAFT

/** @type {ReadonlyArray<readonly [string, number]>} */
const SYSTEM_FLAGS = [
  ['\\Answered', ANSWERED],
  ['\\Flagged', FLAGGED],
  ['\\Deleted', DELETED],
  ['\\Seen', SEEN],
  ['\\Draft', DRAFT]
]

const SYSTEM_BITS = new Map(SYSTEM_FLAGS.map(([name, bit]) => [name.toLowerCase(), bit]))

/** Keywords that fit into the two words. */
export const MAX_KEYWORDS = 59

/** A longer keyword is nobody's; characters. */
const MAX_KEYWORD_LENGTH = 255

/**
 * @typedef {{ flags: number, keywords: number }} FlagWords - both unsigned
 * @typedef {{ word: 'flags' | 'keywords', mask: number }} FlagBit
 */

/**
 * @param {number} number - of a keyword, 0 to 58
 * @returns {FlagBit}
 */
export function keywordBit(number) {
  if (number < 27) return { word: 'flags', mask: (1 << (5 + number)) >>> 0 }
  return { word: 'keywords', mask: (1 << (number - 27)) >>> 0 }
}

/** Names and numbers of one account's keywords. */
export class KeywordTable {
  /** @type {Map<string, number>} */
  #numbers = new Map()
  /** @type {(string | undefined)[]} */
  #names = []
  /** Without and with `\Recent`. */
  #wires = [new FlagWires(), new FlagWires()]

  /** @returns {boolean} whether no further keyword fits: PERMANENTFLAGS loses `\*` */
  get isFull() {
    return this.#numbers.size >= MAX_KEYWORDS
  }

  /** @returns {string[]} all keywords, by number */
  get names() {
    return this.#names.filter((name) => name !== undefined)
  }

  /**
   * @param {readonly { number: number, name: string }[]} rows - all keywords of the account
   */
  load(rows) {
    this.#numbers = new Map(rows.map(({ number, name }) => [name.toLowerCase(), number]))
    this.#names = []
    for (const { number, name } of rows) this.#names[number] = name
    for (const wires of this.#wires) wires.clear()
  }

  /**
   * @param {string} name - a system flag or keyword, any case
   * @returns {FlagBit | null} null for a keyword that no message can have
   */
  find(name) {
    const lower = name.toLowerCase()
    const system = SYSTEM_BITS.get(lower)
    if (system !== undefined) return { word: 'flags', mask: system }
    const number = this.#numbers.get(lower)
    return number === undefined ? null : keywordBit(number)
  }

  /**
   * @param {readonly string[]} names
   * @returns {string[]} those that have no number yet, each once
   * @throws {MailError} CANNOT for a name that begins with a backslash and is no system flag (`\Recent` is not
   *   stored and thus not settable either); LIMIT for one that is too long
   */
  missing(names) {
    const missing = new Map()
    for (const name of names) {
      if (this.find(name)) continue
      if (name.startsWith('\\')) throw new MailError('CANNOT', { detail: 'unknown system flag' })
      if (name.length > MAX_KEYWORD_LENGTH)
        throw new MailError('LIMIT', { detail: 'keyword too long' })
      missing.set(name.toLowerCase(), name)
    }
    return [...missing.values()]
  }

  /**
   * @param {readonly string[]} names - those without a number (see `missing`) are left out
   * @returns {FlagWords}
   */
  wordsOf(names) {
    const words = { flags: 0, keywords: 0 }
    for (const name of names) {
      const bit = this.find(name)
      if (bit) words[bit.word] = (words[bit.word] | bit.mask) >>> 0
    }
    return words
  }

  /**
   * @param {number} flags
   * @param {number} keywords
   * @returns {string[]} system flags first, then keywords by number
   */
  flagNames(flags, keywords) {
    const names = []
    for (const [name, bit] of SYSTEM_FLAGS) if (flags & bit) names.push(name)
    for (let rest = flags >>> 5, number = 0; rest !== 0; rest >>>= 1, number++)
      if (rest & 1) names.push(this.#names[number] ?? '')
    for (let rest = keywords >>> 0, number = 27; rest !== 0; rest >>>= 1, number++)
      if (rest & 1) names.push(this.#names[number] ?? '')
    // A bit without a name: another process gave it a name that we have not read yet.
    return names.filter((name) => name !== '')
  }

  /**
   * The flags as they stand in a response between the parentheses. Few combinations occur, so each is made once.
   *
   * @param {number} flags
   * @param {number} keywords
   * @param {boolean} [isRecent] - RFC 3501 §2.3.2
   * @returns {string} such as `\Seen $Junk`
   */
  flagsWire(flags, keywords, isRecent = false) {
    const wires = /** @type {FlagWires} */ (this.#wires[isRecent ? 1 : 0])
    const known = wires.get(flags, keywords)
    if (known !== undefined) return known
    const names = this.flagNames(flags, keywords)
    if (isRecent) names.push('\\Recent')
    return wires.add(flags, keywords, names.join(' '))
  }
}
