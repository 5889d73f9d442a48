/**
 * Base64 parts of a message that others may have too: which they are, and what they decode to.
 */
import { createHash } from 'node:crypto'
import { decodePartTree } from '../../mime/part-tree.js'
import { releaseBuffer } from '../../support/release-buffer.js'
import { MAX_LINE, MIN_LINE } from '../base64-lines.js'
import { readContentRange } from '../content-reader.js'
import { RangeReader } from '../search/message-text.js'
import { decodedSize } from './base64-text.js'

/**
 * @typedef {import('../../mime/part-tree.js').PartNode} PartNode
 * @typedef {import('./base64-text.js').TextShape} TextShape
 * @typedef {import('./part-rows.js').PartPlace} PartPlace
 * @typedef {Pick<import('../account-database.js').AccountDatabase, 'readSettled'>} Source
 */

/** A shorter text is not worth a row of its own, bytes: most are the little pictures of signatures. */
const MIN_TEXT_BYTES = 4 * 1024

const LINE_END_BYTES = 2
const CR = 13
const LF = 10
const PADDING = 61

/** Bytes of a text that are looked at, at its beginning and again at its end: the shortest text has both. */
const SAMPLE_TEXT_BYTES = MIN_TEXT_BYTES / 2

/** Decoded bytes of either that are hashed: there are so many whatever the lines are, which have at most half of the text. */
const SAMPLE_BYTES = 512

/** Of a hash, as many as a number holds. */
const SHORT_HASH_BYTES = 6

/** Bytes of text that are made a string at a time: strings of this size die young. */
const PIECE_BYTES = 16 * 1024

/** @param {number} line - characters */
const isLineLength = (line) => line >= MIN_LINE && line <= MAX_LINE && line % 4 === 0

/**
 * @param {PartNode} node
 * @returns {{ start: number, end: number }[]} where texts stand that are long enough, in their order
 */
export function base64Texts({ headerEnd, bodyEnd, encoding, children }) {
  if (children.length > 0) return children.flatMap(base64Texts)
  const isOne = encoding === 'base64' && bodyEnd - headerEnd >= MIN_TEXT_BYTES
  return isOne ? [{ start: headerEnd, end: bodyEnd }] : []
}

/**
 * Looks only at the beginning and at the end of each such part: nearly all parts are in no other message.
 *
 * @param {Source} database
 * @param {number} contentId
 * @param {Buffer} partTree - of src/mime/part-tree.js
 * @returns {Promise<PartPlace[]>} those that may be written as base64-text.js writes them
 * @throws {import('../../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
export async function findParts(database, contentId, partTree) {
  const texts = base64Texts(decodePartTree(partTree))
  const readContent = (
    /** @type {number} */ id,
    /** @type {number} */ start,
    /** @type {number} */ end
  ) => readContentRange(database, id, start, end)
  const reader = new RangeReader({ readContent }, { contentId })
  try {
    /** @type {PartPlace[]} */
    const places = []
    for (const text of texts) {
      const place = await samplePart(reader, text)
      if (place !== null) places.push({ contentId, start: text.start, ...place })
    }
    return places
  } finally {
    reader.release()
  }
}

/**
 * @param {RangeReader} reader
 * @param {{ start: number, end: number }} text - of at least MIN_TEXT_BYTES
 * @returns {Promise<(TextShape & { sample: number }) | null>} null: it is not written so
 */
async function samplePart(reader, { start, end }) {
  const head = (await reader.read(start, start + SAMPLE_TEXT_BYTES)).toString('latin1')
  const tail = (await reader.read(end - SAMPLE_TEXT_BYTES, end)).toString('latin1').trimEnd()
  const line = head.indexOf('\r\n')
  const padding = tail.endsWith('==') ? 2 : tail.endsWith('=') ? 1 : 0
  // `trimEnd` has taken away from `tail` what stands behind the text.
  const bytes = end - start - (SAMPLE_TEXT_BYTES - tail.length)
  const size = isLineLength(line) ? decodedSize({ line, bytes, padding }) : null
  if (size === null || bytes < MIN_TEXT_BYTES) return null
  const first = Buffer.from(head, 'base64')
  // A line begins a group of four characters.
  const last = Buffer.from(tail.slice(tail.indexOf('\r\n') + 2), 'base64')
  const hash = createHash('sha256')
    .update(first.subarray(0, SAMPLE_BYTES))
    .update(last.subarray(-SAMPLE_BYTES))
  return { line, size, sample: hash.digest().readUIntBE(0, SHORT_HASH_BYTES) }
}

/**
 * @param {Source} database
 * @param {{ contentId: number, start: number, end: number }} text - in a message; what stands behind its last line is passed over
 * @param {(decoded: Buffer) => unknown} onDecoded - called with all of it in turn; waited for
 * @returns {Promise<TextShape | null>} null: it is not written as base64-text.js writes it
 * @throws {import('../../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
export async function decodeText(database, { contentId, start, end }, onDecoded) {
  /** The beginning of a line whose end is not read yet. */
  let rest = Buffer.alloc(0)
  let line = 0
  let lineCount = 0
  let isOver = false
  for await (const piece of readContentRange(database, contentId, start, end)) {
    if (isOver) {
      releaseBuffer(piece)
      continue
    }
    const text = Buffer.concat([rest, piece])
    releaseBuffer(piece)
    if (line === 0) {
      const lineEnd = text.indexOf(CR)
      // The chunk may end within the first line.
      if (lineEnd < 0 && text.length <= MAX_LINE) {
        rest = text
        continue
      }
      line = lineEnd
    }
    if (!isLineLength(line)) return null
    const lines = countLines(text, line)
    const stride = line + LINE_END_BYTES
    if (!(await decodePieces(text.subarray(0, lines * stride), line, onDecoded))) return null
    lineCount += lines
    rest = text.subarray(lines * stride)
    isOver = rest.length >= stride
  }
  return line === 0 ? null : await decodeLast(rest, { line, lineCount }, onDecoded)
}

/**
 * @param {Buffer} text - that begins with a line
 * @param {number} line - characters
 * @returns {number} lines of that length, in a row
 */
function countLines(text, line) {
  let end = line
  while (end + 1 < text.length && text[end] === CR && text[end + 1] === LF)
    end += line + LINE_END_BYTES
  return (end - line) / (line + LINE_END_BYTES)
}

/**
 * @param {Buffer} text - full lines
 * @param {number} line - characters
 * @param {(decoded: Buffer) => unknown} onDecoded
 * @returns {Promise<boolean>} false: it is not base64 alone
 */
async function decodePieces(text, line, onDecoded) {
  const stride = line + LINE_END_BYTES
  const step = Math.ceil(PIECE_BYTES / stride) * stride
  for (let at = 0; at < text.length; at += step) {
    const piece = text.subarray(at, at + step)
    const decoded = Buffer.from(piece.toString('latin1'), 'base64')
    if (decoded.length !== (piece.length / stride) * (line / 4) * 3) return false
    await onDecoded(decoded)
  }
  return true
}

/**
 * @param {Buffer} rest - behind the full lines: a shorter one, or nothing; and whatever comes behind that
 * @param {{ line: number, lineCount: number }} before
 * @param {(decoded: Buffer) => unknown} onDecoded
 * @returns {Promise<TextShape | null>} as above
 */
async function decodeLast(rest, { line, lineCount }, onDecoded) {
  const lineEnd = rest.indexOf(CR)
  const last = rest.subarray(0, lineEnd < 0 ? rest.length : lineEnd)
  const padding = last.at(-1) !== PADDING ? 0 : last.at(-2) !== PADDING ? 1 : 2
  const isWhole = last.length === 0
  const bytes = lineCount * (line + LINE_END_BYTES) + (isWhole ? -LINE_END_BYTES : last.length)
  const size = decodedSize({ line, bytes, padding })
  if (size === null) return null
  const decoded = Buffer.from(last.toString('latin1'), 'base64')
  if (decoded.length !== (last.length / 4) * 3 - padding) return null
  if (!isWhole) await onDecoded(decoded)
  return { line, size }
}
