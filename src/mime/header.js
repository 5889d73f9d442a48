/**
 * Header blocks as bytes: fields with their places, unfolding, no decoding. RFC 5322 §2.2, §4.5.
 *
 * Reading is lenient: a line without a colon is no field and is passed over; white space (and NUL, which some programs leave
 * there) before the colon is allowed, and so is a byte order mark before the first field; the block ends at its first blank
 * line, or where the bytes end.
 *
 * @typedef {import('./byte-writer.js').ByteString} ByteString
 */
const LF = 10
const CR = 13
const SPACE = 32
const TAB = 9
const COLON = 58

/** The byte order mark of UTF-8. */
const BYTE_ORDER_MARK = Buffer.of(0xef, 0xbb, 0xbf)

/** So many bytes show whether there is a byte order mark. */
export const MARK_BYTES = BYTE_ORDER_MARK.length

/**
 * @param {Buffer} bytes
 * @returns {number} where they begin behind a byte order mark; 0 where there is none
 */
export function markEnd(bytes) {
  if (bytes[0] !== BYTE_ORDER_MARK[0]) return 0
  return bytes.subarray(0, MARK_BYTES).equals(BYTE_ORDER_MARK) ? MARK_BYTES : 0
}

/**
 * @typedef {object} HeaderField
 * @property {ByteString} name - as written
 * @property {string} lowerName
 * @property {Buffer} value - the raw bytes after the colon, folds and the last line end included; a view
 * @property {number} start - offset of the name in the block
 * @property {number} end - offset after the last line end of the field
 */

/**
 * Walks over the fields of a header block without making objects, so that a megabyte of one-letter fields costs
 * time and no memory.
 *
 * @param {Buffer} block
 * @param {(start: number, nameEnd: number, valueStart: number, end: number) => void} visit - offsets in the block;
 *   for a line that is no field `nameEnd` is -1
 * @param {number} [from] - where the first line begins
 * @returns {number} offset after the blank line, or the block's length
 */
export function scanHeader(block, visit, from = firstFieldAt(block)) {
  const newline = newlineOf(block)
  let at = from
  while (at < block.length) {
    let lineEnd = lineEndAfter(block, at, newline)
    if (isBlankLine(block, at, lineEnd)) return lineEnd
    const start = at
    const firstLineEnd = lineEnd
    at = lineEnd
    while (at < block.length && (block[at] === SPACE || block[at] === TAB)) {
      lineEnd = lineEndAfter(block, at, newline)
      at = lineEnd
    }
    const colon = indexWithin(block, COLON, start, firstLineEnd)
    const first = block[start]
    if (colon <= start || first === SPACE || first === TAB) visit(start, -1, start, lineEnd)
    else {
      let nameEnd = colon
      while (nameEnd > start && isNamePadding(block[nameEnd - 1])) nameEnd--
      visit(start, nameEnd, colon + 1, lineEnd)
    }
  }
  return block.length
}

/**
 * Skips a byte order mark: programs for Windows put one before the first field of the messages that they save, and others
 * attach these as they are.
 *
 * @param {Buffer} bytes - a message, or the header block of one or of a part
 * @returns {number} where the first field begins
 */
export function firstFieldAt(bytes) {
  const at = markEnd(bytes)
  // A line with the mark alone is no field, and no blank line.
  return bytes[at] === CR || bytes[at] === LF ? 0 : at
}

/**
 * @param {Buffer} block - the header block of a message, with or without its blank line
 * @returns {HeaderField[]} in their order; lines that are no field are left out
 */
export function parseHeaderFields(block) {
  /** @type {HeaderField[]} */
  const fields = []
  scanHeader(block, (start, nameEnd, valueStart, end) => {
    if (nameEnd === -1) return
    const name = block.toString('latin1', start, nameEnd)
    const value = block.subarray(valueStart, end)
    fields.push({ name, lowerName: name.toLowerCase(), value, start, end })
  })
  return fields
}

/**
 * Takes the line ends out of a field's value and trims it: RFC 5322 §2.2.3. A bare CR or LF within becomes a space.
 *
 * @param {ByteString} text
 * @returns {ByteString}
 */
export function unfoldText(text) {
  const trimmed = trimSpace(text)
  if (!trimmed.includes('\n') && !trimmed.includes('\r')) return trimmed
  return trimmed.replace(/[\r\n]+[ \t]|[\r\n]+/g, (fold) => (fold.endsWith('\t') ? '\t' : ' '))
}

/**
 * Trims header white space only: `String.trim` would eat 0xA0, which in a byte string is part of a character.
 * @param {ByteString} text
 * @returns {ByteString}
 */
export function trimSpace(text) {
  let from = 0
  let to = text.length
  while (from < to && isSpace(text.charCodeAt(from))) from++
  while (to > from && isSpace(text.charCodeAt(to - 1))) to--
  return from === 0 && to === text.length ? text : text.slice(from, to)
}

/**
 * @param {Buffer} block
 * @returns {number} the byte that ends lines here: LF, or CR where there is no LF at all
 */
export function newlineOf(block) {
  return !block.includes(LF) && block.includes(CR) ? CR : LF
}

/**
 * @param {number} code - a byte
 * @returns {boolean} whether it is space, tab, CR or LF
 */
export function isSpace(code) {
  return code === SPACE || code === TAB || code === LF || code === CR
}

/**
 * @param {number | undefined} byte
 * @returns {boolean} what may stand between a field's name and its colon
 */
function isNamePadding(byte) {
  return byte === SPACE || byte === TAB || byte === 0
}

/**
 * @param {Buffer} block
 * @param {number} at
 * @param {number} newline
 * @returns {number} offset after the line
 */
function lineEndAfter(block, at, newline) {
  const end = block.indexOf(newline, at)
  return end === -1 ? block.length : end + 1
}

/**
 * @param {Buffer} block
 * @param {number} from
 * @param {number} to
 * @returns {boolean} whether the line holds nothing but its line end
 */
function isBlankLine(block, from, to) {
  for (let at = from; at < to; at++) if (block[at] !== CR && block[at] !== LF) return false
  return true
}

/**
 * @param {Buffer} block
 * @param {number} byte
 * @param {number} from
 * @param {number} to
 * @returns {number} the first place of the byte before `to`, or -1
 */
function indexWithin(block, byte, from, to) {
  for (let at = from; at < to; at++) if (block[at] === byte) return at
  return -1
}
