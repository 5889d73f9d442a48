import { MessageParser } from '../../src/mime/parse-message.js'
import { toPartTree } from './part-tree.js'
import { decodedField, searchableHeader } from '../../src/mime/searchable-header.js'
import { textPieces } from '../../src/mime/text-extract.js'

/** @typedef {import('../../src/imap/protocol/values/search-key.js').SearchKey} SearchKey */

/** Characters that say where a word may be broken, and that nobody sees. */
const UNSEEN = /[\u00ad\u200b\u2060\ufeff]/g

/**
 * @typedef {object} ReadableMessage
 * @property {string} header
 * @property {string[]} pieces
 * @property {(name: string) => string[]} field
 */

/**
 * @param {Buffer} bytes - of one message
 * @returns {ReadableMessage} its text, read from the whole of it at once
 */
export function readWhole(bytes) {
  const parser = new MessageParser()
  parser.push(bytes)
  const tree = toPartTree(parser.end().root)
  const block = bytes.subarray(0, tree.headerEnd)
  const read = (/** @type {number} */ start, /** @type {number} */ end) =>
    bytes.subarray(start, end)
  return {
    header: searchableHeader(block),
    pieces: [...textPieces(tree, read)].map(({ text }) => text),
    field: (name) => decodedField(block, name)
  }
}

/**
 * A scan without an index, and with the letters compared by the regular expression engine.
 *
 * @param {SearchKey} key - of text, header fields, sizes and what joins them
 * @param {ReadableMessage & { size: number }} message
 * @returns {boolean}
 */
export function matchesByScan(key, message) {
  switch (key.op) {
    case 'all':
      return true
    case 'not':
      return !matchesByScan(key.key, message)
    case 'and':
      return key.keys.every((part) => matchesByScan(part, message))
    case 'or':
      return matchesByScan(key.left, message) || matchesByScan(key.right, message)
    case 'header':
      return message.field(key.field).some((text) => contains(text, key.value))
    case 'body':
      return key.value === '' || message.pieces.some((text) => contains(text, key.value))
    case 'text':
      return (
        key.value === '' ||
        contains(message.header, key.value) ||
        message.pieces.some((text) => contains(text, key.value))
      )
    case 'larger':
      return message.size > key.size
    case 'smaller':
      return message.size < key.size
    default:
      throw new Error(`not covered: ${key.op}`)
  }
}

/**
 * @param {string} text
 * @param {string} part
 * @returns {boolean}
 */
function contains(text, part) {
  const inside = part
    .normalize('NFC')
    .replace(UNSEEN, '')
    .replace(/\p{Zs}/gu, ' ')
  const whole = text.replace(UNSEEN, '').replace(/\p{Zs}/gu, ' ')
  return new RegExp(inside.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'iu').test(whole)
}
