/**
 * Tokenizes one command, line by line: a command is one line, or several with a literal between each two
 * (RFC 9051 §2.2.1). No token but a literal holds a line end, so every line is whole before it is looked at.
 */
import {
  DOUBLE_QUOTE,
  BACKSLASH,
  LEFT_BRACE,
  LEFT_PARENTHESIS,
  PLUS,
  QUOTED_CHARACTER,
  RIGHT_BRACE,
  RIGHT_PARENTHESIS,
  SPACE,
  TAG_CHARACTER,
  TILDE,
  WORD_CHARACTER
} from './character.js'
import { LIMITS } from './limits.js'
import { badSyntax, SyntaxFailure } from './syntax-failure.js'
import { AtomToken } from './token.js'

/** @typedef {import('./token.js').RawCommand} RawCommand */
/** @typedef {import('./token.js').Token} Token */

/**
 * @typedef {object} LiteralHeader
 * @property {number} size - bytes
 * @property {boolean} isNonSync - the client does not wait for a continuation, RFC 7888 §4
 * @property {boolean} isLiteral8 - `~{n}`, RFC 3516 §4.4
 * @property {number} gap - spaces before it
 */

/** A literal's size has at most 15 digits: a number beyond is no longer exact, and is over every limit anyway. */
const MAX_SIZE_DIGITS = 15

/**
 * @param {Buffer} line - the beginning of a command, line end excluded
 * @returns {string | null} the tag, or null when there is no valid one
 */
export function findTag(line) {
  let end = 0
  while (end < line.length && TAG_CHARACTER[/** @type {number} */ (line[end])] === 1) end += 1
  if (end === 0 || end > LIMITS.tagBytes) return null
  if (end < line.length && line[end] !== SPACE) return null
  return line.toString('latin1', 0, end)
}

/**
 * Finds the literal that a line announces at its end, whatever stands before it: used to find the next command after a
 * line that could not be understood, so that a literal's content is never taken for commands.
 * @param {Buffer} line
 * @returns {LiteralHeader | null}
 */
export function findTrailingLiteral(line) {
  if (line.at(-1) !== RIGHT_BRACE) return null
  const open = line.lastIndexOf(LEFT_BRACE)
  if (open < 0) return null
  return parseLiteralHeader(line, open, 0)
}

/**
 * @param {Buffer} line
 * @param {number} open - index of `{`
 * @param {number} gap
 * @returns {LiteralHeader | null} null when it is not a literal header at the line's end
 */
function parseLiteralHeader(line, open, gap) {
  let at = open + 1
  let size = 0
  const digitsStart = at
  for (; at < line.length; at += 1) {
    const digit = /** @type {number} */ (line[at]) - 48
    if (digit < 0 || digit > 9) break
    size = at - digitsStart < MAX_SIZE_DIGITS ? size * 10 + digit : Infinity
  }
  if (at === digitsStart) return null
  const isNonSync = line[at] === PLUS
  if (isNonSync) at += 1
  if (line[at] !== RIGHT_BRACE || at !== line.length - 1) return null
  const isLiteral8 = open > 0 && line[open - 1] === TILDE
  return { size, isNonSync, isLiteral8, gap }
}

/** One command while it is being received. */
export class CommandLine {
  /** @type {string | null} */
  tag = null
  name = ''
  /** @type {Token[]} */
  tokens = []
  /**
   * The lists that are open, outermost first, without the innermost, which is #current.
   * @type {Token[][]}
   */
  #open = []
  /** @type {Token[]} */
  #current = this.tokens
  #tokenCount = 0
  #maxTokens
  #maxNesting

  /**
   * @param {object} limits
   * @param {number} limits.maxTokens
   * @param {number} limits.maxNesting - levels of parentheses
   */
  constructor({ maxTokens, maxNesting }) {
    this.#maxTokens = maxTokens
    this.#maxNesting = maxNesting
  }

  /** @returns {number} how many lists are open */
  get depth() {
    return this.#open.length
  }

  /** @returns {Token[]} the items of the innermost open list, or the arguments */
  get current() {
    return this.#current
  }

  /** @returns {RawCommand} what has been read so far; later lines do not change it, but for the items of open lists */
  get raw() {
    return { tag: this.tag ?? '', name: this.name, tokens: [...this.tokens] }
  }

  /**
   * @param {Buffer} line - without its line end; kept by the tokens, its quoted strings unescaped in their places
   * @returns {LiteralHeader | null} the literal that follows, or null when the command is complete
   * @throws {SyntaxFailure}
   */
  addLine(line) {
    let at = this.tag === null ? this.#readHead(line) : 0
    for (;;) {
      let gap = 0
      while (line[at] === SPACE) {
        at += 1
        gap += 1
      }
      if (at >= line.length) break
      this.#countToken()
      const code = /** @type {number} */ (line[at])
      if (code === LEFT_PARENTHESIS) at = this.#openList(at, gap)
      else if (code === RIGHT_PARENTHESIS) at = this.#closeList(at)
      else if (code === DOUBLE_QUOTE) at = this.#readQuoted(line, at, gap)
      else if (code === LEFT_BRACE || (code === TILDE && line[at + 1] === LEFT_BRACE)) {
        const header = parseLiteralHeader(line, code === TILDE ? at + 1 : at, gap)
        if (header === null) throw badSyntax('Invalid literal')
        return header
      } else at = this.#readWord(line, at, gap)
    }
    if (this.#open.length > 0) throw badSyntax('Missing closing parenthesis')
    return null
  }

  /**
   * Adds the literal whose header addLine returned.
   * @param {Token} token
   */
  addLiteral(token) {
    this.#current.push(token)
  }

  /**
   * @param {Buffer} line
   * @returns {number} where the arguments begin
   */
  #readHead(line) {
    this.tag = findTag(line)
    if (this.tag === null) throw badSyntax('Invalid tag')
    const first = wordEnd(line, this.tag.length + 1)
    this.name = line.toString('latin1', this.tag.length + 1, first).toUpperCase()
    if (this.name === '') throw badSyntax('Missing command')
    if (this.name !== 'UID' || line[first] !== SPACE) return first
    const second = wordEnd(line, first + 1)
    this.name = `UID ${line.toString('latin1', first + 1, second).toUpperCase()}`
    return second
  }

  /**
   * @param {number} at
   * @param {number} gap
   */
  #openList(at, gap) {
    if (this.#open.length >= this.#maxNesting)
      throw new SyntaxFailure('TOO_DEEP', 'Too many levels of parentheses')
    /** @type {Token[]} */
    const items = []
    this.#current.push({ type: 'list', items, gap })
    this.#open.push(this.#current)
    this.#current = items
    return at + 1
  }

  /** A closing parenthesis counts as well: each belongs to a list that does. */
  #countToken() {
    this.#tokenCount += 1
    if (this.#tokenCount > this.#maxTokens)
      throw new SyntaxFailure('TOO_LONG', 'The command has too many words')
  }

  /** @param {number} at */
  #closeList(at) {
    const outer = this.#open.pop()
    if (outer === undefined) throw badSyntax('Unexpected closing parenthesis')
    this.#current = outer
    return at + 1
  }

  /**
   * @param {Buffer} line
   * @param {number} start - index of the opening quote
   * @param {number} gap
   */
  #readQuoted(line, start, gap) {
    let at = start + 1
    let escapes = 0
    for (;;) {
      while (QUOTED_CHARACTER[line[at] ?? 0] === 1) at += 1
      if (line[at] !== BACKSLASH) break
      if (line[at + 1] !== BACKSLASH && line[at + 1] !== DOUBLE_QUOTE)
        throw badSyntax('Invalid escape in a quoted string')
      escapes += 1
      at += 2
    }
    if (line[at] !== DOUBLE_QUOTE) {
      throw badSyntax(
        at >= line.length ? 'Missing closing quote' : 'Invalid character in a quoted string'
      )
    }
    const inner = line.subarray(start + 1, at)
    const bytes = escapes === 0 ? inner : unescape(inner)
    this.#current.push({ type: 'string', bytes, form: 'quoted', gap })
    return at + 1
  }

  /**
   * @param {Buffer} line
   * @param {number} start
   * @param {number} gap
   */
  #readWord(line, start, gap) {
    const end = wordEnd(line, start)
    if (end === start) throw badSyntax('Invalid character')
    this.#current.push(new AtomToken(line, start, end, gap))
    return end
  }
}

/**
 * @param {Buffer} line
 * @param {number} start
 * @returns {number} the index after the word that begins at `start`
 */
function wordEnd(line, start) {
  let end = start
  while (end < line.length && WORD_CHARACTER[/** @type {number} */ (line[end])] === 1) end += 1
  return end
}

/**
 * Unescapes in place: the string may be a password, and whoever zeroes the token would not know of another copy.
 * @param {Buffer} quoted - every backslash is followed by the character that it escapes; what is left over is zeroed
 * @returns {Buffer} a view of its beginning
 */
function unescape(quoted) {
  let length = 0
  for (let at = 0; at < quoted.length; at += 1) {
    if (quoted[at] === BACKSLASH) at += 1
    quoted[length] = /** @type {number} */ (quoted[at])
    length += 1
  }
  quoted.fill(0, length)
  return quoted.subarray(0, length)
}
