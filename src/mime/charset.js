/**
 * Bytes of a named charset to text. iconv-lite knows most names, the platform's TextDecoder some more; a name that
 * is missing, wrong or unknown is answered by a guess, since mail is full of them.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { TextDecoder } from 'node:util'
import iconv from 'iconv-lite'

/** Names in use that neither decoder knows, and what they mean. */
const ALIASES = new Map([
  ['ascii', 'us-ascii'],
  ['ansi_x3.4-1968', 'us-ascii'],
  ['646', 'us-ascii'],
  ['utf8', 'utf-8'],
  ['utf-8-mac', 'utf-8'],
  ['unicode-1-1-utf-8', 'utf-8'],
  ['unicode-1-1-utf-7', 'utf-7'],
  ['x-unicode-2-0-utf-7', 'utf-7'],
  ['iso-8859-8-i', 'iso-8859-8'],
  ['iso-8859-8-e', 'iso-8859-8'],
  ['iso-8859-6-i', 'iso-8859-6'],
  ['cp932', 'shift_jis'],
  ['ms932', 'shift_jis'],
  ['x-sjis', 'shift_jis'],
  ['x-ms-cp932', 'shift_jis'],
  ['windows-31j', 'shift_jis'],
  ['cp936', 'gbk'],
  ['x-gbk', 'gbk'],
  ['ks_c_5601-1987', 'cp949'],
  ['ks_c_5601', 'cp949'],
  ['ksc5601', 'cp949'],
  ['x-windows-949', 'cp949'],
  ['euc-kr', 'cp949'],
  ['iso-2022-jp-1', 'iso-2022-jp'],
  ['iso-2022-jp-2', 'iso-2022-jp'],
  ['iso-2022-jp-3', 'iso-2022-jp'],
  ['iso-2022-jp-ms', 'iso-2022-jp'],
  ['cp50220', 'iso-2022-jp'],
  ['cp50221', 'iso-2022-jp'],
  ['x-mac-roman', 'macintosh'],
  ['hz', 'hz-gb-2312'],
  ['latin-1', 'iso-8859-1'],
  ['latin1', 'iso-8859-1'],
  ['x-user-defined', 'windows-1252']
])

/** Names that say nothing about the bytes. */
const MEANINGLESS = new Set([
  '',
  'us-ascii',
  'unknown',
  'x-unknown',
  'unknown-8bit',
  'x-unknown-8bit',
  '8bit',
  'default',
  'default_charset',
  'none',
  'binary'
])

/** RFC 2046 calls these by names of subsets; what senders put in them is the superset (as browsers decide, too). */
const SUPERSETS = new Map([
  ['iso-8859-1', 'windows-1252'],
  ['gb2312', 'gb18030'],
  ['gbk', 'gb18030'],
  ['iso-8859-9', 'windows-1254'],
  ['tis-620', 'windows-874']
])

/** Seven-bit forms of two-byte sets that no decoder here knows, and the set that they carry. */
const SHIFTED = new Map([
  ['iso-2022-kr', 'cp949'],
  ['hz-gb-2312', 'gb18030']
])

const ESCAPE = 27

/** @type {Map<string, TextDecoder | null>} decoders of the platform, by name; null where it has none */
const platformDecoders = new Map()

/**
 * Decodes bytes and never fails: what a charset cannot express becomes U+FFFD. An unknown or meaningless label is
 * guessed: ISO-2022-JP by its escapes, UTF-8 where the bytes are valid, else windows-1252.
 *
 * @param {Uint8Array} bytes
 * @param {string | null} label - the charset's name as written in the mail, in any case
 * @returns {string}
 */
export function decodeCharset(bytes, label) {
  const name = canonicalName(label)
  if (MEANINGLESS.has(name)) return guess(bytes)
  if (name === 'utf-8') return asUtf8(bytes)
  const shifted = SHIFTED.get(name)
  if (shifted) return iconv.decode(withoutShifts(bytes, name), shifted)
  const charset = SUPERSETS.get(name) ?? name
  if (isKnownToIconv(charset)) return iconv.decode(asBuffer(bytes), charset)
  const decoder = platformDecoder(charset)
  return decoder ? decoder.decode(bytes) : guess(bytes)
}

/**
 * @param {string} label
 * @returns {boolean} whether `decodeCharset` knows this charset, so that it need not guess (SEARCH CHARSET,
 *   RFC 9051 §6.4.4)
 */
export function isCharsetSupported(label) {
  const name = canonicalName(label)
  return (
    name === 'us-ascii' ||
    SHIFTED.has(name) ||
    isKnownToIconv(name) ||
    platformDecoder(name) !== null
  )
}

/**
 * @param {string | null} label
 * @returns {string} lower case, quotes and a language tag (RFC 2231 §5) removed, aliases resolved
 */
function canonicalName(label) {
  if (!label) return ''
  const name = label
    .slice(0, 80)
    .toLowerCase()
    .replace(/\*.*$/, '')
    .replace(/["'\s]/g, '')
    .replace(/^charset=/, '')
  return ALIASES.get(name) ?? name
}

/**
 * @param {string} name
 * @returns {boolean}
 */
function isKnownToIconv(name) {
  // iconv-lite also lists base64, hex and the like, and drops all punctuation of a name: "_-" would be "".
  return /^[a-z]/.test(name) && !/^(base64|hex|binary|internal)/.test(name)
    ? iconv.encodingExists(name)
    : false
}

/**
 * @param {string} name
 * @returns {TextDecoder | null}
 */
function platformDecoder(name) {
  const known = platformDecoders.get(name)
  if (known !== undefined) return known
  let decoder = null
  try {
    decoder = new TextDecoder(name)
  } catch {
    // The only way to ask: an unknown name throws a RangeError.
  }
  // Bounded: names come out of mail.
  if (platformDecoders.size > 200) platformDecoders.clear()
  platformDecoders.set(name, decoder)
  return decoder
}

/**
 * @param {Uint8Array} bytes
 * @returns {string}
 */
function guess(bytes) {
  if (isAscii(bytes) && !looksLikeIso2022Jp(bytes)) return asBuffer(bytes).toString('latin1')
  if (looksLikeIso2022Jp(bytes)) return platformDecoder('iso-2022-jp')?.decode(bytes) ?? ''
  return isUtf8(bytes) ? asUtf8(bytes) : iconv.decode(asBuffer(bytes), 'windows-1252')
}

/**
 * @param {Uint8Array} bytes
 * @returns {boolean} seven-bit, with the escape that opens two-byte characters
 */
function looksLikeIso2022Jp(bytes) {
  const at = bytes.indexOf(ESCAPE)
  return at !== -1 && bytes[at + 1] === 0x24 && isAscii(bytes)
}

/**
 * @param {Uint8Array} bytes
 * @returns {string}
 */
function asUtf8(bytes) {
  const text = asBuffer(bytes).toString('utf8')
  return text.startsWith('\uFEFF') ? text.slice(1) : text
}

/**
 * @param {Uint8Array} bytes
 * @returns {Buffer} the same memory
 */
function asBuffer(bytes) {
  return Buffer.isBuffer(bytes)
    ? bytes
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/**
 * Turns the shifted stretches of ISO-2022-KR (RFC 1557) or HZ (RFC 1843) into their eight-bit form.
 * @param {Uint8Array} bytes
 * @param {string} name
 * @returns {Buffer}
 */
function withoutShifts(bytes, name) {
  const isHz = name === 'hz-gb-2312'
  const out = Buffer.allocUnsafe(bytes.length)
  let length = 0
  let isShifted = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] ?? 0
    const next = bytes[at + 1]
    if (isHz && byte === 0x7e) {
      // ~{ opens, ~} closes, ~~ is a tilde, ~ before a line end joins the lines.
      if (next === 0x7b) isShifted = true
      else if (next === 0x7d) isShifted = false
      else if (next === 0x7e) out[length++] = 0x7e
      else if (next !== 10) continue
      at++
    } else if (!isHz && byte === ESCAPE && next === 0x24)
      at += 3 // ESC $ ) C: the designation at the start
    else if (!isHz && byte === 0x0e) isShifted = true
    else if (!isHz && byte === 0x0f) isShifted = false
    else out[length++] = isShifted && byte > 0x20 ? byte | 0x80 : byte
  }
  return out.subarray(0, length)
}
