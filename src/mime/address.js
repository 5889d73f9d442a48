/**
 * Address lists: RFC 5322 §3.4 with the obsolete forms of §4.4, groups, source routes, comments as names, and what
 * real mail gets wrong (names with bare commas aside). One pass from left to right, no recursion: a million open
 * parentheses cost a million steps.
 *
 * @typedef {import('./byte-writer.js').ByteString} ByteString
 */
import { Words } from './address-words.js'
import { MAX_ADDRESSES, MAX_ENVELOPE_FIELD_BYTES } from './limits.js'
import { isSpace, trimSpace } from './header.js'

/**
 * One entry of an ENVELOPE address list, RFC 9051 §7.5.2. A group opens with its name as `mailbox` and null `host`,
 * and closes with both null. An address without a domain has the empty string as host, so that it is not taken for
 * a group.
 *
 * @typedef {object} Address
 * @property {ByteString | null} name - display name, quotes and escapes removed, encoded words left as they are
 * @property {ByteString | null} route - source route `@a,@b` (RFC 5322 §4.4)
 * @property {ByteString | null} mailbox - local part, quoting removed; a group's name; null at a group's end
 * @property {ByteString | null} host
 */

/**
 * Reads the value of an address field and never fails: text that is no address comes out as the nearest thing to one.
 * @param {ByteString} value - the raw value; only the first MAX_ENVELOPE_FIELD_BYTES count
 * @param {number} [maxAddresses]
 * @returns {Address[]} at most so many, and the end of the last one's group
 */
export function parseAddressText(value, maxAddresses = MAX_ADDRESSES) {
  const parser = new AddressParser(value.slice(0, MAX_ENVELOPE_FIELD_BYTES))
  return parser.list(maxAddresses)
}

/**
 * An address list as a person would write it, for search: names, addresses without comments, group names.
 * @param {Address[]} addresses
 * @returns {ByteString}
 */
export function formatAddresses(addresses) {
  return addresses
    .map(({ name, mailbox, host }) => {
      if (host === null) return mailbox === null ? ';' : `${mailbox}:`
      const address = host === '' ? mailbox : `${mailbox}@${host}`
      return name === null ? address : `${name} <${address}>`
    })
    .join(', ')
}

/** Characters that end an atom here. Dots stay in: names like "J. Doe" are written without quotes. */
const SPECIALS = new Set(Array.from('()<>@,;:"\\ \t\r\n', (char) => char.charCodeAt(0)))

/** Characters that end a domain literal, or cannot be in one. */
const BRACKET_OR_COMMA = /[\],]/g

const MAX_LITERAL_BYTES = 252

const BACKSLASH = 92
const QUOTE = 34
const OPEN = 40
const CLOSE = 41

class AddressParser {
  /** @param {ByteString} text */
  constructor(text) {
    this.text = text
    this.at = 0
    /** @type {Address[]} */
    this.found = []
    this.isInGroup = false
    /** @type {ByteString | null} */
    this.lastComment = null
    // Set when a quote was seen that never closes: from there on a quote stands for itself, and its end is not searched again.
    this.hasOpenQuote = false
    this.hasOpenComment = false
    // The first `]` or comma from the last literal on, kept because many brackets may open before it.
    this.bracketOrComma = -1
  }

  /**
   * @param {number} maxAddresses
   * @returns {Address[]}
   */
  list(maxAddresses) {
    while (this.at < this.text.length && this.found.length < maxAddresses) this.entry()
    if (this.isInGroup) this.push(null, null, null, null)
    return this.found
  }

  /**
   * @param {ByteString | null} name
   * @param {ByteString | null} route
   * @param {ByteString | null} mailbox
   * @param {ByteString | null} host
   */
  push(name, route, mailbox, host) {
    this.found.push({ name, route, mailbox, host })
  }

  /** Reads up to and with the next separator. */
  entry() {
    const words = new Words()
    this.lastComment = null
    let isDone = false
    while (!isDone && this.at < this.text.length) {
      const char = this.text[this.at]
      switch (char) {
        case ' ':
        case '\t':
        case '\r':
        case '\n':
          words.isAfterSpace = true
          this.at++
          break
        case '(':
          words.isAfterSpace = true
          this.comment()
          break
        case '"':
          words.add(this.quotedString(), true)
          break
        case '<':
          this.angleAddress(words)
          return
        case '@':
          this.bareAddress(words)
          return
        case ':':
          this.at++
          if (!this.isInGroup && words.list.length > 0) {
            this.isInGroup = true
            this.push(null, null, words.join(), null)
            return
          }
          break
        case ',':
        case ';':
          isDone = true
          break
        default:
          words.add(this.atom(), false)
      }
    }
    this.nameOnly(words)
    this.separator()
  }

  /**
   * A phrase with no address: one word is a mailbox of this host (`root`), more are a name.
   * @param {Words} words
   */
  nameOnly(words) {
    const text = trimSpace(words.join())
    if (text === '') return
    const isPhrase = words.list.length > 1 || words.list[0]?.isQuoted
    if (isPhrase) this.push(text, null, '', '')
    else this.push(this.lastComment, null, text, '')
  }

  /** After an address: skips to the next comma, or closes the group at a semicolon. */
  separator() {
    while (this.at < this.text.length) {
      const char = this.text[this.at]
      if (char === ',') {
        this.at++
        return
      }
      if (char === ';') {
        this.at++
        if (this.isInGroup) this.push(null, null, null, null)
        this.isInGroup = false
        return
      }
      if (char === '(') this.comment()
      else if (char === '"') this.quotedString()
      // Two addresses with the comma forgotten: `<a@b> <c@d>`.
      else if (char === '<') return
      else this.at++
    }
  }

  /**
   * `Name <@route:local@host>`, RFC 5322 §3.4.
   * @param {Words} words
   */
  angleAddress(words) {
    const name = trimSpace(words.join()) || this.lastComment
    this.at++
    let content = ''
    let lastAt = -1
    let routeEnd = -1
    let isClosed = false
    // Kept apart from the text: a look at it for each character would copy what has been put together so far.
    let isRoute = false
    while (!isClosed && this.at < this.text.length) {
      const char = this.text[this.at] ?? ''
      if (char === '>') {
        this.at++
        isClosed = true
      } else if (char === '"') {
        const quoted = this.quotedString()
        if (content === '') isRoute = quoted.startsWith('@')
        content += quoted
      } else if (char === '(') this.comment()
      else if (isSpace(char.charCodeAt(0)) || char === '<') this.at++
      // The bracket was never closed: the next address begins behind this comma.
      else if (char === ',' && lastAt !== -1 && !isRoute) break
      else {
        if (content === '') isRoute = char === '@'
        if (char === '@') lastAt = content.length
        if (char === ':' && isRoute && routeEnd === -1) routeEnd = content.length
        content += char
        this.at++
      }
    }
    const route = routeEnd === -1 ? null : content.slice(0, routeEnd)
    const start = routeEnd === -1 ? 0 : routeEnd + 1
    const isSplit = lastAt >= start
    this.push(
      name,
      route,
      isSplit ? content.slice(start, lastAt) : content.slice(start),
      isSplit ? content.slice(lastAt + 1) : ''
    )
    this.separator()
  }

  /**
   * `local@host (Name)`, RFC 5322 §3.4.1; words before the local part are a name whose brackets were forgotten.
   * @param {Words} words
   */
  bareAddress(words) {
    const start = words.localPartStart()
    let local = words.concat(start)
    this.lastComment = null
    let host = this.domain()
    while (this.text[this.at] === '@') {
      local += `@${host}`
      host = this.domain()
    }
    const phrase = start > 0 ? words.join(0, start) : null
    if (this.text[this.at] === '<' && host !== '') {
      // `a@b.org <a@b.org>`: the first address is a name that should have been quoted.
      const nameWords = new Words()
      nameWords.add(`${phrase === null ? '' : `${phrase} `}${local}@${host}`, true)
      this.angleAddress(nameWords)
      return
    }
    this.push(phrase ?? this.lastComment, null, local, host)
    this.separator()
  }

  /** @returns {ByteString} the domain after `@`, comments and white space around its dots removed */
  domain() {
    this.at++
    let host = ''
    let endsInDot = false
    let isAfterSpace = false
    while (this.at < this.text.length) {
      const code = this.text.charCodeAt(this.at)
      if (isSpace(code)) {
        isAfterSpace = true
        this.at++
        continue
      }
      const char = this.text[this.at]
      if (char === '(') {
        this.comment()
        isAfterSpace = true
        continue
      }
      if (char === '\\' || char === '"') {
        this.at++
        continue
      }
      if (char === '[') {
        const end = this.literalEnd()
        if (end !== -1) {
          host += this.text.slice(this.at, end).replace(/\s/g, '')
          endsInDot = false
          this.at = end
          continue
        }
      }
      if (SPECIALS.has(code)) break
      if (isAfterSpace && host !== '' && char !== '.' && !endsInDot) break
      const atom = this.atom()
      host += atom
      endsInDot = atom.endsWith('.')
      isAfterSpace = false
    }
    return host
  }

  /** @returns {number} the place after the domain literal that begins here (RFC 5322 §3.4.1); -1: none does */
  literalEnd() {
    if (this.bracketOrComma < this.at) {
      BRACKET_OR_COMMA.lastIndex = this.at
      this.bracketOrComma = BRACKET_OR_COMMA.exec(this.text)?.index ?? this.text.length
    }
    const end = this.bracketOrComma + 1
    return this.text[end - 1] === ']' && end - this.at <= MAX_LITERAL_BYTES ? end : -1
  }

  /** @returns {ByteString} */
  atom() {
    const start = this.at++
    while (this.at < this.text.length && !SPECIALS.has(this.text.charCodeAt(this.at))) this.at++
    return this.text.slice(start, this.at)
  }

  /** @returns {ByteString} the inside of a quoted string, unescaped and unfolded; nothing if it never closes */
  quotedString() {
    let value = ''
    let start = ++this.at
    if (this.hasOpenQuote) return ''
    for (let at = start; at < this.text.length; at++) {
      const code = this.text.charCodeAt(at)
      if (code === BACKSLASH) {
        value += this.text.slice(start, at++)
        start = at
      } else if (code === QUOTE) {
        this.at = at + 1
        return (value + this.text.slice(start, at)).replace(/[\r\n]+/g, '')
      }
    }
    this.hasOpenQuote = true
    return ''
  }

  /** Reads a comment, nested ones included, and remembers its text: old mail has the name there. */
  comment() {
    const start = ++this.at
    if (this.hasOpenComment) return
    let depth = 1
    for (let at = start; at < this.text.length; at++) {
      const code = this.text.charCodeAt(at)
      if (code === BACKSLASH) at++
      else if (code === OPEN) depth++
      else if (code === CLOSE && --depth === 0) {
        this.at = at + 1
        const inside = this.text.slice(start, at).replace(/[\r\n]+/g, '')
        const text = trimSpace(inside.replace(/\\(.)/gs, '$1'))
        if (text !== '') this.lastComment = text
        return
      }
    }
    this.hasOpenComment = true
  }
}
