/** Reads a command's tokens one after the other, each as the kind of argument that the grammar asks for. */
import { isUtf8 as isUtf8Bytes } from 'node:buffer'
import { ATOM_CHARACTER, isAll, isWordOf, RAW_ASTRING_CHARACTER } from '../character.js'
import { badSyntax } from '../syntax-failure.js'
import { parseFlags } from '../values/flag.js'
import { decodeMailboxName } from '../values/mailbox-name.js'
import { parseNumber64 } from '../values/number.js'
import { SequenceSet } from '../values/sequence-set.js'

/** @typedef {import('../token.js').Token} Token */

const SET_WORD = /^[0-9*$][0-9*:,]*$/
const EMPTY_SET = Object.freeze(new SequenceSet([]))

/** A cursor over the tokens of a command or of a list. */
export class Arguments {
  #tokens
  #at = 0
  #isNested

  /**
   * @param {Token[]} tokens
   * @param {{ isUtf8: boolean, isNested?: boolean }} options - `isUtf8`: UTF8=ACCEPT or IMAP4rev2 is enabled; `isNested`:
   *   the tokens of a list, whose first needs no space before it
   */
  constructor(tokens, { isUtf8, isNested = false }) {
    this.#tokens = tokens
    this.#isNested = isNested
    /** @type {boolean} */
    this.isUtf8 = isUtf8
  }

  /** @returns {number} how many tokens are left */
  get left() {
    return this.#tokens.length - this.#at
  }

  /** @returns {Token | undefined} the next token, which stays */
  peek() {
    return this.#tokens[this.#at]
  }

  /** @returns {string | null} the next token in upper case, when it is a word; it stays */
  peekWord() {
    const token = this.peek()
    return token?.type === 'atom' ? token.text.toUpperCase() : null
  }

  /**
   * RFC 6855 §3, RFC 9051 §9 (quoted). Others send what they like: a charset may be named for it.
   * @returns {boolean} whether the next token is a quoted string that is not UTF-8, though the client has enabled that
   */
  isInvalidText() {
    const token = this.peek()
    const isText = this.isUtf8 && token?.type === 'string' && token.form === 'quoted'
    return isText && !isUtf8Bytes(token.bytes)
  }

  /**
   * @returns {string | null} the last argument as the client wrote it, which stays; equal texts are parsed to equal arguments.
   *   null where others follow, or where not all of it may stand in one line
   */
  lastText() {
    const token = this.peek()
    if (token === undefined || token.gap === 0 || this.left > 1) return null
    const first = token.type === 'list' ? token.items[0] : token
    if (first?.type !== 'atom') return null
    const text = first.source.toString('latin1', first.start)
    // A literal comes behind the line, and whether quoted text is valid depends on what the client has enabled.
    if (text.endsWith('}') || text.includes('"')) return null
    return first === token ? text : `(${text}`
  }

  /** @throws {import('../syntax-failure.js').SyntaxFailure} when something is left */
  end() {
    if (this.left > 0) throw badSyntax('Too many arguments')
  }

  /** Zeroes the received bytes of all tokens, also of those that nobody has read: one may be a password. */
  zero() {
    zeroTokens(this.#tokens)
  }

  /**
   * @returns {Token}
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  next() {
    const token = this.nextAttached()
    const isFirstInList = this.#isNested && this.#at === 1
    if (token.gap === 0 && !isFirstInList) throw badSyntax('Missing space between arguments')
    return token
  }

  /**
   * The next token, with or without a space before it: for FETCH sections alone.
   * @returns {Token}
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  nextAttached() {
    const token = this.#tokens[this.#at]
    if (token === undefined) throw badSyntax('Missing argument')
    if (this.isInvalidText()) throw badSyntax('Invalid UTF-8 in a quoted string')
    this.#at += 1
    return token
  }

  /**
   * A bare word of any characters that the tokenizer takes for one: flags, sets, sections.
   * @returns {string} as given
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  word() {
    const token = this.next()
    if (token.type !== 'atom') throw badSyntax('Expected an atom')
    return token.text
  }

  /**
   * `atom`, RFC 9051 §9.
   * @returns {string} in upper case
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  atom() {
    const text = this.word()
    if (!isWordOf(ATOM_CHARACTER, text)) throw badSyntax('Invalid atom')
    return text.toUpperCase()
  }

  /**
   * `astring`, RFC 9051 §9, and raw 8-bit words, which some clients send.
   * @returns {Buffer} a view
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  astring() {
    const token = this.next()
    if (token.type === 'string') return token.bytes
    if (token.type !== 'atom') throw badSyntax('Expected a string')
    const { bytes } = token
    if (!isAll(RAW_ASTRING_CHARACTER, bytes)) throw badSyntax('Invalid character in an atom')
    return bytes
  }

  /**
   * `list-mailbox`, RFC 9051 §9: an astring whose atoms may hold wildcards.
   * @returns {Buffer} a view
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  listMailbox() {
    const token = this.next()
    if (token.type === 'string') return token.bytes
    if (token.type !== 'atom' || token.text.includes('\\')) throw badSyntax('Expected a pattern')
    return token.bytes
  }

  /**
   * A quoted string or a literal.
   * @returns {Buffer} a view
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  string() {
    const token = this.next()
    if (token.type !== 'string') throw badSyntax('Expected a string')
    return token.bytes
  }

  /**
   * @returns {Arguments} the items of a parenthesised list
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  list() {
    return this.#listOf(this.next())
  }

  /**
   * @returns {Arguments} the items of a parenthesised list, which may stand without a space before it
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  attachedList() {
    return this.#listOf(this.nextAttached())
  }

  /**
   * A list of at least one atom.
   * @returns {string[]} in upper case
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  atomList() {
    const list = this.list()
    const atoms = []
    do atoms.push(list.atom())
    while (list.left > 0)
    return atoms
  }

  /**
   * @returns {string} a mailbox name, decoded
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  mailbox() {
    return decodeMailboxName(this.astring(), { isUtf8: this.isUtf8 })
  }

  /**
   * @returns {number} `number64` or a mod-sequence value
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  number64() {
    return parseNumber64(this.word())
  }

  /**
   * The message set of a command. For UID commands an empty one is accepted, as `""` or as nothing between two spaces:
   * clients that compute their sets send it, and nothing is then to be done.
   * @param {boolean} isUid
   * @param {number} [following] - how many arguments must follow the set
   * @returns {SequenceSet}
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  set(isUid, following = 0) {
    const token = this.peek()
    if (isUid && token !== undefined) {
      if (token.type === 'string' && token.bytes.length === 0) {
        this.next()
        return EMPTY_SET
      }
      const isSet = token.type === 'atom' && SET_WORD.test(token.text) && this.left > following
      if (token.gap > 1 && !isSet) return EMPTY_SET
    }
    return SequenceSet.parse(this.word())
  }

  /**
   * `flag-list`, RFC 9051 §9.
   * @returns {string[]}
   * @throws {import('../syntax-failure.js').SyntaxFailure}
   */
  flagList() {
    const list = this.list()
    const texts = []
    while (list.left > 0) texts.push(list.word())
    return parseFlags(texts)
  }

  /**
   * @param {Token} token
   * @returns {Arguments}
   */
  #listOf(token) {
    if (token.type !== 'list') throw badSyntax('Expected a list')
    return new Arguments(token.items, { isUtf8: this.isUtf8, isNested: true })
  }
}

/** @param {Token[]} tokens */
function zeroTokens(tokens) {
  for (const token of tokens) {
    if (token.type === 'list') zeroTokens(token.items)
    else if (token.type !== 'streamed') token.bytes.fill(0)
  }
}
