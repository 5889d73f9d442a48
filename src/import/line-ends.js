/**
 * The shapes of a message's bytes outside a mail server, and what IMAP wants: every line ended by CRLF
 * (RFC 5322 §2.3, RFC 9051 §2.3.1). All of it streams.
 */
import { FROM } from './from-line.js'

const LF = 0x0a
const CR = 0x0d

/** A From_ line, of a sender and a date, has at most so many bytes; a longer line is none. */
export const MAX_FROM_LINE_BYTES = 2048

/** How a line `Name: value` begins, RFC 5322 §2.2. */
export const HEADER_FIELD = /^[!-9;-~]+[ \t]*:/

/**
 * Turns bare LF into CRLF; a bare CR stays, because nobody knows what it was meant to be.
 *
 * @param {AsyncIterable<Buffer>} chunks
 * @returns {AsyncGenerator<Buffer>}
 */
export async function* withCrlf(chunks) {
  let isAfterCr = false
  for await (const chunk of chunks) {
    if (chunk.length === 0) continue
    yield normalise(chunk, isAfterCr)
    isAfterCr = chunk.at(-1) === CR
  }
}

/**
 * @param {Buffer} chunk
 * @param {boolean} isAfterCr - whether the byte before the chunk is a CR
 * @returns {Buffer} the chunk itself when there is nothing to do
 */
function normalise(chunk, isAfterCr) {
  const isBare = (/** @type {number} */ at) => (at === 0 ? !isAfterCr : chunk[at - 1] !== CR)
  let bare = 0
  for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, at + 1)) {
    if (isBare(at)) bare++
  }
  if (bare === 0) return chunk
  const out = Buffer.allocUnsafe(chunk.length + bare)
  let from = 0
  let to = 0
  for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, at + 1)) {
    if (!isBare(at)) continue
    to += chunk.copy(out, to, from, at)
    out[to++] = CR
    from = at
  }
  chunk.copy(out, to, from)
  return out
}

/**
 * Drops a leading mbox line (`From sender date`), which is no part of the message.
 *
 * @param {AsyncIterable<Buffer>} chunks
 * @param {(line: Buffer) => void} [onFromLine] - is given the dropped line without its line end
 * @returns {AsyncGenerator<Buffer>}
 */
export async function* withoutFromLine(chunks, onFromLine) {
  /** @type {Buffer | null} */
  let head = Buffer.alloc(0)
  for await (const chunk of chunks) {
    if (head === null) {
      yield chunk
      continue
    }
    head = head.length === 0 ? chunk : Buffer.concat([head, chunk])
    const end = fromLineEnd(head)
    if (end === undefined) continue
    if (end > 0) onFromLine?.(trimLineEnd(head.subarray(0, end)))
    if (end < head.length) yield head.subarray(end)
    head = null
  }
  if (head !== null && head.length > 0) yield head
}

/**
 * @param {Buffer} head - the first bytes of a message
 * @returns {number | undefined} where the message begins; undefined: more bytes are needed to tell
 */
function fromLineEnd(head) {
  const known = Math.min(head.length, FROM.length)
  if (head.compare(FROM, 0, known, 0, known) !== 0) return 0
  const end = head.indexOf(LF)
  if (end !== -1) return end < MAX_FROM_LINE_BYTES ? end + 1 : 0
  return head.length < MAX_FROM_LINE_BYTES ? undefined : 0
}

/**
 * @param {Buffer} line
 * @returns {Buffer} without LF or CRLF at its end
 */
export function trimLineEnd(line) {
  let end = line.length
  if (end > 0 && line[end - 1] === LF) end--
  if (end > 0 && line[end - 1] === CR) end--
  return line.subarray(0, end)
}
