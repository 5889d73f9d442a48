/**
 * The header fields that mail programs ask for in message lists, in a form from which any choice of them, and the whole header, is
 * copied (field-choice.js) without looking for line ends and names again.
 *
 *     index     1 byte n, then n times: number of the field in LISTED_FIELDS (1 byte), length of its lines (2 bytes,
 *               lowest first); in the order of the header. REST stands for all that is between them
 *     lines     of the listed fields but those that stand apart, as they stand in the header, folds and line ends included
 *     known     1 byte: how many fields LISTED_FIELDS had when this was written
 *     hasRest   1 byte: 1 where REST is in the index, so that all of the header is there; 0 where that is too long
 *     others    the number of the name of each field that is not listed (field-name.js, 2 bytes, lowest first), each once
 *
 * So it also tells of which other fields a message has none, and only where it may have one its header is read. What was
 * written before there was `known` ends behind the lines, and tells nothing but the first FIRST_LISTED fields.
 *
 * Lines that only some programs ask for, and that are longer than all the others together, stand apart.
 */
import { fieldNameNumber } from './field-name.js'
import { scanHeader } from './header.js'
import { BY_NAME_NUMBER, LISTED_FIELDS, PLACES, REST } from './listed-fields.js'

/** An index has at most so many entries. */
const MAX_LINES = 255
/** So many names of other fields are told at most. */
const MAX_OTHERS = 255
/** The listed lines of a message have at most so many bytes, so that a page of messages stays small; usual are 1 to 4 KB. Below 2^16. */
const MAX_TOTAL_BYTES = 32_768
/** And the rest of its header. Below 2^16. */
const MAX_REST_BYTES = 32_768

/** An entry of the index. */
export const ENTRY_BYTES = 3
/** `known` and `hasRest`. */
export const TOLD_BYTES = 2
/** The number of a name. */
export const NAME_BYTES = 2

/**
 * @typedef {Record<import('./listed-fields.js').ApartKind, Buffer | null>} LinesApart - null where there are none
 * @typedef {{ fields: Buffer } & LinesApart} ListedFields - `fields`: from index to others
 *
 * @typedef {{ number: number, start: number, end: number }} ListedLine - or what is between two of them
 */

/**
 * @param {Buffer} block - the header block of a message, with its blank line
 * @returns {ListedFields | null} null for a header that is not listed (too many or too long lines, too many names, or one that
 *   is cut off in its last line)
 */
export function listFields(block) {
  /** @type {ListedLine[]} */
  const listed = []
  /** @type {Set<number>} */
  const others = new Set()
  let listedBytes = 0
  const headerEnd = scanHeader(block, (start, nameEnd, _, end) => {
    if (nameEnd === -1) return
    const nameNumber = fieldNameNumber(block, start, nameEnd)
    const number = BY_NAME_NUMBER.get(nameNumber)
    if (number === undefined || !isNamed(block, start, nameEnd, number)) {
      others.add(nameNumber)
      return
    }
    listedBytes += end - start
    listed.push({ number, start, end })
  })
  const last = block[headerEnd - 1]
  const isCut = last !== 10 && last !== 13
  const isLong =
    listed.length > MAX_LINES || others.size > MAX_OTHERS || listedBytes > MAX_TOTAL_BYTES
  if (isCut || isLong) return null
  const whole = withRest(listed, block.length)
  const hasRest = whole.length <= MAX_LINES && block.length - listedBytes <= MAX_REST_BYTES
  return packLines(block, hasRest ? whole : listed, { hasRest, others })
}

/**
 * @param {Buffer} block
 * @param {readonly ListedLine[]} lines - of it
 * @param {{ hasRest: boolean, others: ReadonlySet<number> }} told - behind the lines
 * @returns {ListedFields}
 */
function packLines(block, lines, { hasRest, others }) {
  const bytes = [0, 0, 0, 0]
  for (const { number, start, end } of lines) add(bytes, placeOf(number), end - start)
  const [within = 0, ...apart] = bytes
  const head = 1 + lines.length * ENTRY_BYTES
  const knownAt = head + within
  const fields = Buffer.allocUnsafe(knownAt + TOLD_BYTES + others.size * NAME_BYTES)
  const targets = [fields, ...apart.map((length) => Buffer.allocUnsafe(length))]
  const ends = [head, 0, 0, 0]
  let index = fields.writeUInt8(lines.length, 0)
  for (const { number, start, end } of lines) {
    index = fields.writeUInt8(number, index)
    index = fields.writeUInt16LE(end - start, index)
    const place = placeOf(number)
    const target = /** @type {Buffer} */ (targets[place])
    add(ends, place, block.copy(target, ends[place], start, end))
  }
  let at = fields.writeUInt8(LISTED_FIELDS.length, knownAt)
  at = fields.writeUInt8(hasRest ? 1 : 0, at)
  for (const name of others) at = fields.writeUInt16LE(name, at)
  const [, received = null, signatures = null, rest = null] = targets.map((target) =>
    target.length > 0 ? target : null
  )
  return { fields, received, signatures, rest }
}

/**
 * @param {number} number - of a listed field, or REST
 * @returns {number}
 */
const placeOf = (number) => /** @type {number} */ (PLACES[number])

/**
 * @param {number[]} sums
 * @param {number} place
 * @param {number} bytes
 */
function add(sums, place, bytes) {
  sums[place] = /** @type {number} */ (sums[place]) + bytes
}

/**
 * @param {readonly ListedLine[]} listed - of a header, in their order
 * @param {number} length - of the header, bytes
 * @returns {ListedLine[]} these, and what is between them
 */
function withRest(listed, length) {
  const lines = []
  let at = 0
  for (const line of listed) {
    if (line.start > at) lines.push({ number: REST, start: at, end: line.start })
    lines.push(line)
    at = line.end
  }
  if (length > at) lines.push({ number: REST, start: at, end: length })
  return lines
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
 * @param {Buffer} fields - a message's entry
 * @returns {boolean} false: it was written before entries told about other fields, or all of the header
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
