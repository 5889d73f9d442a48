/**
 * Messages as an mbox has them, in the dialect mboxrd: each line that begins with `From `, or with `>` before that, gets one
 * more `>`, which reading takes off again.
 */
import { FROM, marksEnd } from '../import/from-line.js'

const LF = 0x0a
const MARK = Buffer.from('>')

/**
 * @param {AsyncIterable<Buffer>} chunks
 * @returns {AsyncGenerator<Buffer>}
 */
export async function* quoted(chunks) {
  let carry = Buffer.alloc(0)
  let isAtLineStart = true
  for await (const chunk of chunks) {
    const bytes = carry.length === 0 ? chunk : Buffer.concat([carry, chunk])
    const result = quoteLines(bytes, isAtLineStart, false)
    yield* result.pieces
    isAtLineStart = result.isAtLineStart
    carry = Buffer.from(bytes.subarray(result.end))
  }
  yield* quoteLines(carry, isAtLineStart, true).pieces
}

/**
 * The `>` that is added may stand anywhere among those of the line, so these are passed on at once, however many they are.
 *
 * @param {Buffer} bytes
 * @param {boolean} isAtLineStart - whether they begin a line, or stand behind `>` that does
 * @param {boolean} isLast
 * @returns {{ pieces: Buffer[], end: number, isAtLineStart: boolean }} `end`: where what must be held begins
 */
function quoteLines(bytes, isAtLineStart, isLast) {
  const pieces = []
  let pieceStart = 0
  let at = 0
  let isStart = isAtLineStart
  while (at < bytes.length) {
    const newline = bytes.indexOf(LF, at)
    if (isStart) {
      at = marksEnd(bytes, at)
      if (newline === -1 && !isLast && bytes.length - at < FROM.length) break
      if (bytes.subarray(at, at + FROM.length).equals(FROM)) {
        if (at > pieceStart) pieces.push(bytes.subarray(pieceStart, at))
        pieces.push(MARK)
        pieceStart = at
      }
    }
    isStart = newline !== -1
    at = newline === -1 ? bytes.length : newline + 1
  }
  if (at > pieceStart) pieces.push(bytes.subarray(pieceStart, at))
  return { pieces, end: at, isAtLineStart: isStart }
}
