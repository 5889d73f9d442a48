/**
 * Finds out what a FETCH needs to read: the shared view alone, narrow rows, stored structures, or the message's bytes.
 */

/** @import { BodyNeeds } from '../../store/read-bodies.js' */
/** @import { BinaryItem, FetchItem } from '../protocol/values/fetch-item.js' */

/**
 * @typedef {object} ReadNeeds - as `AccountStore.readMessages` takes it
 * @property {boolean} row
 * @property {boolean} threadRoot
 * @property {boolean} envelope
 * @property {boolean} body
 * @property {boolean} bodyStructure
 * @property {boolean} content - of messages that are short
 * @property {boolean} partTree
 */

/** @typedef {Extract<FetchItem, { kind: 'SECTION' }>} SectionItem */

/** @typedef {{ withUid: boolean, withFlags: boolean, withModSeq: boolean }} FlagLine */

/**
 * @typedef {object} FetchPlan
 * @property {readonly FetchItem[]} items - in the order of the response
 * @property {ReadNeeds} needs
 * @property {boolean} isViewOnly - flags, UID and MODSEQ: no row is read
 * @property {FlagLine | null} flagLine - where these are all items, in the order in which `FetchWriter.flagLine` writes them
 * @property {boolean} isWide - headers or structures are read, which may be large
 * @property {boolean} setsSeen - a section without PEEK (RFC 3501 §6.4.5)
 * @property {boolean} usesModSeq - enables CONDSTORE (RFC 7162 §3.1)
 */

/**
 * The items that the message's row answers.
 *
 * @type {FetchItem['kind'][]}
 */
const ROW_KINDS = ['INTERNALDATE', 'RFC822.SIZE', 'SAVEDATE', 'EMAILID']

/**
 * @param {object} options
 * @param {readonly FetchItem[]} options.items
 * @param {boolean} options.isUid - the UID is in every response (RFC 3501 §6.4.8)
 * @param {boolean} options.isChangedSince - the MODSEQ too (RFC 7162 §3.1.4.1)
 * @returns {FetchPlan}
 */
export function planFetch({ items, isUid, isChangedSince }) {
  const all = [...items]
  const has = (/** @type {FetchItem['kind']} */ kind) => all.some((item) => item.kind === kind)
  if (isUid && !has('UID')) all.unshift({ kind: 'UID' })
  if (isChangedSince && !has('MODSEQ')) all.push({ kind: 'MODSEQ' })
  const sections = /** @type {SectionItem[]} */ (all.filter(({ kind }) => kind === 'SECTION'))
  const binary = all.filter(isBinary)
  const needs = {
    row: ROW_KINDS.some(has) || sections.length + binary.length > 0,
    threadRoot: has('THREADID'),
    envelope: has('ENVELOPE'),
    body: has('BODY'),
    bodyStructure: has('BODYSTRUCTURE'),
    content: all.some(readsContent),
    partTree: binary.length > 0 || has('PREVIEW') || !sections.every(isWhole)
  }
  return {
    items: all,
    needs,
    isViewOnly: !Object.values(needs).includes(true),
    flagLine: flagLineOf(all.map(({ kind }) => kind)),
    isWide: needs.envelope || needs.body || needs.bodyStructure || needs.content || needs.partTree,
    setsSeen: [...sections, ...binary].some(({ isPeek }) => !isPeek),
    usesModSeq: has('MODSEQ') || isChangedSince
  }
}

/**
 * @param {readonly string[]} kinds
 * @returns {FlagLine | null}
 */
function flagLineOf(kinds) {
  const inOrder = ['UID', 'FLAGS', 'MODSEQ'].filter((kind) => kinds.includes(kind))
  if (inOrder.join() !== kinds.join()) return null
  return {
    withUid: kinds.includes('UID'),
    withFlags: kinds.includes('FLAGS'),
    withModSeq: kinds.includes('MODSEQ')
  }
}

/**
 * @param {FetchItem} item
 * @returns {boolean} whether it is made of the message's bytes, and not for some messages only
 */
function readsContent(item) {
  const { kind } = item
  return kind === 'SECTION' || kind === 'BINARY' || (kind === 'PREVIEW' && !item.isLazy)
}

/**
 * At most so many sections are made of a message without waiting for the client or giving way to others: mail programs ask for
 * two, a command has room for thousands.
 */
export const MAX_SECTIONS = 4

/** Items that the fast path of bodies (fetch-body.js) answers beside sections. */
const BESIDE_BODY = new Set(['UID', 'FLAGS', 'MODSEQ', 'EMAILID', 'RFC822.SIZE', 'INTERNALDATE'])

/**
 * @param {FetchPlan} plan
 * @returns {BodyNeeds | null} null where something else than sections is asked for that must be read
 */
export function planBodies({ items, setsSeen }) {
  const sections = items.filter((item) => item.kind === 'SECTION')
  const isFit = items.every(({ kind }) => kind === 'SECTION' || BESIDE_BODY.has(kind))
  if (setsSeen || !isFit || sections.length === 0 || sections.length > MAX_SECTIONS) return null
  return {
    withTrees: !sections.every(isWhole),
    withDates: items.some(({ kind }) => kind === 'INTERNALDATE'),
    wholeBytes: sections.length === 1 ? wholeBytesOf(/** @type {SectionItem} */ (sections[0])) : 0
  }
}

/**
 * @param {SectionItem} item
 * @returns {number} a message of up to so many bytes is asked for as a whole: iOS Mail begins every message with its first
 *   384 KiB, K-9 with what it may download
 */
function wholeBytesOf(item) {
  if (!isWhole(item)) return 0
  if (item.partial === null) return Infinity
  return item.partial.offset === 0 ? item.partial.length : 0
}

/**
 * @param {FetchItem} item
 * @returns {item is BinaryItem} whether it is a decoded section, or the size of one
 */
export function isBinary(item) {
  return item.kind === 'BINARY' || item.kind === 'BINARY.SIZE'
}

/**
 * @param {SectionItem} item
 * @returns {boolean} whether it is the whole message
 */
export function isWhole({ section }) {
  return section.path.length === 0 && section.text === null
}

/**
 * @param {SectionItem} item
 * @returns {boolean} whether the message's own header answers it
 */
export function isTopHeader({ section }) {
  return section.path.length === 0 && section.text !== null && section.text.startsWith('HEADER')
}
