/**
 * Character classes of the IMAP grammar as 256-entry tables, RFC 9051 §9. A table lookup is one load; the
 * tokenizer asks once for each byte.
 */

export const CR = 13
export const LF = 10
export const SPACE = 32
export const DOUBLE_QUOTE = 34
export const LEFT_PARENTHESIS = 40
export const RIGHT_PARENTHESIS = 41
export const PLUS = 43
export const LEFT_BRACKET = 91
export const BACKSLASH = 92
const RIGHT_BRACKET = 93
export const LEFT_BRACE = 123
export const RIGHT_BRACE = 125
export const TILDE = 126

/**
 * @param {(code: number) => boolean} isMember
 * @returns {Uint8Array} 1 for each member
 */
function table(isMember) {
  return Uint8Array.from({ length: 256 }, (_, code) => (isMember(code) ? 1 : 0))
}

/** @param {string} characters */
const codesOf = (characters) => new Set(Buffer.from(characters, 'latin1'))

const atomSpecials = codesOf('(){ %*"\\]')
const delimiters = codesOf('(){ "')

/** @param {number} code */
const isPrintable = (code) => code > 32 && code < 127

/** ATOM-CHAR, RFC 9051 §9: printable ASCII without atom-specials. */
export const ATOM_CHARACTER = table((code) => isPrintable(code) && !atomSpecials.has(code))

/** ASTRING-CHAR, RFC 9051 §9: ATOM-CHAR and `]`. */
export const ASTRING_CHARACTER = table(
  (code) => ATOM_CHARACTER[code] === 1 || code === RIGHT_BRACKET
)

/** A character of an astring without quotes: ASTRING-CHAR and raw 8-bit, which some clients send in mailbox names. */
export const RAW_ASTRING_CHARACTER = table((code) => ASTRING_CHARACTER[code] === 1 || code >= 128)

/** A tag's character, RFC 9051 §9: ASTRING-CHAR without `+`. */
export const TAG_CHARACTER = table((code) => ASTRING_CHARACTER[code] === 1 && code !== PLUS)

/**
 * A character of what the tokenizer keeps together as one bare word: wider than an atom, because sequence sets hold `*`,
 * LIST patterns `%`, flags `\`, sections `]`, and some clients send raw 8-bit mailbox names. The readers above check which
 * of these their argument allows.
 */
export const WORD_CHARACTER = table(
  (code) => code >= 128 || (isPrintable(code) && !delimiters.has(code))
)

/** A character of a quoted string without a backslash: not NUL, CR, LF, `"`, `\`; 8-bit is UTF-8, RFC 9051 §9. */
export const QUOTED_CHARACTER = table(
  (code) => code !== 0 && code !== CR && code !== LF && code !== DOUBLE_QUOTE && code !== BACKSLASH
)

/**
 * @param {Uint8Array} characters - a table of this file
 * @param {Uint8Array} bytes
 * @returns {boolean} whether every byte is in the table; true for no bytes
 */
export function isAll(characters, bytes) {
  for (let index = 0; index < bytes.length; index += 1)
    if (characters[/** @type {number} */ (bytes[index])] !== 1) return false
  return true
}

/**
 * @param {Uint8Array} characters - a table of this file
 * @param {string} text - of characters up to U+00FF
 * @returns {boolean} whether every character is in the table; false for the empty string
 */
export function isWordOf(characters, text) {
  for (let index = 0; index < text.length; index += 1)
    if (characters[text.charCodeAt(index)] !== 1) return false
  return text.length > 0
}
