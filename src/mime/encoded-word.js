/**
 * Header text for reading: RFC 2047 encoded words, with the raw UTF-8 of RFC 6532 and the raw eight-bit of older
 * mail beside them. Adjacent words of one charset are joined as bytes before they are decoded, because senders cut
 * in the middle of characters.
 *
 * @typedef {import('./byte-writer.js').ByteString} ByteString
 */
import { decodeCharset } from './charset.js'
import { unfoldText } from './header.js'

/**
 * An encoded word: charset, optional *language, B or Q, text. Spaces inside Q text are wrong and common; so are question marks,
 * which are text where no equals sign stands beside them.
 */
const ENCODED_WORD =
  /=\?([^?\s*]{1,64})(?:\*[^?\s]{0,40})?\?([bBqQ])\?([^?\r\n]*(?:(?<!=)\?(?!=)[^?\r\n]*)*)\?=/g

const ASCII = /^\p{ASCII}*$/u

/** The byte that begins a switch to another set, as in ISO-2022-JP. */
const ESCAPE = '\x1b'

/**
 * @param {ByteString} value - a raw header value, folded or not
 * @returns {string} unfolded, trimmed, decoded
 */
export function decodeHeaderText(value) {
  return decodeByteString(unfoldText(value))
}

/**
 * @param {ByteString} text - already unfolded
 * @param {number} [enough] - characters after which the rest, thousands of words perhaps, need not be decoded
 * @returns {string}
 */
export function decodeByteString(text, enough = Infinity) {
  if (!text.includes('=?')) return decodePlain(text)
  let out = ''
  let end = 0
  let charset = ''
  /** @type {Buffer[]} */
  let joined = []
  const flush = () => {
    if (joined.length > 0) out += decodeCharset(Buffer.concat(joined), charset)
    joined = []
  }
  for (const match of text.matchAll(ENCODED_WORD)) {
    const [word, label = '', encoding = '', body = ''] = match
    const between = text.slice(end, match.index)
    const isAdjacent = joined.length > 0 && /^[ \t]*$/.test(between)
    if (!isAdjacent || label.toLowerCase() !== charset.toLowerCase()) flush()
    if (!isAdjacent) out += decodePlain(between)
    if (out.length >= enough) return out
    charset = label
    joined.push(encoding === 'b' || encoding === 'B' ? decodeB(body) : decodeQ(body))
    end = match.index + word.length
  }
  flush()
  return out + decodePlain(text.slice(end))
}

/**
 * @param {ByteString} text
 * @returns {string}
 */
function decodePlain(text) {
  // Taken as it stands: ASCII is itself in every charset.
  const isPlain = ASCII.test(text) && !text.includes(ESCAPE)
  return isPlain ? text : decodeCharset(Buffer.from(text, 'latin1'), null)
}

/**
 * RFC 2047 §4.1.
 * @param {ByteString} body
 * @returns {Buffer}
 */
function decodeB(body) {
  return Buffer.from(body, 'base64')
}

/**
 * RFC 2047 §4.2.
 * @param {ByteString} body
 * @returns {Buffer}
 */
function decodeQ(body) {
  const text = body
    .replaceAll('_', ' ')
    .replace(/=([0-9a-f]{2})/gi, (_, hex) => String.fromCharCode(parseInt(hex, 16)))
  return Buffer.from(text, 'latin1')
}
