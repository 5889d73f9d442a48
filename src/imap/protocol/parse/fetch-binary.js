/** BINARY, BINARY.PEEK and BINARY.SIZE of FETCH, RFC 3516 §7. */
import { badSyntax } from '../syntax-failure.js'
import { parsePartial, parseSection } from '../values/fetch-item.js'

/** @typedef {import('../values/fetch-item.js').BinaryItem} BinaryItem */

const BINARY = /^BINARY(\.PEEK|\.SIZE)?\[([\d.]*)\](.*)$/is

/**
 * @param {string} word - an item of FETCH
 * @returns {BinaryItem | null} null when it is none of these
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseBinaryItem(word) {
  const match = BINARY.exec(word)
  if (match === null) return null
  const [, suffix = '', spec = '', tail = ''] = match
  const isSize = suffix.toUpperCase() === '.SIZE'
  if (isSize && tail !== '') throw badSyntax('BINARY.SIZE is of the whole section')
  const section = parseSection(spec, null)
  const partial = parsePartial(tail)
  if (isSize)
    return { kind: 'BINARY.SIZE', isPeek: true, section, partial, label: `BINARY.SIZE[${spec}]` }
  return { kind: 'BINARY', isPeek: suffix !== '', section, partial, label: `BINARY[${spec}]` }
}
