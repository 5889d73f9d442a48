/**
 * BINARY sections: a part's content without its transfer encoding, RFC 3516 §4.2 and §4.3. A literal says its length
 * first, and must be a literal8 if there is a NUL in it, so the content is decoded once to find out; small content is kept
 * from that, large content is decoded again as it goes out. Others have their turn between two pieces. The size of content
 * that is not encoded stands in the part tree.
 *
 * Multiparts and the whole message go out as they are: an encoding that they name is that of the parts in them. So should
 * attached messages (RFC 2045 §6.4), but many are in base64, and BODYSTRUCTURE says so.
 */
import { MailError } from '../../errors.js'
import { resolvePart, resolveSection } from '../../mime/section.js'
import { createTransferDecoder } from '../../mime/transfer-encoding.js'

/** @import { PartTree } from '../../mime/part-tree.js' */
/** @import { TransferDecoder } from '../../mime/transfer-encoding.js' */
/** @import { AccountStore, MessageRecord } from '../../store/account-store.js' */
/** @import { Slicer } from '../../support/slicer.js' */
/** @import { BinaryItem } from '../protocol/values/fetch-item.js' */

/** At most so many decoded bytes are kept from the first decoding. */
const KEPT_BYTES = 256 * 1024

/**
 * @typedef {object} BinarySource
 * @property {number} sizeBytes - of the range that is asked for, decoded
 * @property {boolean} [hasNul] - whether there is a NUL in it; not of a size alone
 * @property {Buffer | null} first
 * @property {AsyncIterator<Buffer> | null} rest
 * @property {number} heldBytes - of memory that it takes until it has been sent
 */

/**
 * @param {{ store: AccountStore, slicer: Slicer }} source - `slicer`: of the command
 * @param {MessageRecord} record
 * @param {PartTree} tree
 * @param {BinaryItem} item
 * @returns {Promise<BinarySource | null>} null when there is no such part
 * @throws {MailError} UNKNOWN_TRANSFER_ENCODING; MESSAGE_GONE
 */
export async function openBinary(source, record, tree, { kind, section, partial }) {
  const { path } = section
  const found = resolveSection(tree, section)
  if (found === null) return null
  const node = resolvePart(tree, path)
  const isWhole = path.length === 0 || node === null || node.type === 'multipart'
  const encoding = isWhole ? '' : node.encoding
  const decoder = createTransferDecoder(encoding)
  if (decoder === null) throw new MailError('UNKNOWN_TRANSFER_ENCODING')
  if (kind === 'BINARY.SIZE' && decoder.isIdentity)
    return { sizeBytes: found.end - found.start, first: null, rest: null, heldBytes: 0 }
  if (record.content)
    return openHeld(record.content.subarray(found.start, found.end), decoder, partial)
  const range = { contentId: record.contentId, start: found.start, end: found.end }
  const decode = () => rangeOf(decodedPieces(source, range, encoding), partial)
  let sizeBytes = 0
  let hasNul = false
  /** @type {Buffer[] | null} */
  let kept = kind === 'BINARY.SIZE' ? null : []
  for await (const piece of decode()) {
    sizeBytes += piece.length
    hasNul ||= piece.includes(0)
    if (sizeBytes > KEPT_BYTES) kept = null
    // Copied: a piece may be a few bytes of a chunk, all of which would be kept.
    kept?.push(Buffer.from(piece))
  }
  const rest = kept === null ? decode() : inOrder(kept)
  return { sizeBytes, hasNul, first: null, rest, heldBytes: kept === null ? 0 : sizeBytes }
}

/**
 * @param {Buffer} bytes - of a part of a short message
 * @param {TransferDecoder} decoder
 * @param {{ offset: number, length: number } | null} partial - null: everything
 * @returns {BinarySource}
 */
function openHeld(bytes, decoder, partial) {
  const begin = decoder.push(bytes)
  const end = decoder.end()
  const decoded = end.length === 0 ? begin : Buffer.concat([begin, end])
  const first =
    partial === null ? decoded : decoded.subarray(partial.offset, partial.offset + partial.length)
  const heldBytes = decoder.isIdentity ? 0 : decoded.length
  return { sizeBytes: first.length, hasNul: first.includes(0), first, rest: null, heldBytes }
}

/**
 * @param {{ store: AccountStore, slicer: Slicer }} source
 * @param {{ contentId: number, start: number, end: number }} range - of the message's bytes; `end` is exclusive
 * @param {string} encoding - one that is known
 * @returns {AsyncGenerator<Buffer, void>}
 */
async function* decodedPieces({ store, slicer }, { contentId, start, end }, encoding) {
  const decoder = createTransferDecoder(encoding)
  if (decoder === null || start >= end) return
  for await (const piece of store.readContent(contentId, start, end)) {
    yield decoder.push(piece)
    await slicer.breathe()
  }
  yield decoder.end()
}

/**
 * @param {AsyncGenerator<Buffer, void>} pieces
 * @param {{ offset: number, length: number } | null} partial - null: everything
 * @returns {AsyncGenerator<Buffer, void>} no piece is empty
 */
async function* rangeOf(pieces, partial) {
  let at = 0
  const from = partial?.offset ?? 0
  const to = from + (partial?.length ?? Infinity)
  for await (const piece of pieces) {
    const start = Math.max(0, from - at)
    const wanted = piece.subarray(start, Math.max(start, to - at))
    if (wanted.length > 0) yield wanted
    at += piece.length
    if (at >= to) return
  }
}

/**
 * @param {readonly Buffer[]} pieces
 * @returns {AsyncGenerator<Buffer, void>}
 */
async function* inOrder(pieces) {
  yield* pieces
}
