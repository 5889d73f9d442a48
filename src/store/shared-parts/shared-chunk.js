/**
 * Chunks of which parts are stored elsewhere, once for several messages: references in their place say where.
 *
 *     1 byte    codec of the rest
 *     2 bytes   number of references; then for each
 *     4 bytes     bytes of the chunk before it, behind the one before
 *     4 bytes     bytes of the chunk that it stands for
 *     6 bytes     id of the shared part
 *     6 bytes     decoded bytes of that
 *     2 bytes     characters of a line of its text here
 *     6 bytes     where in that text it begins
 *     …         the rest of the chunk, in its codec
 *
 * Numbers have their lowest byte first.
 */
import { CODEC_SHARED, LONG_CHUNK_SIZES, decodeChunk, encodeChunk } from '../chunk-codec.js'
import { releaseBuffer, takeBuffer } from '../../support/release-buffer.js'
import { decodedRange, textBytes, writeText } from './base64-text.js'

/**
 * @typedef {object} Reference
 * @property {number} at - where it stands in the chunk, bytes
 * @property {number} bytes - of the chunk
 * @property {number} partId - shared_parts.id
 * @property {number} size - of the part, decoded bytes
 * @property {number} line - characters of a line of its text
 * @property {number} from - first byte of that text
 *
 * @typedef {object} SharedChunk
 * @property {Reference[]} references - in the order in which they stand
 * @property {number} codec - of the rest
 * @property {Buffer} data - of the rest
 * @property {number} restBytes - raw bytes of it
 *
 * @callback ReadPart - brings bytes of a shared part
 * @param {{ partId: number, size: number }} part
 * @param {{ start: number, end: number }} range - decoded bytes
 * @returns {Buffer} for `releaseBuffer`
 * @throws {import('../../errors.js').MailError} ACCOUNT_DAMAGED where they are missing
 */

/** Decoded bytes in each chunk of a shared part but the last. */
export const PART_CHUNK_BYTES = /** @type {number} */ (LONG_CHUNK_SIZES.at(-1))

const HEAD_BYTES = 3
const ENTRY_BYTES = 28

/** The shortest line that can be. */
const MIN_LINE = 4

/**
 * @param {Buffer} raw - of the chunk
 * @param {readonly Reference[]} references - in the order in which they stand; none covers another
 * @returns {{ codec: number, data: Buffer }}
 */
export function encodeSharedChunk(raw, references) {
  const rest = takeBuffer(raw.length)
  const head = Buffer.alloc(HEAD_BYTES + references.length * ENTRY_BYTES)
  let entry = head.writeUInt16LE(references.length, 1)
  let from = 0
  let restBytes = 0
  for (const { at, bytes, partId, size, line, from: textFrom } of references) {
    restBytes += raw.copy(rest, restBytes, from, at)
    entry = head.writeUInt32LE(at - from, entry)
    entry = head.writeUInt32LE(bytes, entry)
    entry = head.writeUIntLE(partId, entry, 6)
    entry = head.writeUIntLE(size, entry, 6)
    entry = head.writeUInt16LE(line, entry)
    entry = head.writeUIntLE(textFrom, entry, 6)
    from = at + bytes
  }
  restBytes += raw.copy(rest, restBytes, from)
  const { codec, data } = encodeChunk(rest.subarray(0, restBytes))
  head.writeUInt8(codec, 0)
  const whole = Buffer.concat([head, data])
  releaseBuffer(data)
  releaseBuffer(rest)
  return { codec: CODEC_SHARED, data: whole }
}

/**
 * @param {Buffer} data - of a chunk of CODEC_SHARED
 * @param {number} size - raw bytes that the chunk should have
 * @returns {SharedChunk | null} null: it is damaged
 */
export function parseSharedChunk(data, size) {
  if (data.length < HEAD_BYTES) return null
  const count = data.readUInt16LE(1)
  const restAt = HEAD_BYTES + count * ENTRY_BYTES
  if (data.length < restAt) return null
  /** @type {Reference[]} */
  const references = []
  let end = 0
  let restBytes = size
  for (let entry = HEAD_BYTES; entry < restAt; entry += ENTRY_BYTES) {
    const at = end + data.readUInt32LE(entry)
    const reference = {
      at,
      bytes: data.readUInt32LE(entry + 4),
      partId: data.readUIntLE(entry + 8, 6),
      size: data.readUIntLE(entry + 14, 6),
      line: data.readUInt16LE(entry + 20),
      from: data.readUIntLE(entry + 22, 6)
    }
    if (!isSound(reference)) return null
    references.push(reference)
    end = at + reference.bytes
    restBytes -= reference.bytes
  }
  if (end > size) return null
  return { references, codec: data.readUInt8(0), data: data.subarray(restAt), restBytes }
}

/**
 * @param {Reference} reference
 * @returns {boolean}
 */
const isSound = ({ bytes, size, line, from }) =>
  bytes > 0 &&
  size > 0 &&
  line >= MIN_LINE &&
  line % 4 === 0 &&
  from + bytes <= textBytes({ line, size })

/**
 * @param {Buffer} data - of a chunk of CODEC_SHARED
 * @param {number} size - raw bytes that the chunk should have
 * @param {ReadPart} readPart
 * @returns {Buffer | null} the raw bytes, for `releaseBuffer`; null: it is damaged
 * @throws {import('../../errors.js').MailError} ACCOUNT_DAMAGED, and what `readPart` throws
 */
export function unpackSharedChunk(data, size, readPart) {
  const chunk = parseSharedChunk(data, size)
  if (chunk === null) return null
  const rest = decodeChunk(chunk.codec, chunk.data, chunk.restBytes)
  if (rest.length !== chunk.restBytes) return null
  // A byte more, as for what unpacks straight into a buffer: whoever gets this one may need it, too.
  const raw = takeBuffer(size + 1)
  let [from, to] = [0, 0]
  for (const { at, bytes, partId, size: partSize, line, from: textFrom } of chunk.references) {
    from += rest.copy(raw, to, from, from + at - to)
    const range = { from: textFrom, to: textFrom + bytes }
    const decoded = readPart(
      { partId, size: partSize },
      decodedRange({ line, size: partSize }, range)
    )
    writeText(decoded, { line, ...range }, raw, at)
    releaseBuffer(decoded)
    to = at + bytes
  }
  rest.copy(raw, to, from)
  if (chunk.data.buffer !== rest.buffer) releaseBuffer(rest)
  return raw.subarray(0, size)
}
