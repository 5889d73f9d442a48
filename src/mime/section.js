/**
 * BODY[section]: from a section of a FETCH command to a range of the message's bytes. RFC 9051 §6.4.5.1.
 *
 * @typedef {import('./part-tree.js').PartNode} PartNode
 * @typedef {import('./part-tree.js').PartTree} PartTree
 *
 * @typedef {object} Section
 * @property {number[]} path - part numbers, [] for the message itself
 * @property {null | 'HEADER' | 'HEADER.FIELDS' | 'HEADER.FIELDS.NOT' | 'TEXT' | 'MIME'} text
 * @property {string[]} fields - of HEADER.FIELDS and HEADER.FIELDS.NOT, in any case
 *
 * @typedef {{ kind: 'range', start: number, end: number }} RangeSection - bytes to send as they are
 * @typedef {{ kind: 'fields', start: number, end: number, fields: string[], not: boolean }} FieldsSection - a header
 *   block to send through `filterHeader`
 */
import { fieldNameNumber, numberOfFieldName } from './field-name.js'
import { scanHeader } from './header.js'

const BLANK_LINE = Buffer.from('\r\n')
const LF = 10
const CR = 13

/**
 * @param {PartTree} tree
 * @param {Section} section
 * @returns {RangeSection | FieldsSection | null} null when the message has no such part, or the part no such text
 */
export function resolveSection(tree, { path, text, fields }) {
  const found = findPart(tree, path)
  if (!found) return null
  const { node } = found
  switch (text) {
    case null:
      return path.length === 0 ? range(0, tree.bodyEnd) : range(node.headerEnd, node.bodyEnd)
    case 'MIME':
      // RFC 9051 §6.4.5.1: "The MIME part specifier MUST be prefixed by one or more part numbers."
      return path.length === 0 ? null : range(node.headerStart, node.headerEnd)
    default: {
      const message = path.length === 0 ? tree : node.isMessage ? node.children[0] : undefined
      if (!message) return null
      const { headerStart, headerEnd, bodyEnd } = message
      if (text === 'TEXT') return range(headerEnd, bodyEnd)
      if (text === 'HEADER') return range(headerStart, headerEnd)
      const not = text === 'HEADER.FIELDS.NOT'
      return { kind: 'fields', start: headerStart, end: headerEnd, fields, not }
    }
  }
}

/**
 * @param {PartTree} tree
 * @param {number[]} path - [] is the message itself
 * @returns {PartNode | null} the part whose body the path names
 */
export function resolvePart(tree, path) {
  return findPart(tree, path)?.node ?? null
}

/**
 * Keeps the named fields of a header block, or all but them, each with its folds as it stands, and a blank line.
 * Lines that are no field belong to no name: they are kept by `not` alone.
 *
 * @param {Buffer} block - a header block
 * @param {Pick<FieldsSection, 'fields' | 'not'>} section - which fields
 * @returns {Buffer}
 */
export function filterHeader(block, { fields, not }) {
  const { names, numbers } = wantedOf(fields)
  /**
   * The start and end of each run of kept lines.
   *
   * @type {number[]}
   */
  const runs = []
  let runEnd = -1
  scanHeader(block, (start, nameEnd, _, end) => {
    const isNamed =
      nameEnd !== -1 &&
      numbers.has(fieldNameNumber(block, start, nameEnd)) &&
      names.has(block.toString('latin1', start, nameEnd).toLowerCase())
    if (isNamed === not) return
    if (start === runEnd) runs.pop()
    else runs.push(start)
    runs.push(end)
    runEnd = end
  })
  const lastByte = block[runEnd - 1]
  // A header that was cut off in its last line has no line end of its own.
  const isCut = runs.length > 0 && lastByte !== LF && lastByte !== CR
  return copyRuns(block, runs, isCut ? Buffer.concat([BLANK_LINE, BLANK_LINE]) : BLANK_LINE)
}

/**
 * @typedef {object} WantedFields
 * @property {ReadonlySet<string>} names - in lower case
 * @property {ReadonlySet<number>} numbers - of them (field-name.js): most fields of a header have none of these
 */

/**
 * Of the fields of commands, which are answered for many messages each.
 *
 * @type {WeakMap<ReadonlyArray<string>, WantedFields>}
 */
const wantedFields = new WeakMap()

/**
 * @param {readonly string[]} fields - in any case; never changed
 * @returns {WantedFields}
 */
function wantedOf(fields) {
  const known = wantedFields.get(fields)
  if (known) return known
  const wanted = {
    names: new Set(fields.map((name) => name.toLowerCase())),
    numbers: new Set(fields.map(numberOfFieldName))
  }
  wantedFields.set(fields, wanted)
  return wanted
}

/**
 * @param {Buffer} block
 * @param {number[]} runs - start and end of each
 * @param {Buffer} end - what follows the last
 * @returns {Buffer}
 */
function copyRuns(block, runs, end) {
  let length = end.length
  for (let at = 0; at < runs.length; at += 2)
    length += /** @type {number} */ (runs[at + 1]) - /** @type {number} */ (runs[at])
  const copy = Buffer.allocUnsafe(length)
  let filled = 0
  for (let at = 0; at < runs.length; at += 2)
    filled += block.copy(copy, filled, runs[at], runs[at + 1])
  end.copy(copy, filled)
  return copy
}

/**
 * Goes down a path. Its numbers count the parts of a multipart; a message that is no multipart has one part, [1],
 * which is its own body; a number after a message part counts in the message inside it.
 *
 * @param {PartTree} tree
 * @param {number[]} path
 * @returns {{ node: PartNode } | null}
 */
function findPart(tree, path) {
  let node = tree
  // Whether `node` is a message's root that no number has named yet.
  let isUnnamed = true
  for (const number of path) {
    const inside = !isUnnamed && node.isMessage ? node.children[0] : undefined
    if (inside) {
      node = inside
      isUnnamed = true
    }
    if (node.type === 'multipart') {
      const child = node.children[number - 1]
      if (!child) return null
      node = child
    } else if (!isUnnamed || number !== 1) return null
    isUnnamed = false
  }
  return { node }
}

/**
 * @param {number} start
 * @param {number} end
 * @returns {RangeSection}
 */
function range(start, end) {
  return { kind: 'range', start, end }
}
