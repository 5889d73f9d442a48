/**
 * A base64 part as mail programs write it: lines of one length, each but the last ended by CRLF, the last one as long as it
 * comes, with its padding (RFC 2045 §6.8). Its text follows from the decoded bytes and the length of a line, and any range of it
 * from some of those bytes.
 */
import { encodeLines } from '../base64-lines.js'
import { releaseBuffer, takeBuffer } from '../../support/release-buffer.js'

/**
 * @typedef {object} TextShape
 * @property {number} line - characters of a line, a multiple of four
 * @property {number} size - decoded bytes, at least 1
 */

const LINE_END_BYTES = 2

/**
 * @param {TextShape} shape
 * @returns {number} bytes of its text, up to the last character
 */
export function textBytes({ line, size }) {
  const characters = Math.ceil(size / 3) * 4
  return characters + LINE_END_BYTES * (Math.ceil(characters / line) - 1)
}

/**
 * @param {{ line: number, bytes: number, padding: number }} text - as it stands in a message; `padding`: characters
 * @returns {number | null} decoded bytes; null: no such text has that length
 */
export function decodedSize({ line, bytes, padding }) {
  const stride = line + LINE_END_BYTES
  const last = bytes % stride
  if (last === 0 || last > line || last % 4 !== 0) return null
  const size = ((Math.floor(bytes / stride) * line + last) / 4) * 3 - padding
  return size > 0 ? size : null
}

/**
 * @param {TextShape} shape
 * @param {{ from: number, to: number }} range - of its text; not empty
 * @returns {{ start: number, end: number }} decoded bytes that it is made of: those of whole lines
 */
export function decodedRange({ line, size }, { from, to }) {
  const stride = line + LINE_END_BYTES
  const lineBytes = (line / 4) * 3
  return {
    start: Math.floor(from / stride) * lineBytes,
    end: Math.min(size, (Math.floor((to - 1) / stride) + 1) * lineBytes)
  }
}

/**
 * @param {Buffer} decoded - of `decodedRange`
 * @param {{ line: number, from: number, to: number }} range - of the text
 * @param {Buffer} target - with room for it
 * @param {number} at - where in it
 */
export function writeText(decoded, { line, from, to }, target, at) {
  const stride = line + LINE_END_BYTES
  const lineBytes = (line / 4) * 3
  const lines = Math.floor(decoded.length / lineBytes)
  const text = takeBuffer((lines + 1) * stride)
  const end = encodeLines(decoded, 0, text, 0, line, lines)
  text.write(decoded.toString('base64', lines * lineBytes), end, 'latin1')
  const first = from - Math.floor(from / stride) * stride
  text.copy(target, at, first, first + to - from)
  releaseBuffer(text)
}
