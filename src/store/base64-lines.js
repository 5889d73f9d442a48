/**
 * Attachments are base64 (RFC 2045 §6.8), which is a third longer than what it stands for and hides from compression what
 * repeats in it. A chunk is kept in fewer bytes with the bytes in place of their base64, where the way back gives the same
 * text to the byte: full lines of one length, a multiple of four, each ended by CRLF. What stands before, between and
 * behind them, the last short line with its padding too, is kept as it is.
 *
 *     2 bytes   number of runs; then for each run
 *     4 bytes     bytes of text before it
 *     2 bytes     characters of a line
 *     4 bytes     lines
 *     …         text before the first run, bytes of the first run, text before the second, …, the rest of the text
 *
 * Numbers have their lowest byte first.
 */
import { BASE64_ALPHABET } from '../support/base64-alphabet.js'

/** Shorter runs are not worth their entry, bytes. */
const MIN_RUN_BYTES = 1024
/** Shorter lines are not written by mail programs; 76 is what most write. */
export const MIN_LINE = 56
/** The longest line that SMTP permits, RFC 5321 §4.5.3.1.6. */
export const MAX_LINE = 996
/** How far apart a chunk is looked at for lines that might belong to a run; below half of the shortest run. */
const STEP = 480
const COUNT_BYTES = 2
const ENTRY_BYTES = 10
const CR = 13
const LF = 10

/** 1 for each character of the alphabet. */
const IS_BASE64 = new Uint8Array(256)
for (const code of Buffer.from(BASE64_ALPHABET)) IS_BASE64[code] = 1

/**
 * @typedef {object} Run
 * @property {number} start - first byte of its first line
 * @property {number} line - characters of a line
 * @property {number} lines
 */

/**
 * @param {Buffer} raw
 * @param {number} at
 * @returns {boolean} whether a line ends there
 */
const isEnded = (raw, at) => raw[at] === CR && raw[at + 1] === LF

/**
 * @param {Buffer} raw
 * @param {number} start
 * @param {number} line
 * @returns {boolean} whether a line of that length stands there, of base64 alone
 */
function isLine(raw, start, line) {
  const end = start + line
  if (!isEnded(raw, end)) return false
  for (let at = start; at < end; at++) {
    if (IS_BASE64[/** @type {number} */ (raw[at])] === 0) return false
  }
  return true
}

/**
 * @param {Buffer} raw
 * @param {number} from - first byte that no run has
 * @param {number} start - where a line begins
 * @returns {Run | null} all lines of the same length around this one, if it is base64
 */
function runAround(raw, from, start) {
  const line = raw.indexOf(CR, start) - start
  if (line < MIN_LINE || line > MAX_LINE || line % 4 !== 0 || !isLine(raw, start, line)) return null
  const stride = line + 2
  // Of its neighbours only the length is looked at, but for those at both ends, where padding and other text stand: what
  // the others hold shows when they are decoded.
  let first = start
  while (first - stride >= from && isEnded(raw, first - stride + line)) first -= stride
  let end = start + stride
  while (isEnded(raw, end + line)) end += stride
  // What precedes may be the end of a longer line.
  if (first > from && raw[first - 1] !== LF) first += stride
  while (first < start && !isLine(raw, first, line)) first += stride
  while (end - stride > start && !isLine(raw, end - stride, line)) end -= stride
  const lines = (end - first) / stride
  return end - first < MIN_RUN_BYTES ? null : { start: first, line, lines }
}

/**
 * @param {Buffer} raw
 * @returns {Run[]} in their order
 */
function findRuns(raw) {
  /** @type {Run[]} */
  const runs = []
  let from = 0
  for (let at = 0; at + MIN_RUN_BYTES / 2 < raw.length;) {
    const lineEnd = raw.indexOf(LF, at)
    if (lineEnd < 0) break
    const run = runAround(raw, from, lineEnd + 1)
    if (run === null) at = Math.max(at + STEP, lineEnd)
    else {
      runs.push(run)
      at = from = run.start + run.lines * (run.line + 2)
    }
  }
  return runs
}

/**
 * Two, of the size of a chunk: one to decode into, one for the way back. Made once, or a long message makes hundreds.
 *
 * @type {[Buffer, Buffer]}
 */
const scratch = [Buffer.alloc(0), Buffer.alloc(0)]

/**
 * @param {0 | 1} which
 * @param {number} bytes
 * @returns {Buffer} valid until somebody else asks for it
 */
function scratchOf(which, bytes) {
  if (scratch[which].length < bytes) scratch[which] = Buffer.allocUnsafeSlow(bytes)
  return scratch[which].subarray(0, bytes)
}

/**
 * @param {Buffer} raw - of a chunk
 * @returns {Buffer | null} as above, valid until the next call; null when there is no base64 in it
 */
export function packBase64(raw) {
  const runs = findRuns(raw)
  if (runs.length === 0) return null
  const saved = runs.reduce((sum, { line, lines }) => sum + lines * (line / 4 + 2), 0)
  const textAt = COUNT_BYTES + runs.length * ENTRY_BYTES
  const packed = scratchOf(0, textAt + raw.length - saved)
  let entry = packed.writeUInt16LE(runs.length, 0)
  let to = textAt
  let from = 0
  for (const { start, line, lines } of runs) {
    entry = packed.writeUInt32LE(start - from, entry)
    entry = packed.writeUInt16LE(line, entry)
    entry = packed.writeUInt32LE(lines, entry)
    to += raw.copy(packed, to, from, start)
    from = start + lines * (line + 2)
    to = decodeLines(raw, start, packed, to, line, lines)
  }
  raw.copy(packed, to, from)
  // Nothing is kept in this form of which it has not been seen that it gives the same bytes.
  const again = scratchOf(1, raw.length)
  return unpackBase64(packed, again, 0, raw.length) && again.equals(raw) ? packed : null
}

/**
 * @param {Buffer} packed - of packBase64
 * @param {Buffer} target
 * @param {number} at - where in it
 * @param {number} size - bytes that the chunk has
 * @param {number} [wanted] - of the first of them: those behind them may be left out
 * @returns {boolean} false: it is damaged, and what was written is worth nothing
 */
export function unpackBase64(packed, target, at, size, wanted = size) {
  if (packed.length < COUNT_BYTES) return false
  const count = packed.readUInt16LE(0)
  const end = at + size
  let from = COUNT_BYTES + count * ENTRY_BYTES
  let to = at
  for (let index = 0, entry = COUNT_BYTES; index < count; index++, entry += ENTRY_BYTES) {
    if (from > packed.length) return false
    const text = packed.readUInt32LE(entry)
    const line = packed.readUInt16LE(entry + 4)
    const lines = packed.readUInt32LE(entry + 6)
    const bytes = (line / 4) * 3 * lines
    if (line % 4 !== 0 || from + text + bytes > packed.length) return false
    if (to + text + (line + 2) * lines > end) return false
    to += packed.copy(target, to, from, from + text)
    from += text
    const linesWanted = Math.max(0, Math.ceil((at + wanted - to) / (line + 2)))
    to = encodeLines(packed, from, target, to, line, Math.min(lines, linesWanted))
    if (linesWanted < lines) return true
    from += bytes
  }
  const rest = packed.length - from
  if (rest < 0 || to + rest !== end) return false
  packed.copy(target, to, from)
  return true
}

/**
 * Characters that are a string at a time. Node's own conversion is some times faster than a loop over bytes, but goes by
 * strings: short ones are gone before the garbage collector would have to copy them.
 */
const PIECE_CHARACTERS = 8 * 1024

/**
 * @param {number} line - characters
 * @returns {number} lines of a piece
 */
const linesInPiece = (line) => Math.max(1, Math.floor(PIECE_CHARACTERS / Math.max(1, line)))

/**
 * What is no base64 after all decodes to something as well, perhaps to fewer bytes: the caller has to check the result.
 *
 * @param {Buffer} source
 * @param {number} from - where the first line begins
 * @param {Buffer} target
 * @param {number} to
 * @param {number} line - characters
 * @param {number} lines
 * @returns {number} behind the last byte in the target
 */
function decodeLines(source, from, target, to, line, lines) {
  const most = linesInPiece(line)
  for (let done = 0; done < lines; done += most) {
    const at = from + done * (line + 2)
    const count = Math.min(most, lines - done)
    const bytes = (line / 4) * 3 * count
    // The decoder passes over line ends.
    target.write(source.toString('latin1', at, at + count * (line + 2)), to, bytes, 'base64')
    to += bytes
  }
  return to
}

/**
 * @param {Buffer} source
 * @param {number} from
 * @param {Buffer} target
 * @param {number} to
 * @param {number} line - characters
 * @param {number} lines
 * @returns {number} behind the last line end in the target
 */
export function encodeLines(source, from, target, to, line, lines) {
  const most = linesInPiece(line)
  let [read, write] = [from, to]
  for (let done = 0; done < lines; done += most) {
    const count = Math.min(most, lines - done)
    const bytes = (line / 4) * 3 * count
    // At the end of its room, from where each line moves to its place.
    let at = write + 2 * count
    target.write(source.toString('base64', read, read + bytes), at, 'latin1')
    read += bytes
    for (let left = count; left > 0; left--, at += line) {
      target.copyWithin(write, at, at + line)
      write += line
      target[write++] = CR
      target[write++] = LF
    }
  }
  return write
}
