/**
 * The fast path of FETCH for sections of short messages: a stored message is unpacked as far as its sections reach and copied
 * into the answer; nothing is awaited, and next to no object is made for a message. A message that is longer, but not very
 * long, and asked for as a whole goes out in the pieces in which it is stored.
 */
import { decodePartTree } from '../../mime/part-tree.js'
import { filterHeader, resolveSection } from '../../mime/section.js'
import { maskNul } from '../protocol/compile/mask-nul.js'
import { isWhole } from './fetch-plan.js'

/** @import { PartTree } from '../../mime/part-tree.js' */
/** @import { FieldsSection, RangeSection } from '../../mime/section.js' */
/** @import { LongBody, StoredBody } from '../../store/read-bodies.js' */
/** @import { FetchWriter } from '../protocol/compile/fetch.js' */
/** @import { FetchItem, SectionItem } from '../protocol/values/fetch-item.js' */

/**
 * @param {FetchWriter} writer - within the message's response
 * @param {readonly FetchItem[]} items - of a plan for bodies
 * @param {StoredBody} body - read with what they need
 * @param {object} options
 * @param {number} options.wholeBytes - of the needs
 * @param {(kind: FetchItem['kind']) => void} options.writeOther - for what is told from elsewhere
 * @returns {boolean} false: it is damaged, and what was written is worth nothing
 */
export function writeBody(writer, items, body, { wholeBytes, writeOther }) {
  const writeSection = body.size <= wholeBytes ? writeWhole : sectionsOf(body, items)
  const isSound = writeItems(writer, items, body, { writeOther, writeSection })
  writer.maskNul()
  return isSound
}

/**
 * @param {FetchWriter} writer - within the message's response
 * @param {readonly FetchItem[]} items - of a plan for whole bodies
 * @param {LongBody} body
 * @param {object} ways
 * @param {(kind: FetchItem['kind']) => void} ways.writeOther - for what is told from elsewhere
 * @param {(pieces: Buffer[]) => void} ways.sendPieces - behind what is written so far
 */
export function writeLongBody(writer, items, body, { writeOther, sendPieces }) {
  const writeSection = (/** @type {FetchWriter} */ _, /** @type {SectionItem} */ item) => {
    writer.sectionHead(item, body.size)
    body.pieces.forEach(maskNul)
    sendPieces(body.pieces)
    return true
  }
  writeItems(writer, items, body, { writeOther, writeSection })
}

/**
 * @template {StoredBody | LongBody} Body
 * @param {FetchWriter} writer
 * @param {readonly FetchItem[]} items
 * @param {Body} body
 * @param {object} ways
 * @param {(kind: FetchItem['kind']) => void} ways.writeOther
 * @param {((writer: FetchWriter, item: SectionItem, body: Body) => boolean) | null} ways.writeSection - null: it is damaged
 * @returns {boolean} false: it is damaged
 */
function writeItems(writer, items, body, { writeOther, writeSection }) {
  for (const item of items) {
    if (item.kind === 'RFC822.SIZE') writer.size(body.size)
    else if (item.kind === 'INTERNALDATE' && body.internalDate)
      writer.internalDate(body.internalDate)
    else if (item.kind !== 'SECTION') writeOther(item.kind)
    else if (writeSection === null || !writeSection(writer, item, body)) return false
  }
  return true
}

/**
 * @param {FetchWriter} writer
 * @param {SectionItem} item - the only one
 * @param {StoredBody} body
 * @returns {boolean} false where the stored message is damaged
 */
function writeWhole(writer, item, body) {
  let isSound = false
  const unpack = (/** @type {Buffer} */ target, /** @type {number} */ at) => {
    isSound = body.unpackInto(target, at)
  }
  writer.sectionDirect(item, body.size, unpack, 1)
  return isSound
}

/**
 * @param {StoredBody} body - with its part tree, if a part is asked for
 * @param {readonly FetchItem[]} items
 * @returns {((writer: FetchWriter, item: SectionItem) => boolean) | null} writes one of the sections; null: it is damaged
 */
function sectionsOf(body, items) {
  const tree = body.partTree && decodePartTree(body.partTree)
  const places = items.map((item) =>
    item.kind === 'SECTION' ? placeOf(item, tree, body.size) : null
  )
  const end = places.reduce((most, place) => Math.max(most, place?.end ?? 0), 0)
  // A section that ends behind the message shows that the tree is not that of this message.
  const bytes = end <= body.size ? body.unpack(end) : null
  if (bytes === null) return null
  return (writer, item) => {
    const place = places[items.indexOf(item)] ?? null
    if (place === null) writer.noSection(item)
    else {
      const piece = pieceOf(item, place, bytes)
      writer.sectionHead(item, piece.length).bytes(piece)
    }
    return true
  }
}

/**
 * @param {SectionItem} item
 * @param {PartTree | null} tree - null where no part is asked for
 * @param {number} size - of the message
 * @returns {RangeSection | FieldsSection | null} null where there is no such part
 */
function placeOf(item, tree, size) {
  const { section, partial } = item
  const whole = { kind: /** @type {const} */ ('range'), start: 0, end: size }
  const place = isWhole(item) ? whole : resolveSection(/** @type {PartTree} */ (tree), section)
  if (place?.kind !== 'range' || partial === null) return place
  const start = Math.min(place.end, place.start + partial.offset)
  return { kind: 'range', start, end: Math.min(place.end, start + partial.length) }
}

/**
 * @param {SectionItem} item
 * @param {RangeSection | FieldsSection} place
 * @param {Buffer} bytes - of the message, as far as they are asked for
 * @returns {Buffer} what is asked for
 */
function pieceOf({ partial }, place, bytes) {
  const range = bytes.subarray(place.start, place.end)
  if (place.kind === 'range') return range
  const filtered = filterHeader(range, place)
  return partial === null
    ? filtered
    : filtered.subarray(partial.offset, partial.offset + partial.length)
}
