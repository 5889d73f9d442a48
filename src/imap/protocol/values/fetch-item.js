/**
 * The items of FETCH, RFC 9051 §6.4.5, and the sections of §6.4.5.1; SAVEDATE, RFC 8514 §4.2, EMAILID and THREADID,
 * RFC 8474 §5.
 *
 * @typedef {object} Section
 * @property {number[]} path - the part's numbers; empty for the whole message
 * @property {null | 'HEADER' | 'HEADER.FIELDS' | 'HEADER.FIELDS.NOT' | 'TEXT' | 'MIME'} text
 * @property {string[]} fields - header names as the client wrote them
 *
 * @typedef {{ offset: number, length: number }} Partial - bytes
 *
 * @typedef {object} SectionItem
 * @property {'SECTION'} kind
 * @property {boolean} isPeek - does not set \Seen
 * @property {Section} section
 * @property {Partial | null} partial
 * @property {string} label - as the response repeats it, without the origin
 *
 * @typedef {object} BinaryItem - RFC 3516 §4.2; the section is a part, or the whole message
 * @property {'BINARY' | 'BINARY.SIZE'} kind
 * @property {boolean} isPeek - does not set \Seen
 * @property {Section} section
 * @property {Partial | null} partial - of the decoded bytes
 * @property {string} label
 *
 * @typedef {{ kind: 'FLAGS' | 'UID' | 'INTERNALDATE' | 'RFC822.SIZE' | 'ENVELOPE' | 'BODY' | 'BODYSTRUCTURE' | 'MODSEQ'
 *   | 'SAVEDATE' | 'EMAILID' | 'THREADID' }
 *   | SectionItem | BinaryItem | { kind: 'PREVIEW', isLazy: boolean }} FetchItem - PREVIEW: RFC 8970 §3
 */
import { ASTRING_CHARACTER, isWordOf } from '../character.js'
import { badSyntax } from '../syntax-failure.js'
import { parseNumber64, parseNzNumber } from './number.js'

/** Items without arguments. */
const PLAIN_KINDS = Object.freeze(
  /** @type {const} */ ([
    'FLAGS',
    'UID',
    'INTERNALDATE',
    'RFC822.SIZE',
    'ENVELOPE',
    'BODY',
    'BODYSTRUCTURE',
    'MODSEQ',
    'SAVEDATE',
    'EMAILID',
    'THREADID'
  ])
)

/** @type {Map<string, FetchItem>} */
const PLAIN_ITEMS = new Map(PLAIN_KINDS.map((kind) => [kind, Object.freeze({ kind })]))

/**
 * The items of RFC 822's days, RFC 3501 §6.4.5 and RFC 1730 §6.4.5. Outlook still asks for RFC822.PEEK.
 * @type {Map<string, { label: string, isPeek: boolean, text: 'HEADER' | 'TEXT' | null }>}
 */
const RFC822_ITEMS = new Map([
  ['RFC822', { label: 'RFC822', isPeek: false, text: null }],
  ['RFC822.PEEK', { label: 'RFC822', isPeek: true, text: null }],
  ['RFC822.HEADER', { label: 'RFC822.HEADER', isPeek: true, text: 'HEADER' }],
  ['RFC822.TEXT', { label: 'RFC822.TEXT', isPeek: false, text: 'TEXT' }],
  ['RFC822.TEXT.PEEK', { label: 'RFC822.TEXT', isPeek: true, text: 'TEXT' }]
])

/**
 * RFC 9051 §6.4.5: only alone, never in a list.
 * @type {Map<string, string[]>}
 */
const MACROS = new Map([
  ['ALL', ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE', 'ENVELOPE']],
  ['FAST', ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE']],
  ['FULL', ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE', 'ENVELOPE', 'BODY']]
])

const SECTION_TEXT = /^(HEADER|HEADER\.FIELDS|HEADER\.FIELDS\.NOT|TEXT|MIME)$/
const PARTIAL = /^<(\d+)\.(\d+)>$/

/**
 * @param {string} word
 * @returns {FetchItem[] | null} what a macro stands for; null when the word is none
 */
export function expandMacro(word) {
  const names = MACROS.get(word.toUpperCase())
  return names === undefined ? null : names.map(parsePlainItem)
}

/**
 * @param {string} word - an item without a section
 * @returns {FetchItem}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parsePlainItem(word) {
  const name = word.toUpperCase()
  const plain = PLAIN_ITEMS.get(name)
  if (plain !== undefined) return plain
  const old = RFC822_ITEMS.get(name)
  if (old === undefined) throw badSyntax('Unknown FETCH item')
  const { label, isPeek, text } = old
  return { kind: 'SECTION', isPeek, section: { path: [], text, fields: [] }, partial: null, label }
}

/**
 * @param {string} spec - what stands between the brackets, the list of fields excepted
 * @param {string[] | null} fields - the list of fields; null when there is none
 * @returns {Section}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseSection(spec, fields) {
  const path = []
  let rest = spec.toUpperCase()
  while (/^\d/.test(rest)) {
    const [number = ''] = /** @type {RegExpExecArray} */ (/^\d+/.exec(rest))
    path.push(parseNzNumber(number))
    rest = rest.slice(number.length)
    if (rest === '') break
    if (!/^\.[A-Z0-9]/.test(rest)) throw badSyntax('Invalid section')
    rest = rest.slice(1)
  }
  if (rest !== '' && !SECTION_TEXT.test(rest)) throw badSyntax('Invalid section')
  const text = /** @type {Section['text']} */ (rest === '' ? null : rest)
  if (text === 'MIME' && path.length === 0) throw badSyntax('MIME needs a part number')
  const wantsFields = text === 'HEADER.FIELDS' || text === 'HEADER.FIELDS.NOT'
  if (wantsFields !== (fields !== null)) throw badSyntax('Invalid section')
  return { path, text, fields: fields ?? [] }
}

/**
 * @param {string} text - `<0.100>`, or nothing
 * @returns {Partial | null}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parsePartial(text) {
  if (text === '') return null
  const match = PARTIAL.exec(text)
  if (match === null) throw badSyntax('Invalid partial range')
  const [, offset = '', length = ''] = match
  const partial = { offset: parseNumber64(offset), length: parseNumber64(length) }
  if (partial.length === 0) throw badSyntax('A partial range must not be empty')
  return partial
}

/**
 * @param {Section} section
 * @returns {string} as a response names it: `BODY[1.2.HEADER.FIELDS (FROM TO)]`
 */
export function sectionLabel({ path, text, fields }) {
  const spec = [...path, ...(text === null ? [] : [text])].join('.')
  if (fields.length === 0) return `BODY[${spec}]`
  return `BODY[${spec} (${fields.map((field) => compileFieldName(field.toUpperCase())).join(' ')})]`
}

/** @param {string} field - printable ASCII */
function compileFieldName(field) {
  if (isWordOf(ASTRING_CHARACTER, field) && field !== 'NIL') return field
  return `"${field.replace(/["\\]/g, '\\$&')}"`
}
