/**
 * The header fields that mail programs ask for in message lists, in a form from which any choice of them is copied
 * (field-choice.js) without looking for line ends and names again.
 *
 *     index     1 byte n, then n times: number of the field in LISTED_FIELDS (1 byte), length of its lines (2 bytes,
 *               lowest first); in the order of the header
 *     lines     of the listed fields but those that stand apart, as they stand in the header, folds and line ends included
 *     known     1 byte: how many fields LISTED_FIELDS had when this was written
 *     others    the number of the name of each field that was not among them (field-name.js, 2 bytes, lowest first), each once
 *
 * So it also tells of which other fields a message has none, and only where it may have one its header is read. What was
 * written before there were `known` and `others` ends behind the lines, and tells nothing but the first FIRST_LISTED fields.
 *
 * Lines that only some programs ask for, and that are longer than all the others together, stand apart: those of Received,
 * and those that say who vouches for a message.
 */
import { fieldNameNumber } from './field-name.js'
import { scanHeader } from './header.js'
import { BY_NAME_NUMBER, LISTED_FIELDS, PLACES } from './listed-fields.js'

/** An index has at most so many entries. */
const MAX_LINES = 255
/** So many names of other fields are told at most. */
const MAX_OTHERS = 255
/** The lines of a message have at most so many bytes, so that a page of messages stays small; usual are 1 to 4 KB. Below 2^16. */
const MAX_TOTAL_BYTES = 32_768

/** An entry of the index. */
export const ENTRY_BYTES = 3
/** The number of a name. */
export const NAME_BYTES = 2

/**
 * @typedef {object} ListedFields
 * @property {Buffer} fields - index, lines, known and others
 * @property {Buffer | null} received - the lines of Received; null if there are none
 * @property {Buffer | null} signatures - the lines of those who vouch for the message, likewise
 *
 * @typedef {{ number: number, start: number, end: number }} ListedLine
 */

/**
 * @param {Buffer} block - the header block of a message
 * @returns {ListedFields | null} null for a header that is not listed (too many or too long lines, too many names, or one that
 *   is cut off in its last line)
 */
export function listFields(block) {
  /** @type {ListedLine[]} */
  const lines = []
  /** @type {Set<number>} */
  const others = new Set()
  const bytes = [0, 0, 0]
  let total = 0
  const headerEnd = scanHeader(block, (start, nameEnd, _, end) => {
    if (nameEnd === -1) return
    const nameNumber = fieldNameNumber(block, start, nameEnd)
    const number = BY_NAME_NUMBER.get(nameNumber)
    if (number === undefined || !isNamed(block, start, nameEnd, number)) {
      others.add(nameNumber)
      return
    }
    const place = /** @type {number} */ (PLACES[number])
    bytes[place] = /** @type {number} */ (bytes[place]) + end - start
    total += end - start
    lines.push({ number, start, end })
  })
  const last = block[headerEnd - 1]
  const isWhole = last === 10 || last === 13
  const isShort = lines.length <= MAX_LINES && others.size <= MAX_OTHERS && total <= MAX_TOTAL_BYTES
  if (!isWhole || !isShort) return null
  const [within = 0, received = 0, signatures = 0] = bytes
  const head = 1 + lines.length * ENTRY_BYTES
  const fields = Buffer.allocUnsafe(head + within + 1 + others.size * NAME_BYTES)
  let index = fields.writeUInt8(lines.length, 0)
  for (const { number, start, end } of lines) {
    index = fields.writeUInt8(number, index)
    index = fields.writeUInt16LE(end - start, index)
  }
  let at = fields.writeUInt8(LISTED_FIELDS.length, copyLines(block, lines, 0, fields, index))
  for (const name of others) at = fields.writeUInt16LE(name, at)
  return {
    fields,
    received: linesApart(block, lines, 1, received),
    signatures: linesApart(block, lines, 2, signatures)
  }
}

/**
 * @param {Buffer} block
 * @param {number} start
 * @param {number} end
 * @param {number} number - of a listed field
 * @returns {boolean} whether that is the name which stands there
 */
const isNamed = (block, start, end, number) =>
  block.toString('latin1', start, end).toLowerCase() === LISTED_FIELDS[number]

/**
 * @param {Buffer} block
 * @param {readonly ListedLine[]} lines
 * @param {number} place - of which lines are copied
 * @param {Buffer} target
 * @param {number} targetAt
 * @returns {number} where in it they end
 */
function copyLines(block, lines, place, target, targetAt) {
  let at = targetAt
  for (const { number, start, end } of lines)
    if (PLACES[number] === place) at += block.copy(target, at, start, end)
  return at
}

/**
 * @param {Buffer} block
 * @param {readonly ListedLine[]} lines
 * @param {number} place
 * @param {number} bytes - that they have
 * @returns {Buffer | null} null if there are none
 */
function linesApart(block, lines, place, bytes) {
  if (bytes === 0) return null
  const target = Buffer.allocUnsafe(bytes)
  copyLines(block, lines, place, target, 0)
  return target
}

/**
 * @param {Buffer} fields - a message's entry
 * @returns {boolean} false: it was written before entries told about other fields
 */
export const tellsOthers = (fields) => linesEnd(fields, 0) < fields.length

/**
 * @param {Buffer} fields
 * @param {number} start - where an entry begins
 * @returns {number} where its lines end
 */
export function linesEnd(fields, start) {
  const count = /** @type {number} */ (fields[start])
  let end = start + 1 + count * ENTRY_BYTES
  for (let line = 0, entry = start + 1; line < count; line++, entry += ENTRY_BYTES)
    if (PLACES[/** @type {number} */ (fields[entry])] === 0) end += lengthAt(fields, entry)
  return end
}

/**
 * @param {Buffer} fields
 * @param {number} entry - where an entry of the index begins
 * @returns {number}
 */
export function lengthAt(fields, entry) {
  const low = /** @type {number} */ (fields[entry + 1])
  const high = /** @type {number} */ (fields[entry + 2])
  return low + high * 256
}
