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

/** Shorter runs are not worth their entry, bytes. */
const MIN_RUN_BYTES = 1024
/** Shorter lines are not written by mail programs; 76 is what most write. */
const MIN_LINE = 56
/** The longest line that SMTP permits, RFC 5321 §4.5.3.1.6. */
const MAX_LINE = 996
/** How far apart a chunk is looked at for lines that might belong to a run; below half of the shortest run. */
const STEP = 480
const COUNT_BYTES = 2
const ENTRY_BYTES = 10
const CR = 13
const LF = 10

const ALPHABET = Buffer.from('ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/')
const NO_VALUE = 255
/** What each character stands for. */
const VALUES = new Uint8Array(256).fill(NO_VALUE)
for (const [value, code] of ALPHABET.entries()) VALUES[code] = value

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
    if (VALUES[/** @type {number} */ (raw[at])] === NO_VALUE) return false
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
 * @returns {boolean} false: it is damaged, and what was written is worth nothing
 */
export function unpackBase64(packed, target, at, size) {
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
    to = encodeLines(packed, from, target, to, line, lines)
    from += bytes
  }
  const rest = packed.length - from
  if (rest < 0 || to + rest !== end) return false
  packed.copy(target, to, from)
  return true
}

/**
 * Without a string in between: a long message would leave its whole length of them to the garbage collector.
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
  const value = (/** @type {number} */ at) =>
    /** @type {number} */ (VALUES[/** @type {number} */ (source[at])])
  let read = from
  let write = to
  for (let left = lines; left > 0; left--, read += 2) {
    for (const end = read + line; read < end; read += 4, write += 3) {
      const high = (value(read) << 18) | (value(read + 1) << 12)
      const bits = high | (value(read + 2) << 6) | value(read + 3)
      target[write] = bits >> 16
      target[write + 1] = (bits >> 8) & 255
      target[write + 2] = bits & 255
    }
  }
  return write
}

/** Two characters for each 12 bits, as they lie in memory. */
const PAIRS = new Uint16Array(4096)
/** The same for a line end. */
const LINE_END = new Uint16Array(Uint8Array.of(CR, LF).buffer)[0] ?? 0
for (let bits = 0; bits < PAIRS.length; bits++) {
  const pair = Uint8Array.of(ALPHABET[bits >> 6] ?? 0, ALPHABET[bits & 63] ?? 0)
  PAIRS[bits] = new Uint16Array(pair.buffer)[0] ?? 0
}

/** Where lines are made, two characters at a time: a target may begin at an odd byte. */
let pairs = new Uint16Array(0)

/**
 * @param {Buffer} source
 * @param {number} from
 * @param {Buffer} target
 * @param {number} to
 * @param {number} line - characters
 * @param {number} lines
 * @returns {number} behind the last line end in the target
 */
function encodeLines(source, from, target, to, line, lines) {
  const count = ((line + 2) / 2) * lines
  if (pairs.length < count) pairs = new Uint16Array(count)
  const made = pairs
  let read = from
  let write = 0
  for (let left = lines; left > 0; left--) {
    for (const end = write + line / 2; write < end; write += 2, read += 3) {
      const first = /** @type {number} */ (source[read])
      const second = /** @type {number} */ (source[read + 1])
      const third = /** @type {number} */ (source[read + 2])
      made[write] = /** @type {number} */ (PAIRS[(first << 4) | (second >> 4)])
      made[write + 1] = /** @type {number} */ (PAIRS[((second & 15) << 8) | third])
    }
    made[write++] = LINE_END
  }
  target.set(new Uint8Array(made.buffer, 0, count * 2), to)
  return to + count * 2
}
