/**
 * Content-Type, Content-Disposition and their parameters: RFC 2045 §5.1, RFC 2183, RFC 2231 §3, §4. Broken forms
 * that mail programs write are read as they were meant: values with spaces and no quotes, a missing semicolon, a
 * quote that never closes.
 *
 * @typedef {import('./byte-writer.js').ByteString} ByteString
 */
import { decodeCharset } from './charset.js'
import { MAX_PARAMETERS } from './limits.js'
import { trimSpace, unfoldText } from './header.js'

/**
 * @typedef {object} StructuredValue
 * @property {ByteString} value - the text before the first parameter, comments removed, trimmed
 * @property {[ByteString, ByteString][]} params - names and values as written, RFC 2231 continuations joined;
 *   the charset-and-percent form keeps the `*` at its name; the first of two equal names counts
 */

/**
 * @param {ByteString} field - the raw value of the field
 * @returns {StructuredValue}
 */
export function parseStructured(field) {
  const text = unfoldText(field)
  const scanner = new ParameterScanner(text)
  const value = scanner.main()
  /** @type {[ByteString, ByteString][]} */
  const params = []
  while (!scanner.isAtEnd && params.length < MAX_PARAMETERS) {
    const param = scanner.parameter()
    if (param) params.push(param)
  }
  return { value, params: joinContinuations(params) }
}

/**
 * @param {ByteString} field - the raw value of a Content-Type field
 * @returns {{ type: ByteString, subtype: ByteString, params: [ByteString, ByteString][] } | null} null when no media
 *   type can be seen in it: RFC 2045 §5.2 makes that text/plain
 */
export function parseContentType(field) {
  const { value, params } = parseStructured(field)
  const slash = value.indexOf('/')
  const type = mediaToken(slash === -1 ? value : value.slice(0, slash))
  const subtype = slash === -1 ? '' : mediaToken(value.slice(slash + 1))
  if (type !== '' && subtype !== '') return { type, subtype, params }
  const lowerType = type.toLowerCase()
  if (lowerType === 'multipart') return { type, subtype: 'mixed', params }
  if (lowerType === 'text') return { type, subtype: 'plain', params }
  return null
}

/**
 * The value of a parameter as Unicode text: RFC 2231 percent form decoded, else bytes as UTF-8 or latin1.
 * @param {[ByteString, ByteString][]} params
 * @param {string} name - lower case, without `*`
 * @returns {string | null}
 */
export function findParameter(params, name) {
  const extended = valueOf(params, `${name}*`)
  if (extended !== undefined) return decodeExtended(extended)
  const plain = valueOf(params, name)
  return plain === undefined ? null : decodeCharset(Buffer.from(plain, 'latin1'), null)
}

/**
 * @param {[ByteString, ByteString][]} params
 * @param {string} name - lower case
 * @returns {boolean} whether there is a parameter of that name, in any case
 */
export const hasParameter = (params, name) => valueOf(params, name) !== undefined

/**
 * @param {[ByteString, ByteString][]} params
 * @param {string} name - lower case
 * @returns {ByteString | undefined} of the first of that name, in any case
 */
const valueOf = (params, name) =>
  params.find(([key]) => key.length === name.length && key.toLowerCase() === name)?.[1]

/**
 * RFC 2231 §4: `charset'language'percent-encoded`.
 * @param {ByteString} value
 * @returns {string}
 */
function decodeExtended(value) {
  const parts = /^([^']*)'[^']*'/.exec(value)
  const encoded = parts ? value.slice(parts[0].length) : value
  return decodeCharset(Buffer.from(percentDecode(encoded), 'latin1'), parts?.[1] ?? null)
}

/**
 * @param {ByteString} text
 * @returns {ByteString}
 */
function percentDecode(text) {
  return text.replace(/%([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
}

/**
 * @param {ByteString} text
 * @returns {ByteString} the first word, without characters that a media type cannot have
 */
function mediaToken(text) {
  return /^[\x21-\x7e]*/.exec(trimSpace(text).replace(/["<>()@,;:\\[\]?=/]/g, ''))?.[0] ?? ''
}

/**
 * RFC 2231 §3: `name*0`, `name*1*` … become one `name` or `name*`.
 * @param {[ByteString, ByteString][]} params
 * @returns {[ByteString, ByteString][]}
 */
function joinContinuations(params) {
  if (!params.some(([name]) => name.includes('*'))) return withoutDuplicates(params)
  /** @type {Map<string, { name: ByteString, place: number, pieces: Map<number, [ByteString, boolean]> }>} */
  const series = new Map()
  /** @type {[ByteString, ByteString][]} */
  const joined = []
  for (const param of params) {
    const match = /^([^*]+)\*(\d{1,3})(\*?)$/.exec(param[0])
    const [, name = '', index = '', star = ''] = match ?? []
    if (!match) {
      joined.push(param)
      continue
    }
    const key = name.toLowerCase()
    let entry = series.get(key)
    if (!entry) {
      entry = { name, place: joined.length, pieces: new Map() }
      series.set(key, entry)
      joined.push([name, ''])
    }
    if (!entry.pieces.has(Number(index))) entry.pieces.set(Number(index), [param[1], star === '*'])
  }
  for (const { name, place, pieces } of series.values()) {
    const isExtended = [...pieces.values()].some(([, isEncoded]) => isEncoded)
    let value = ''
    for (let index = 0; pieces.has(index); index++) {
      const [text, isEncoded] = pieces.get(index) ?? ['', false]
      value += isExtended && !isEncoded ? percentEncode(text) : text
    }
    // A series that does not begin at 0 is kept in the order of its numbers rather than lost.
    if (!pieces.has(0))
      for (const index of [...pieces.keys()].sort((a, b) => a - b)) value += pieces.get(index)?.[0]
    joined[place] = [isExtended ? `${name}*` : name, value]
  }
  return withoutDuplicates(joined)
}

/**
 * @param {ByteString} text
 * @returns {ByteString}
 */
function percentEncode(text) {
  return text.replace(
    /[^A-Za-z0-9!#$&+\-.^_`|~]/g,
    (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0')}`
  )
}

/**
 * @param {[ByteString, ByteString][]} params
 * @returns {[ByteString, ByteString][]}
 */
function withoutDuplicates(params) {
  const seen = new Set()
  return params.filter(([name]) => {
    const key = name.toLowerCase()
    return seen.has(key) ? false : seen.add(key)
  })
}

/** A parameter without a semicolon before it, behind one space: a run of spaces would be gone through anew from each of them. */
const BARE_PARAMETER = /[ \t][A-Za-z0-9*-]{1,40}=/y

/** Reads `value; name=value; …` from left to right; every step moves forward. */
class ParameterScanner {
  /** Place of the first semicolon at or behind the place for which `nextSemicolon` was last called. */
  #semicolonAt = -1

  /** @param {ByteString} text - unfolded */
  constructor(text) {
    this.text = text
    this.at = 0
  }

  get isAtEnd() {
    return this.at >= this.text.length
  }

  /** @returns {ByteString} what stands before the first semicolon, or before ` name=` when that was forgotten */
  main() {
    let value = ''
    while (!this.isAtEnd) {
      const char = this.text[this.at]
      BARE_PARAMETER.lastIndex = this.at
      if (char === ';' || BARE_PARAMETER.test(this.text)) break
      if (char === '(') this.skipComment()
      else {
        value += char
        this.at++
      }
    }
    return trimSpace(value)
  }

  /** @returns {[ByteString, ByteString] | null} null for a piece that is no `name=value` */
  parameter() {
    while (!this.isAtEnd && /[; \t]/.test(this.text[this.at] ?? '')) this.at++
    if (this.text[this.at] === '(') {
      this.skipComment()
      return null
    }
    const name = this.parameterName()
    if (this.text[this.at] !== '=') return null
    this.at++
    const value = this.comments() ?? (this.text[this.at] === '"' ? this.quoted() : this.token())
    return name === '' ? null : [name, value]
  }

  /** @returns {ByteString} without comments, RFC 2045 §5.1: `charset (of old) = x` */
  parameterName() {
    let name = ''
    while (!this.isAtEnd && !/[;=]/.test(this.text[this.at] ?? '')) {
      if (this.text[this.at] === '(') this.skipComment()
      else name += this.text[this.at++]
    }
    return name.replace(/[\s"]/g, '')
  }

  /**
   * Passes over comments and space before a value.
   * @returns {ByteString | null} the last comment where no value follows: `name=(1)` is a bad name of a file
   */
  comments() {
    /** @type {ByteString | null} */
    let comment = null
    for (;;) {
      while (/[ \t]/.test(this.text[this.at] ?? '')) this.at++
      const start = this.at
      if (this.text[start] !== '(') return this.isAtEnd || this.text[start] === ';' ? comment : null
      this.skipComment()
      comment = this.text.slice(start, this.at)
    }
  }

  /** @returns {ByteString} the inside of a quoted string; what follows it up to the semicolon is dropped */
  quoted() {
    let value = ''
    this.at++
    while (!this.isAtEnd && this.text[this.at] !== '"') {
      if (this.text[this.at] === '\\' && this.at + 1 < this.text.length) this.at++
      value += this.text[this.at++]
    }
    this.at++
    return value
  }

  /** @returns {ByteString} an unquoted value: up to the semicolon, or up to the next ` name=` when that was forgotten */
  token() {
    let end = this.nextSemicolon()
    // A token ends as at BARE_PARAMETER, or at a comment.
    const next = /[ \t](?:\(|[A-Za-z0-9*-]{1,40}=)/.exec(this.text.slice(this.at, end))
    if (next) end = this.at + next.index
    const value = trimSpace(this.text.slice(this.at, end))
    this.at = end
    return value
  }

  /**
   * Looks for the next semicolon once, however many values stand before it: a field may have a hundred thousand.
   *
   * @returns {number} place of the next one, or the end
   */
  nextSemicolon() {
    if (this.#semicolonAt < this.at) {
      const found = this.text.indexOf(';', this.at)
      this.#semicolonAt = found === -1 ? this.text.length : found
    }
    return this.#semicolonAt
  }

  /** Passes over a comment, nested ones included; one that never closes takes the rest. */
  skipComment() {
    let depth = 0
    while (!this.isAtEnd) {
      const char = this.text[this.at++]
      if (char === '\\') this.at++
      else if (char === '(') depth++
      else if (char === ')' && --depth === 0) return
    }
  }
}
