/**
 * FETCH and UID FETCH, RFC 9051 §6.4.5 and §6.4.9, with the modifiers of RFC 7162 §3.1.4.1 (CHANGEDSINCE) and §3.2.6
 * (VANISHED), and RFC 9394 §3.3 (PARTIAL).
 */
import { BoundedMemo } from '../../../support/bounded-memo.js'
import { badSyntax } from '../syntax-failure.js'
import { parseBinaryItem } from './fetch-binary.js'
import {
  expandMacro,
  parsePartial,
  parsePlainItem,
  parseSection,
  sectionLabel
} from '../values/fetch-item.js'
import { parsePartialRange } from '../values/partial-range.js'

/** @typedef {import('./arguments.js').Arguments} Arguments */
/** @typedef {import('../values/fetch-item.js').FetchItem} FetchItem */
/** @typedef {import('../values/partial-range.js').PartialRange} PartialRange */
/** @typedef {import('../values/sequence-set.js').SequenceSet} SequenceSet */

/**
 * @typedef {object} FetchArguments
 * @property {boolean} isUid
 * @property {SequenceSet} set
 * @property {readonly FetchItem[]} items - macros expanded, in the order of the command, each once: a line of 64 KiB can ask
 *   for the same body 9,000 times
 * @property {string | null} itemsText - as the client wrote them; null where there are modifiers, or where the same text may
 *   be other items
 * @property {number | null} changedSince - a mod-sequence
 * @property {boolean} isVanished
 * @property {PartialRange | null} page - only these of the messages, RFC 9394 §3.3
 */

/** The characters of a header name: the response repeats it, where it must stand in a line. */
const PRINTABLE = /^[\x20-\x7e]*$/

const SECTION_START = /^(BODY|BODY\.PEEK)\[([^\]]*)(\])?(.*)$/is

/**
 * The items of earlier commands by their text: few differ, and reading them was half of the time of parsing.
 *
 * @type {BoundedMemo<readonly FetchItem[]>}
 */
const known = new BoundedMemo()

/**
 * @param {Arguments} args
 * @param {{ isUid: boolean }} command
 * @returns {FetchArguments}
 * @throws {import('../syntax-failure.js').SyntaxFailure}
 */
export function parseFetch(args, { isUid }) {
  const set = args.set(isUid, 1)
  const itemsText = args.lastText()
  if (itemsText !== null) {
    const items = known.get(itemsText, () => parseLastItems(args))
    return { isUid, set, items, itemsText, ...NO_MODIFIERS }
  }
  const items = parseItems(args)
  const modifiers = args.left > 0 ? parseModifiers(args.list(), isUid) : NO_MODIFIERS
  args.end()
  return { isUid, set, items, itemsText: null, ...modifiers }
}

/**
 * @param {Arguments} args
 * @returns {readonly FetchItem[]}
 */
function parseLastItems(args) {
  const items = parseItems(args)
  args.end()
  return Object.freeze(items)
}

/** @typedef {Pick<FetchArguments, 'changedSince' | 'isVanished' | 'page'>} FetchModifiers */

/** @type {FetchModifiers} */
const NO_MODIFIERS = Object.freeze({ changedSince: null, isVanished: false, page: null })

/**
 * @param {Arguments} args
 * @returns {FetchItem[]}
 */
function parseItems(args) {
  if (args.peek()?.type !== 'list') {
    const macro = expandMacro(args.peekWord() ?? '')
    if (macro === null) return [parseItem(args)]
    args.next()
    return macro
  }
  const list = args.list()
  const items = [parseItem(list)]
  while (list.left > 0) items.push(parseItem(list))
  return items.length === 1
    ? items
    : [...new Map(items.map((item) => [JSON.stringify(item), item])).values()]
}

/**
 * @param {Arguments} args
 * @returns {FetchItem}
 */
function parseItem(args) {
  const word = args.word()
  if (word.toUpperCase() === 'PREVIEW') return parsePreview(args)
  const match = SECTION_START.exec(word)
  if (match === null) return parseBinaryItem(word) ?? parsePlainItem(word)
  const [, name = '', spec = '', close, tail = ''] = match
  const isPeek = name.length > 'BODY'.length
  if (close !== undefined) return sectionItem(isPeek, parseSection(spec, null), tail)
  const fields = parseFieldNames(args)
  const end = args.nextAttached()
  if (end.type !== 'atom' || end.gap > 0 || !end.text.startsWith(']'))
    throw badSyntax('Missing closing bracket')
  return sectionItem(isPeek, parseSection(spec, fields), end.text.slice(1))
}

/**
 * `"PREVIEW" [SP "(" "LAZY" ")"]`, RFC 8970 §6. Another list behind it is that of the command's modifiers.
 * @param {Arguments} args - behind the word
 * @returns {FetchItem}
 */
function parsePreview(args) {
  const next = args.peek()
  const first = next?.type === 'list' ? next.items[0] : undefined
  const isLazy = first?.type === 'atom' && first.text.toUpperCase() === 'LAZY'
  if (isLazy && args.atomList().length > 1) throw badSyntax('Unknown PREVIEW modifier')
  return { kind: 'PREVIEW', isLazy }
}

/**
 * `header-list`, RFC 9051 §9; some clients leave out the space before it.
 * @param {Arguments} args
 * @returns {string[]}
 */
function parseFieldNames(args) {
  const list = args.attachedList()
  const fields = []
  do {
    const field = list.astring().toString('latin1')
    if (!PRINTABLE.test(field)) throw badSyntax('Invalid header name')
    fields.push(field)
  } while (list.left > 0)
  return fields
}

/**
 * @param {boolean} isPeek
 * @param {import('../values/fetch-item.js').Section} section
 * @param {string} tail
 * @returns {FetchItem}
 */
function sectionItem(isPeek, section, tail) {
  const partial = parsePartial(tail)
  return { kind: 'SECTION', isPeek, section, partial, label: sectionLabel(section) }
}

/**
 * @param {Arguments} list
 * @param {boolean} isUid
 * @returns {FetchModifiers}
 */
function parseModifiers(list, isUid) {
  /** @type {number | null} */
  let changedSince = null
  let isVanished = false
  /** @type {PartialRange | null} */
  let page = null
  do {
    const name = list.atom()
    // Apple's clients send CHANGEDSINCE 0, which the grammar forbids: every message has changed since.
    if (name === 'CHANGEDSINCE' && changedSince === null) changedSince = list.number64()
    else if (name === 'VANISHED' && !isVanished) isVanished = true
    else if (name === 'PARTIAL' && isUid && page === null) page = parsePartialRange(list.word())
    else throw badSyntax('Unknown FETCH modifier')
  } while (list.left > 0)
  if (isVanished && (!isUid || changedSince === null))
    throw badSyntax('VANISHED needs UID FETCH and CHANGEDSINCE')
  return { changedSince, isVanished, page }
}
