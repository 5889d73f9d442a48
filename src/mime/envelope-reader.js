/**
 * Reads back what SORT and THREAD need from a stored ENVELOPE, as envelope.js has written it: RFC 9051 §7.5.2.
 *
 * @typedef {import('./byte-writer.js').ByteString} ByteString
 */
import { MailError } from '../errors.js'
import { decodeByteString } from './encoded-word.js'
import { MAX_BASE_SUBJECT_CHARACTERS } from './limits.js'

/**
 * @typedef {object} EnvelopeAddress - the first address of a field; a group's head where a group comes first
 * @property {ByteString | null} name - display name, encoded words left as they are
 * @property {ByteString | null} mailbox
 * @property {ByteString | null} host
 */

const QUOTE = 34
const OPEN = 40
const CLOSE = 41
const SPACE = 32
const BACKSLASH = 92
const BRACE = 123
const LETTER_N = 78

/** Places of the fields in `(date subject from sender reply-to to cc bcc in-reply-to message-id)`. */
const FIELD_PLACES = Object.freeze({ from: 2, to: 5, cc: 6 })

/**
 * @param {Buffer} envelope - wire bytes
 * @returns {string} the subject, decoded, as much of it as sorting and threading look at; empty when there is none
 * @throws {MailError} ACCOUNT_DAMAGED when it is no ENVELOPE
 */
export function envelopeSubject(envelope) {
  const reader = new EnvelopeReader(envelope, 1)
  return decodeByteString(reader.string() ?? '', MAX_BASE_SUBJECT_CHARACTERS)
}

/**
 * @param {Buffer} envelope - wire bytes
 * @param {'from' | 'to' | 'cc'} field
 * @returns {EnvelopeAddress | null} null when the field names nobody
 * @throws {MailError} ACCOUNT_DAMAGED when it is no ENVELOPE
 */
export function firstAddress(envelope, field) {
  return new EnvelopeReader(envelope, FIELD_PLACES[field]).address()
}

/** A cursor over the wire bytes. */
class EnvelopeReader {
  #bytes
  #at = 0

  /**
   * @param {Buffer} bytes
   * @param {number} place - of the element to stand at
   */
  constructor(bytes, place) {
    this.#bytes = bytes
    this.#expect(OPEN)
    for (let skipped = 0; skipped < place; skipped++) {
      this.#skip()
      this.#expect(SPACE)
    }
  }

  /** @param {number} code */
  #expect(code) {
    if (this.#bytes[this.#at] !== code) throw damaged()
    this.#at++
  }

  /** Passes over one string, NIL or list. */
  #skip() {
    let depth = 0
    do {
      const code = this.#bytes[this.#at]
      if (code === undefined) throw damaged()
      if (code === OPEN) {
        depth++
        this.#at++
      } else if (code === CLOSE) {
        depth--
        this.#at++
      } else if (code === SPACE) this.#at++
      else this.#value()
    } while (depth > 0)
  }

  /** @returns {{ start: number, end: number, isQuoted: boolean } | null} the bytes of a string; null for NIL */
  #value() {
    const bytes = this.#bytes
    const code = bytes[this.#at]
    if (code === LETTER_N) {
      this.#at += 3
      return null
    }
    if (code === QUOTE) {
      const start = this.#at + 1
      let end = start
      while (bytes[end] !== QUOTE) {
        if (end >= bytes.length) throw damaged()
        end += bytes[end] === BACKSLASH ? 2 : 1
      }
      this.#at = end + 1
      return { start, end, isQuoted: true }
    }
    const lineEnd = bytes.indexOf('}\r\n', this.#at)
    const size = Number(bytes.toString('latin1', this.#at + 1, lineEnd))
    if (code !== BRACE || lineEnd < 0 || !Number.isInteger(size)) throw damaged()
    const start = lineEnd + 3
    this.#at = start + size
    if (this.#at > bytes.length) throw damaged()
    return { start, end: this.#at, isQuoted: false }
  }

  /** @returns {ByteString | null} */
  string() {
    const value = this.#value()
    if (value === null) return null
    const text = this.#bytes.toString('latin1', value.start, value.end)
    return value.isQuoted && text.includes('\\') ? text.replace(/\\(.)/gs, '$1') : text
  }

  /** @returns {EnvelopeAddress | null} the first of a list of addresses */
  address() {
    if (this.#bytes[this.#at] !== OPEN) return null
    this.#expect(OPEN)
    this.#expect(OPEN)
    const name = this.string()
    this.#expect(SPACE)
    this.#skip()
    this.#expect(SPACE)
    const mailbox = this.string()
    this.#expect(SPACE)
    return { name, mailbox, host: this.string() }
  }
}

/** @returns {MailError} */
function damaged() {
  return new MailError('ACCOUNT_DAMAGED', { detail: 'a stored envelope is none' })
}
