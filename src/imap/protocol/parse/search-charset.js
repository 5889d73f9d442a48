/** The charset of a SEARCH command's strings, RFC 9051 §6.4.4. */
import { isUtf8 } from 'node:buffer'
import { TextDecoder } from 'node:util'
import iconv from 'iconv-lite'
import { LIMITS } from '../limits.js'
import { badSyntax } from '../syntax-failure.js'

/** Encodings of iconv-lite that are no charsets. */
const NOT_CHARSETS = new Set(['base64', 'hex', 'binary', 'utf7imap'])

const UTF8_NAMES = new Set(['utf8', 'usascii', 'ascii'])

/**
 * @param {string | null} charset - null: the command names none; its strings are ASCII or, as clients have it, UTF-8
 * @returns {((bytes: Buffer) => string) | null} null where the charset is not known
 */
export function searchTextDecoder(charset) {
  const name = charset === null ? 'utf8' : charset.toLowerCase().replace(/[^0-9a-z]/g, '')
  if (UTF8_NAMES.has(name)) return decodeUtf8
  if (charset === null || charset.length > LIMITS.charsetNameLength || NOT_CHARSETS.has(name))
    return null
  const decode = iconv.encodingExists(charset)
    ? (/** @type {Buffer} */ bytes) => iconv.decode(bytes, charset)
    : platformDecoder(charset)
  return decode && ((bytes) => requireText(decode(bytes), bytes))
}

/**
 * Refuses text that became empty: decoders drop a letter that breaks off, and a search for it must not find every message, as one
 * for the empty string does.
 *
 * @param {string} text
 * @param {Buffer} bytes - that it was decoded from
 * @returns {string} the text
 */
function requireText(text, bytes) {
  if (text === '' && bytes.length > 0) throw invalidText()
  return text
}

/**
 * @param {string} charset - that iconv-lite does not know: ISO-2022-JP, in which Japanese programs search
 * @returns {((bytes: Buffer) => string) | null}
 */
function platformDecoder(charset) {
  try {
    const decoder = new TextDecoder(charset)
    return (bytes) => decoder.decode(bytes)
  } catch {
    // TextDecoder tells an unknown name only by throwing a RangeError.
    return null
  }
}

/** @param {Buffer} bytes */
function decodeUtf8(bytes) {
  if (!isUtf8(bytes)) throw invalidText()
  return bytes.toString()
}

const invalidText = () => badSyntax('A search string is not valid in its charset')
