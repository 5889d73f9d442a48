/**
 * Keeps of a header block the fields that ENVELOPE and BODYSTRUCTURE need, as raw byte strings.
 *
 * @typedef {import('./byte-writer.js').ByteString} ByteString
 *
 * @typedef {object} PartHeader
 * @property {Map<string, ByteString[]>} fields - lower-case name to raw values, folds included, in their order
 * @property {Buffer | null} block - the whole block with its blank line: top header up to MAX_CACHED_HEADER_BYTES only
 */
import {
  MAX_CACHED_HEADER_BYTES,
  MAX_ENVELOPE_FIELD_BYTES,
  MAX_PART_HEADER_BYTES,
  MAX_STRUCTURE_FIELD_BYTES
} from './limits.js'
import { scanHeader, unfoldText } from './header.js'

/** Fields that say what a part is. */
const STRUCTURE_FIELDS = new Set([
  'content-type',
  'content-transfer-encoding',
  'content-disposition',
  'content-id',
  'content-description',
  'content-md5',
  'content-language',
  'content-location'
])

/** Fields of addresses. */
export const ADDRESS_FIELDS = new Set(['from', 'sender', 'reply-to', 'to', 'cc', 'bcc'])

/** Fields of an ENVELOPE. */
export const ENVELOPE_FIELDS = new Set([
  'date',
  'subject',
  ...ADDRESS_FIELDS,
  'in-reply-to',
  'message-id'
])

/** Fields that describe a message. */
const MESSAGE_FIELDS = new Set([...ENVELOPE_FIELDS, 'references'])

/** The names in the two sets have at most so many characters: longer ones need not be cut out to be compared. */
const MAX_NAME_LENGTH = 'content-transfer-encoding'.length

/**
 * Fields that are read as one list where they are repeated, against RFC 5322 §3.6. For other fields the first one
 * counts.
 */
const REPEATABLE = new Set([...ADDRESS_FIELDS, 'references'])

/** @type {PartHeader} */
export const EMPTY_HEADER = Object.freeze({ fields: new Map(), block: null })

/**
 * @param {Buffer} block - a header block; copied, not kept
 * @param {object} options
 * @param {boolean} options.isMessage - whether the fields of an ENVELOPE are wanted too
 * @param {boolean} options.isTop - whether the block itself is kept
 * @param {number} options.budgetBytes - at most so many bytes are kept in all
 * @returns {{ header: PartHeader, keptBytes: number }}
 */
export function readPartHeader(block, { isMessage, isTop, budgetBytes }) {
  /** @type {Map<string, ByteString[]>} */
  const fields = new Map()
  let left = Math.min(budgetBytes, MAX_PART_HEADER_BYTES)
  const allowed = left
  scanHeader(block, (start, nameEnd, valueStart, end) => {
    const nameLength = nameEnd - start
    if (nameLength < 2 || nameLength > MAX_NAME_LENGTH) return
    const name = block.toString('latin1', start, nameEnd).toLowerCase()
    const isStructure = STRUCTURE_FIELDS.has(name)
    if (!isStructure && !(isMessage && MESSAGE_FIELDS.has(name))) return
    const known = fields.get(name)
    if (known && !REPEATABLE.has(name)) return
    const limit = isStructure ? MAX_STRUCTURE_FIELD_BYTES : MAX_ENVELOPE_FIELD_BYTES
    const length = Math.min(end - valueStart, limit, left)
    // An empty value is still a field that is there (RFC 9051 §7.5.2).
    if (length === 0 && end > valueStart) return
    left -= length
    const value = block.toString('latin1', valueStart, valueStart + length)
    if (known) known.push(value)
    else fields.set(name, [value])
  })
  const isCached = isTop && block.length <= MAX_CACHED_HEADER_BYTES
  return {
    header: { fields, block: isCached ? Buffer.from(block) : null },
    keptBytes: allowed - left
  }
}

/**
 * @param {PartHeader} header
 * @param {string} lowerName
 * @returns {ByteString | null} the unfolded value of the first such field; null when there is none
 */
export function fieldText(header, lowerName) {
  const raw = header.fields.get(lowerName)?.[0]
  return raw === undefined ? null : unfoldText(raw)
}
