/**
 * Header fields as SEARCH compares them: RFC 3501 §6.4.4 has strings in the headers of messages and of their parts
 * decoded first (RFC 2047, RFC 2231). Where a field can be read in several ways, each reading stands on a line of its own,
 * so that a substring is found in any of them.
 */
import { findParameter, parseStructured } from './content-type.js'
import { decodeByteString, decodeHeaderText } from './encoded-word.js'
import { formatAddresses, parseAddressText } from './address.js'
import { scanHeader, trimSpace } from './header.js'
import { ADDRESS_FIELDS, ENVELOPE_FIELDS } from './part-header.js'
import { composed } from '../support/composed.js'

/** @typedef {import('./byte-writer.js').ByteString} ByteString */

/** Fields whose parameters may name a file. */
const NAMING_FIELDS = new Set(['content-type', 'content-disposition'])

/** Parameters that name a file. */
const NAMES = new Set(['name', 'filename'])

/**
 * @param {Buffer} block - a header block
 * @returns {string} all its fields decoded, `Name: value` a line, each with its other forms below it; lines that are no
 *   field as they are, since a body whose blank line is none stands there
 */
export function searchableHeader(block) {
  /** @type {string[]} */
  const lines = []
  // Cut from one string: a block may have half a million lines.
  const bytes = block.toString('latin1')
  scanHeader(block, (start, nameEnd, valueStart, end) => {
    if (nameEnd === -1) {
      lines.push(readableText(bytes.slice(start, end)))
      return
    }
    const name = bytes.slice(start, nameEnd)
    const text = searchableValue(name.toLowerCase(), bytes.slice(valueStart, end))
    lines.push(`${name}: ${text}`)
  })
  return composed(lines.join('\n'))
}

/**
 * @param {Buffer} block - a header block
 * @param {string} name - of a field, in any case
 * @returns {string[]} a text for each field of that name: its decoded value and on further lines its other forms
 */
export function decodedField(block, name) {
  const lowerName = name.toLowerCase()
  /** @type {string[]} */
  const values = []
  scanHeader(block, (start, nameEnd, valueStart, end) => {
    if (nameEnd - start !== lowerName.length) return
    if (block.toString('latin1', start, nameEnd).toLowerCase() === lowerName)
      values.push(composed(searchableValue(lowerName, block.toString('latin1', valueStart, end))))
  })
  return values
}

/**
 * @param {Buffer} block - the header of a part of a message
 * @returns {string} what a reader is shown of it, a line each: the names of the file and the description. The rest of
 *   such headers (types, encodings, boundaries) would make words like "image" and "text" match nearly everything.
 */
export function searchablePartHeader(block) {
  /** @type {Set<string>} */
  const lines = new Set()
  scanHeader(block, (start, nameEnd, valueStart, end) => {
    const name = nameEnd === -1 ? '' : block.toString('latin1', start, nameEnd).toLowerCase()
    const isDescription = name === 'content-description'
    if (!isDescription && !NAMING_FIELDS.has(name)) return
    const value = block.toString('latin1', valueStart, end)
    if (isDescription) lines.add(readableText(value))
    else for (const file of fileNames(value)) lines.add(file)
  })
  const found = [...lines].filter((line) => line !== '')
  return composed(found.join('\n'))
}

/**
 * @param {string} lowerName
 * @param {ByteString} value - raw
 * @returns {string}
 */
function searchableValue(lowerName, value) {
  const text = readableText(value)
  const forms = new Set([text])
  // The value as it stands in an ENVELOPE, from which a client may have it.
  if (ENVELOPE_FIELDS.has(lowerName)) forms.add(decodeHeaderText(value))
  // Addresses without comments and folds: `a (x) @ b` as `a@b`.
  if (ADDRESS_FIELDS.has(lowerName))
    forms.add(decodeByteString(formatAddresses(parseAddressText(value))))
  else if (NAMING_FIELDS.has(lowerName) && text.includes('*'))
    for (const file of fileNames(value)) forms.add(file)
  return forms.size === 1 ? text : [...forms].join('\n')
}

/**
 * Turns folds into one space: a fold leaves a tab or several spaces where its writer had one. Mail programs show one, and
 * nobody could type the others into a search.
 *
 * @param {ByteString} value - a raw header value
 * @returns {string} decoded, each fold as one space
 */
function readableText(value) {
  const text = trimSpace(value)
  if (!text.includes('\n') && !text.includes('\r')) return decodeByteString(text)
  const lines = text.split(/[\r\n]+/).map(trimSpace)
  return decodeByteString(lines.filter((line) => line !== '').join(' '))
}

/**
 * @param {ByteString} value - of Content-Type or Content-Disposition
 * @returns {string[]} names of the file, decoded; encoded words in them are against RFC 2047 §5 and usual
 */
function fileNames(value) {
  const { params } = parseStructured(value)
  return params.flatMap(([written, text]) => {
    const name = written.toLowerCase().replace(/\*$/, '')
    if (!NAMES.has(name)) return []
    return [
      written.endsWith('*')
        ? (findParameter([[written, text]], name) ?? '')
        : decodeByteString(text)
    ]
  })
}
