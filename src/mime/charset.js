/**
 * Bytes of a named charset to text. iconv-lite knows most names, the platform's TextDecoder some more; a name that
 * is missing, wrong or unknown is answered by a guess, since mail is full of them.
 */
import { isAscii, isUtf8 } from 'node:buffer'
import { TextDecoder } from 'node:util'
import iconv from 'iconv-lite'
import { asBuffer, joined, JisDecoder, ShiftedDecoder } from './seven-bit-charsets.js'
import { Utf7Decoder } from './utf7.js'

/** Names in use that neither decoder knows, and what they mean. */
const ALIASES = new Map([
  ['ascii', 'us-ascii'],
  ['ansi_x3.4-1968', 'us-ascii'],
  ['646', 'us-ascii'],
  ['utf8', 'utf-8'],
  ['utf-8-mac', 'utf-8'],
  ['unicode-1-1-utf-8', 'utf-8'],
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
  ['uhc', 'cp949'],
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

/** Names of subsets, as RFC 2046 uses them, and the supersets that senders put in their mail (as browsers decide, too). */
const SUPERSETS = new Map([
  ['iso-8859-1', 'windows-1252'],
  ['gb2312', 'gb18030'],
  ['gbk', 'gb18030'],
  ['iso-8859-9', 'windows-1254'],
  ['tis-620', 'windows-874']
])

/** Seven-bit form of the Japanese sets (RFC 1468), which the platform knows and iconv-lite does not. */
const JIS = 'iso-2022-jp'

/** Seven-bit forms of two-byte sets that no decoder here knows, and the set that they carry. */
const SHIFTED = new Map([
  ['iso-2022-kr', 'cp949'],
  ['hz-gb-2312', 'gb18030']
])

/**
 * Names of UTF-7, their letters and digits alone.
 *
 * @type {ReadonlyMap<string, 'mail' | 'imap'>}
 */
const UTF7 = new Map([
  ['utf7', 'mail'],
  ['unicode11utf7', 'mail'],
  ['xunicode20utf7', 'mail'],
  ['utf7imap', 'imap']
])

const ESCAPE = 27

const HIGH_SURROGATE_AT_END = /[\ud800-\udbff]$/

/** A charset is guessed by at most so many bytes from the first telling one on: they are kept until it is known. */
const GUESS_BYTES = 65_536

const EMPTY = Buffer.alloc(0)

/**
 * Names that the platform knows (WHATWG Encoding §4.2, which gets no more) and iconv-lite does not. Asking the platform for an
 * unknown name costs an exception, and a header may have twenty thousand.
 */
const PLATFORM_NAMES = new Set(
  (
    '866 csisolatin9 csiso2022jp csiso88596e csiso88596i csiso88598e csiso88598i csunicode ' +
    'cseucpkdfmtjapanese dos-874 iso-10646-ucs-2 iso-2022-jp iso-8859-6-e iso-8859-6-i koi koi8 ' +
    'logical sun_eu_greek unicode unicode20utf8 unicodefeff unicodefffe visual x-cp1250 x-cp1251 ' +
    'x-cp1252 x-cp1253 x-cp1254 x-cp1255 x-cp1256 x-cp1257 x-cp1258 x-euc-jp x-mac-cyrillic ' +
    'x-mac-roman x-mac-ukrainian x-unicode20utf8 x-user-defined'
  ).split(' ')
)

/**
 * @typedef {object} CharsetDecoder
 * @property {(bytes: Uint8Array) => string} push - the text that is certain by now; keeps nothing of the bytes
 * @property {() => string} end - the rest of the text
 */

/**
 * Decodes bytes and never fails: bytes that mean nothing in the charset become U+FFFD. For an unknown or meaningless label the
 * charset is guessed: ISO-2022-JP by its escapes, UTF-8 where the bytes are valid, else windows-1252.
 *
 * @param {Uint8Array} bytes
 * @param {string | null} label - the charset's name as written in the mail, in any case
 * @returns {string}
 */
export function decodeCharset(bytes, label) {
  const decoder = createCharsetDecoder(label)
  const first = decoder.push(bytes)
  return first + decoder.end()
}

/**
 * `decodeCharset` for bytes that come in pieces: the text is the same however they are cut.
 *
 * @param {string | null} label
 * @returns {CharsetDecoder}
 */
export function createCharsetDecoder(label) {
  const name = canonicalName(label)
  if (MEANINGLESS.has(name)) return new GuessingDecoder()
  if (name === 'utf-8') return new Utf8Decoder()
  const carried = SHIFTED.get(name)
  if (carried) return new ShiftedDecoder(iconvDecoder(carried), name === 'hz-gb-2312')
  if (name === JIS) return new JisDecoder(platformDecoder(JIS))
  const utf7 = UTF7.get(name.replace(/[^a-z0-9]/g, ''))
  if (utf7) return new Utf7Decoder(utf7)
  const charset = SUPERSETS.get(name) ?? name
  if (isKnownToIconv(charset)) return iconvDecoder(charset)
  return PLATFORM_NAMES.has(charset) ? platformDecoder(charset) : new GuessingDecoder()
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
 * @returns {boolean} whether iconv-lite decodes the charset
 */
function isKnownToIconv(name) {
  // iconv-lite also lists base64, hex and the like, and drops all punctuation of a name: "_-" would be "".
  if (!/^[a-z]/.test(name) || /^(base64|hex|binary|internal)/.test(name)) return false
  // iconv-lite makes its list when it is first asked; later on, asking it would cost an exception for an unknown name, as above.
  if (iconv.encodings === null) return iconv.encodingExists(name)
  return Object.hasOwn(iconv.encodings, iconv._canonicalizeEncoding(name))
}

/** In the charsets of East Asia no letter of several bytes ends in a byte below this one. */
const FIRST_TRAIL_BYTE = 0x30

/** At most so many bytes are held back for a sound cut: no line of a mail is that long. */
const MAX_HELD_BYTES = 1024

/** So many bytes hold the hundred letters, at most, from which iconv-lite guesses the order of the bytes in a letter. */
const ORDER_BYTES = 512

/**
 * @param {string} name - known to iconv-lite
 * @returns {boolean} whether the name does not say in which order the bytes of a letter are
 */
const hasUnknownOrder = (name) => /^(utf16|utf32|ucs4)$/.test(name.replace(/[^a-z0-9]/g, ''))

/**
 * @param {string} name - known to iconv-lite
 * @returns {CharsetDecoder} of well-formed text, as the platform's: halves of surrogate pairs that stand alone in the
 *   bytes become U+FFFD, and none that the next bytes may complete is let out
 */
function iconvDecoder(name) {
  const decoder = iconv.getDecoder(name)
  const cutOf = OF_FIXED_UNITS.test(name) ? cutNowhere : soundCut
  let isBegun = !hasUnknownOrder(name)
  let held = EMPTY
  let half = ''
  return {
    push(bytes) {
      const all = held.length === 0 ? asBuffer(bytes) : Buffer.concat([held, bytes])
      isBegun ||= all.length >= ORDER_BYTES
      const end = isBegun ? cutOf(all) : 0
      held = Buffer.from(all.subarray(end))
      const text = half + decoder.write(all.subarray(0, end))
      half = HIGH_SURROGATE_AT_END.test(text) ? text.slice(-1) : ''
      return (half ? text.slice(0, -1) : text).toWellFormed()
    },
    end: () => (half + decoder.write(held) + (decoder.end() ?? '')).toWellFormed()
  }
}

/** Charsets in units of one size: iconv-lite decodes them right wherever they are cut. */
const OF_FIXED_UNITS = /^(utf|ucs)-?(16|32|2|4)/

/** @param {Buffer} bytes */
const cutNowhere = (bytes) => bytes.length

/**
 * Where a piece ends in bytes that may begin a letter of two or four bytes, and the next piece shows that they do not,
 * iconv-lite drops letters at that end. So pieces are cut behind a byte that is part of no such letter.
 *
 * @param {Buffer} bytes
 * @returns {number} how many may be decoded now
 */
function soundCut(bytes) {
  const first = Math.max(0, bytes.length - MAX_HELD_BYTES)
  for (let at = bytes.length - 1; at >= first; at--)
    if (/** @type {number} */ (bytes[at]) < FIRST_TRAIL_BYTE) return at + 1
  return bytes.length < MAX_HELD_BYTES ? 0 : bytes.length
}

/**
 * @param {string} name - known to the platform
 * @returns {CharsetDecoder}
 */
function platformDecoder(name) {
  const decoder = new TextDecoder(name)
  return {
    push: (bytes) => decoder.decode(bytes, { stream: true }),
    end: () => decoder.decode(EMPTY)
  }
}

/** UTF-8, a byte order mark at its beginning left out. Cut before a byte that begins a sequence, it decodes the same. */
class Utf8Decoder {
  #held = EMPTY
  #isBegun

  /** @param {boolean} [isBegun] - whether something stands before, so that a byte order mark is one of the letters */
  constructor(isBegun = false) {
    this.#isBegun = isBegun
  }

  /**
   * @param {Uint8Array} bytes
   * @returns {string}
   */
  push(bytes) {
    const all = joined(this.#held, bytes)
    const end = completeEnd(all)
    this.#held = Buffer.from(all.subarray(end))
    return this.#decode(all.subarray(0, end))
  }

  /** @returns {string} */
  end() {
    const rest = this.#held
    this.#held = EMPTY
    return this.#decode(rest)
  }

  /**
   * @param {Buffer} bytes
   * @returns {string}
   */
  #decode(bytes) {
    if (bytes.length === 0) return ''
    const text = bytes.toString('utf8')
    const hasMark = !this.#isBegun && text.startsWith('\uFEFF')
    this.#isBegun = true
    return hasMark ? text.slice(1) : text
  }
}

/** Takes bytes for ASCII as long as they are ASCII, and decides by the bytes from the first telling one on. */
class GuessingDecoder {
  #held = EMPTY
  #isBegun = false
  /** Whether there was an escape that opens nothing: the text is not ISO-2022-JP. */
  #hasOtherEscape = false
  /** @type {CharsetDecoder | null} */
  #decoder = null

  /**
   * @param {Uint8Array} bytes
   * @returns {string}
   */
  push(bytes) {
    if (this.#decoder) return this.#decoder.push(bytes)
    return this.#look(joined(this.#held, bytes), false)
  }

  /** @returns {string} */
  end() {
    const rest = this.#decoder ? '' : this.#look(this.#held, true)
    return this.#decoder ? rest + this.#decoder.end() : rest
  }

  /**
   * @param {Buffer} bytes
   * @param {boolean} isLast
   * @returns {string}
   */
  #look(bytes, isLast) {
    const at = this.#findTelling(bytes, isLast)
    const before = bytes.toString('latin1', 0, at)
    this.#isBegun ||= at > 0
    this.#held = EMPTY
    const sample = bytes.subarray(at, at + GUESS_BYTES)
    if (sample.length === 0) return before
    if (sample.length < GUESS_BYTES && !isLast) {
      this.#held = Buffer.from(sample)
      return before
    }
    this.#decoder = this.#decide(sample)
    return before + this.#decoder.push(bytes.subarray(at))
  }

  /**
   * @param {Buffer} bytes
   * @param {boolean} isLast
   * @returns {number} the place of the first byte that is not ASCII, or of an escape that opens two-byte characters
   */
  #findTelling(bytes, isLast) {
    const escape = this.#hasOtherEscape ? -1 : bytes.indexOf(ESCAPE)
    const plain = escape === -1 ? bytes : bytes.subarray(0, escape)
    if (!isAscii(plain)) return plain.findIndex((byte) => byte > 0x7f)
    if (escape === -1) return bytes.length
    const next = bytes[escape + 1]
    if (next === 0x24 || (next === undefined && !isLast)) return escape
    this.#hasOtherEscape = true
    return this.#findTelling(bytes, isLast)
  }

  /**
   * @param {Buffer} sample - from the telling byte on
   * @returns {CharsetDecoder}
   */
  #decide(sample) {
    if (isAscii(sample)) return new JisDecoder(platformDecoder(JIS))
    const isCut = sample.length === GUESS_BYTES
    const isValid = isUtf8(isCut ? sample.subarray(0, completeEnd(sample)) : sample)
    return isValid ? new Utf8Decoder(this.#isBegun) : iconvDecoder('windows-1252')
  }
}

/**
 * @param {Buffer} bytes
 * @returns {number} where a UTF-8 sequence begins whose end has not come, or the length of the bytes
 */
function completeEnd(bytes) {
  for (let back = 1; back <= 3 && back <= bytes.length; back++) {
    const byte = bytes[bytes.length - back] ?? 0
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needed > back ? bytes.length - back : bytes.length
  }
  return bytes.length
}
