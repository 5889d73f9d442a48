/**
 * Finds the bytes of the sections that a FETCH asks of one message.
 */
import { isMailError } from '../../errors.js'
import { decodePartTree } from '../../mime/part-tree.js'
import { filterHeader, resolveSection } from '../../mime/section.js'
import { openBinary } from './binary-section.js'
import { isBinary, isWhole } from './fetch-plan.js'

/** @import { PartTree } from '../../mime/part-tree.js' */
/** @import { AccountStore } from '../../store/account-store.js' */
/** @import { MessageRecord } from '../../store/read-messages.js' */
/** @import { Slicer } from '../../support/slicer.js' */
/** @import { BinaryItem, FetchItem, SectionItem } from '../protocol/values/fetch-item.js' */

/**
 * @typedef {object} SectionSource - a section's bytes, the first piece at hand
 * @property {SectionItem | BinaryItem} item
 * @property {number} sizeBytes
 * @property {boolean} [hasNul] - of BINARY: it must be a literal8
 * @property {Buffer | null} first
 * @property {AsyncIterator<Buffer> | null} rest
 * @property {boolean} [isOwned] - whether nobody else uses the pieces, nor the memory that they lie in
 */

/** Headers above this are filtered no more: no mail program writes them. */
const MAX_FILTERED_BYTES = 1024 * 1024

/**
 * Finds every section and reads the first piece of each, so that what can fail fails before the response has begun.
 *
 * @param {{ store: AccountStore, slicer: Slicer }} source - `slicer`: of the command
 * @param {readonly FetchItem[]} items
 * @param {MessageRecord} record
 * @returns {Promise<(SectionSource | null)[] | null>} one for each section among the items, null for a part that is not
 *   there; null as a whole when the message has gone
 */
export async function openSections(source, items, record) {
  const { store } = source
  /** @type {(SectionSource | null)[]} */
  const sources = []
  /** @type {PartTree | null} */
  let tree = null
  try {
    for (const item of items) {
      if (isBinary(item)) {
        tree ??= decodePartTree(required(record.partTree))
        const binary = await openBinary(source, record, tree, item)
        sources.push(binary === null ? null : { item, first: null, ...binary })
        continue
      }
      if (item.kind !== 'SECTION') continue
      // Thousands of them fit into one command, and each may read a chunk, or look through a megabyte of header.
      await source.slicer.breathe()
      if (isWhole(item)) sources.push(await openRange(store, record, item, 0, record.size))
      else {
        tree ??= decodePartTree(required(record.partTree))
        sources.push(await openPart(store, record, item, tree))
      }
    }
  } catch (error) {
    if (isMailError(error, 'MESSAGE_GONE')) return null
    throw error
  }
  return sources
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
    return fromBytes(item, filterHeader(block, found.fields, found.not))
  }
  const pieces = []
  for await (const piece of store.readContent(record.contentId, found.start, end)) {
    pieces.push(piece)
  }
  return fromBytes(item, filterHeader(Buffer.concat(pieces), found.fields, found.not))
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
  if (from >= to) return { item, sizeBytes: 0, first: null, rest: null }
  if (record.content) {
    return { item, sizeBytes: to - from, first: record.content.subarray(from, to), rest: null }
  }
  const pieces = store.readContent(record.contentId, from, to)
  const rest = pieces[Symbol.asyncIterator]()
  const { value, done } = await rest.next()
  const first = done === true ? null : value
  return { item, sizeBytes: to - from, first, rest, isOwned: true }
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
  return { item, sizeBytes: first.length, first, rest: null }
}

/**
 * @param {Buffer | undefined} bytes
 * @returns {Buffer}
 */
function required(bytes) {
  if (bytes === undefined) throw new Error('the store did not read what was asked for')
  return bytes
}
