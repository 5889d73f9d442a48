/**
 * Lines as bytes: passwords are bytes, and must not become strings that nobody can zero.
 */
import { CliError } from './cli-error.js'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d

/** UTF-8's byte order mark: some editors write it before the first line, and do not show it. */
const MARK = Buffer.of(0xef, 0xbb, 0xbf)

/**
 * Each line has memory of its own, which the caller zeroes; what was read on the way is zeroed here.
 *
 * @param {AsyncIterable<string | Buffer>} stream
 * @param {{ maxBytes: number }} options - of one line
 * @returns {AsyncGenerator<Buffer, void, void>} lines without their ends, LF or CRLF, and the first
 *   without a byte order mark
 * @throws {CliError} where a line is longer
 */
export async function* byteLines(stream, { maxBytes }) {
  /** @type {Buffer} */
  let rest = Buffer.alloc(0)
  let joined = rest
  let isFirst = true
  const take = (/** @type {Buffer} */ bytes) => {
    const line = lineOf(isFirst ? withoutMark(bytes) : bytes, maxBytes)
    isFirst = false
    return line
  }
  try {
    for await (const piece of stream) {
      const chunk = typeof piece === 'string' ? Buffer.from(piece, 'utf8') : piece
      joined = Buffer.alloc(rest.length + chunk.length)
      rest.copy(joined)
      chunk.copy(joined, rest.length)
      rest.fill(0)
      chunk.fill(0)
      let start = 0
      for (let end; (end = joined.indexOf(LINE_FEED, start)) !== -1; start = end + 1) {
        yield take(joined.subarray(start, end))
      }
      rest = Buffer.alloc(joined.length - start)
      joined.copy(rest, 0, start)
      joined.fill(0)
      if (rest.length > MARK.length + maxBytes + 1) refuse(maxBytes)
    }
    if (rest.length > 0) yield take(rest)
  } finally {
    // Zeroed also where a line is too long, or the reader takes one and leaves.
    joined.fill(0)
    rest.fill(0)
  }
}

/**
 * @param {Buffer} bytes
 * @returns {Buffer} the same memory
 */
const withoutMark = (bytes) =>
  bytes.subarray(0, MARK.length).equals(MARK) ? bytes.subarray(MARK.length) : bytes

/**
 * @param {Buffer} bytes
 * @param {number} maxBytes
 * @returns {Buffer}
 */
function lineOf(bytes, maxBytes) {
  const length = bytes.at(-1) === CARRIAGE_RETURN ? bytes.length - 1 : bytes.length
  if (length > maxBytes) refuse(maxBytes)
  const line = Buffer.alloc(length)
  bytes.copy(line, 0, 0, length)
  return line
}

/**
 * @param {number} maxBytes
 * @returns {never}
 */
function refuse(maxBytes) {
  throw new CliError(`A line of the input has over ${maxBytes} bytes`, { exitCode: 2 })
}
