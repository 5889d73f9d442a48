/**
 * Finds the bytes of the sections that a FETCH asks of one message.
 */
import { isMailError } from '../../errors.js'
import { decodePartTree } from '../../mime/part-tree.js'
import { filterHeader, resolveSection } from '../../mime/section.js'
import { HELD_BYTES } from '../../store/content-reader.js'
import { openBinary } from './binary-section.js'
import { isBinary, isWhole } from './fetch-plan.js'
import { requireRead } from './record-item.js'

/** @import { PartTree } from '../../mime/part-tree.js' */
/** @import { AccountStore } from '../../store/account-store.js' */
/** @import { MessageRecord } from '../../store/read-messages.js' */
/** @import { Slicer } from '../../support/slicer.js' */
/** @import { BinaryItem, FetchItem, SectionItem } from '../protocol/values/fetch-item.js' */

/**
 * @typedef {object} SectionSource - a section's bytes, the first piece at hand
 * @property {number} sizeBytes
 * @property {boolean} [hasNul] - of BINARY: it must be a literal8
 * @property {Buffer | null} first
 * @property {AsyncIterator<Buffer> | null} rest
 * @property {boolean} [isOwned] - whether nobody else uses the pieces, nor the memory that they lie in
 * @property {number} heldBytes - of memory that it takes until it has been sent
 *
 * @typedef {SectionSource | null | (() => Promise<SectionSource | null>)} OpenedSection - null for a part that is not there;
 *   a function where the bytes are to be read again when they are sent
 */

/** A header of more bytes is not filtered: no mail program writes one. */
const MAX_FILTERED_BYTES = 1024 * 1024

/**
 * The sections of one message hold at most so many bytes in memory before they are sent: more than mail programs ask for.
 * Thousands of sections fit into one command, and each may begin with a chunk, or be a megabyte of header.
 */
const MAX_HELD_BYTES = 4 * 1024 * 1024

/**
 * Finds every section and reads the first piece of each, so that a failure comes before the response has begun.
 *
 * @param {{ store: AccountStore, slicer: Slicer }} source - `slicer`: of the command
 * @param {readonly FetchItem[]} items
 * @param {MessageRecord} record
 * @returns {Promise<OpenedSection[] | null>} one for each section among the items; null when the message has gone
 */
export async function openSections(source, items, record) {
  /** @type {PartTree | null} */
  let tree = null
  const open = async (/** @type {SectionItem | BinaryItem} */ item) => {
    await source.slicer.breathe()
    if (!isBinary(item) && isWhole(item))
      return await openRange(source.store, record, item, 0, record.size)
    tree ??= decodePartTree(requireRead(record.partTree))
    return isBinary(item)
      ? await openBinary(source, record, tree, item)
      : await openPart(source.store, record, item, tree)
  }
  /** @type {OpenedSection[]} */
  const opened = []
  let heldBytes = 0
  try {
    for (const item of items) {
      if (item.kind !== 'SECTION' && !isBinary(item)) continue
      const section = await open(item)
      const size = section?.heldBytes ?? 0
      const hasRoom = heldBytes + size <= MAX_HELD_BYTES
      if (hasRoom) heldBytes += size
      // The chunks that were read with the first piece are given back now, not when the garbage collector comes.
      else await section?.rest?.return?.()
      opened.push(hasRoom ? section : () => open(item))
    }
  } catch (error) {
    if (isMailError(error, 'MESSAGE_GONE')) return null
    throw error
  }
  return opened
}

/**
 * @param {AccountStore} store
 * @param {MessageRecord} record
 * @param {SectionItem} item
 * @param {PartTree} tree
 * @returns {Promise<SectionSource | null>}
 */
async function openPart(store, record, item, tree) {
  const found = resolveSection(tree, item.section)
  if (found === null) return null
  if (found.kind === 'range') return await openRange(store, record, item, found.start, found.end)
  const end = Math.min(found.end, found.start + MAX_FILTERED_BYTES)
  if (record.content) {
    const block = record.content.subarray(found.start, end)
    return fromBytes(item, filterHeader(block, found))
  }
  const pieces = []
  for await (const piece of store.readContent(record.contentId, found.start, end)) {
    pieces.push(piece)
  }
  return fromBytes(item, filterHeader(Buffer.concat(pieces), found))
}

/**
 * @param {AccountStore} store
 * @param {MessageRecord} record
 * @param {SectionItem} item
 * @param {number} start - of the section in the message
 * @param {number} end
 * @returns {Promise<SectionSource>}
 */
async function openRange(store, record, item, start, end) {
  const from = item.partial === null ? start : Math.min(end, start + item.partial.offset)
  const to = item.partial === null ? end : Math.min(end, from + item.partial.length)
  if (from >= to) return { sizeBytes: 0, first: null, rest: null, heldBytes: 0 }
  if (record.content) {
    const first = record.content.subarray(from, to)
    return { sizeBytes: to - from, first, rest: null, heldBytes: 0 }
  }
  const pieces = store.readContent(record.contentId, from, to)
  const rest = pieces[Symbol.asyncIterator]()
  const { value, done } = await rest.next()
  const first = done === true ? null : value
  // The chunk of a piece may be larger than the piece, and other chunks may have been read with it.
  const memory = first?.buffer.byteLength ?? 0
  const hasMore = first !== null && first.length < to - from
  const heldBytes = hasMore ? Math.max(memory, HELD_BYTES) : memory
  return { sizeBytes: to - from, first, rest, isOwned: true, heldBytes }
}

/**
 * @param {SectionItem} item
 * @param {Buffer} bytes - the whole section
 * @returns {SectionSource} of the part that is asked for
 */
function fromBytes(item, bytes) {
  const { partial } = item
  const first =
    partial === null ? bytes : bytes.subarray(partial.offset, partial.offset + partial.length)
  return { sizeBytes: first.length, first, rest: null, heldBytes: bytes.length }
}
