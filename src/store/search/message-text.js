/**
 * Brings a message's header and decoded text from the store, one part at a time, so that no message lies in memory as a
 * whole. What counts as text is src/mime/text-extract.js's to say; here is the way there without blocking.
 */
import {
  MAX_CACHED_HEADER_BYTES,
  MAX_HEADER_BLOCK_BYTES,
  MAX_TEXT_PART_BYTES
} from '../../mime/limits.js'
import { decodePartTree } from '../../mime/part-tree.js'
import { decodeText, searchableHeader } from '../../mime/text-extract.js'

/** @typedef {import('../../mime/part-tree.js').PartNode} PartNode */
/** @typedef {Pick<import('../account-store.js').AccountStore, 'readContent'>} ContentReader */
/** @typedef {Pick<import('../account-store.js').MessageRecord, 'contentId' | 'size' | 'header' | 'partTree'>} TextRecord */

/** Up to here a message with several texts is read once: its few chunks would be unpacked again for each of them. */
const WHOLE_MESSAGE_BYTES = 256 * 1024

/** @typedef {{ start: number, end: number, decode: (bytes: Buffer) => string }} TextRange */

/**
 * @param {ContentReader} store
 * @param {TextRecord} record - read with `header`, or with `partTree`
 * @returns {Promise<Buffer>} the header block; of a huge one the first MAX_HEADER_BLOCK_BYTES
 */
export async function readHeaderBlock(store, record) {
  if (record.header) return record.header
  const { headerEnd } = record.partTree
    ? decodePartTree(record.partTree)
    : { headerEnd: record.size }
  return await readRange(store, record, 0, Math.min(headerEnd, MAX_HEADER_BLOCK_BYTES))
}

/**
 * The same pieces as `textPieces` gives: each text part, and the header of each message inside.
 *
 * @param {ContentReader} store
 * @param {TextRecord} record - read with `partTree`
 * @returns {AsyncGenerator<string>} decoded text
 */
export async function* readTextPieces(store, record) {
  if (!record.partTree) return
  const ranges = [...textRanges(decodePartTree(record.partTree))]
  const isSmall = record.size <= WHOLE_MESSAGE_BYTES && ranges.length > 1
  const whole = isSmall ? await readRange(store, record, 0, record.size) : null
  for (const { start, end, decode } of ranges) {
    yield decode(whole ? whole.subarray(start, end) : await readRange(store, record, start, end))
  }
}

/**
 * @param {PartNode} node
 * @returns {Generator<TextRange>} in the message's order
 */
function* textRanges(node) {
  const { type, headerEnd, bodyEnd, children } = node
  const [inner] = children
  if (type === 'text' && bodyEnd > headerEnd) {
    const end = Math.min(bodyEnd, headerEnd + MAX_TEXT_PART_BYTES)
    yield { start: headerEnd, end, decode: (bytes) => decodeText(node, bytes) }
  } else if (node.isMessage && inner) {
    const end = Math.min(inner.headerEnd, inner.headerStart + MAX_CACHED_HEADER_BYTES)
    yield { start: inner.headerStart, end, decode: searchableHeader }
    yield* textRanges(inner)
  } else {
    for (const child of children) yield* textRanges(child)
  }
}

/**
 * @param {ContentReader} store
 * @param {TextRecord} record
 * @param {number} start
 * @param {number} end - exclusive
 * @returns {Promise<Buffer>}
 */
async function readRange(store, { contentId }, start, end) {
  /** @type {Buffer[]} */
  const pieces = []
  for await (const piece of store.readContent(contentId, start, end)) pieces.push(piece)
  return pieces.length === 1 ? /** @type {Buffer} */ (pieces[0]) : Buffer.concat(pieces)
}
