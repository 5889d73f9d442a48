/**
 * How the bytes of one chunk are stored. Each chunk is compressed by itself, base64 in it decoded before, so that reading
 * a range touches no other; what does not shrink is stored as it is.
 */
import { MailError } from '../errors.js'
import { releaseBuffer, takeBuffer } from '../support/release-buffer.js'
import { packBase64, unpackBase64 } from './base64-lines.js'
import { MAIL_FRAMES, compressFrame, decompressInto } from './zstd.js'

/**
 * A message of up to this is one chunk, bytes: large enough for zstd to find what repeats (HTML), and one row is all that has
 * to be read.
 */
export const CHUNK_BYTES = 128 * 1024

/**
 * Raw bytes that each chunk of a longer one may have. They divide, or are divided by, the 64 KiB that mail programs ask for
 * at a time.
 */
export const LONG_CHUNK_SIZES = Object.freeze([CHUNK_BYTES, CHUNK_BYTES / 2, CHUNK_BYTES / 4])

/**
 * Below the allocator's threshold of mappings (config/runtime.js), bytes: SQLite and the library put each row into memory of its
 * own, and of rows of 100 KB a third of the time went into mapping memory, touching it and giving it back.
 */
const ROW_BYTES = 30 * 1024

/**
 * @param {number} packedBytes - of the first CHUNK_BYTES of a long message
 * @returns {number} raw bytes in each of its chunks: the most that make no long rows, because larger chunks pack better
 */
export function longChunkBytes(packedBytes) {
  const smallest = /** @type {number} */ (LONG_CHUNK_SIZES.at(-1))
  const share = packedBytes / CHUNK_BYTES
  return LONG_CHUNK_SIZES.find((size) => size * share <= ROW_BYTES) ?? smallest
}

/** Stored as they are. */
export const CODEC_RAW = 0
/** One zstd frame. */
const CODEC_ZSTD = 1
/** With base64 decoded, as base64-lines.js says. */
const CODEC_BASE64 = 2
/** The length of the same, 4 bytes, lowest first; then one zstd frame of it. */
const CODEC_BASE64_ZSTD = 3
/** As CODEC_ZSTD, by dictionary 1 (mail-dictionary.js). */
const CODEC_MAIL_ZSTD = 4
/** As CODEC_BASE64_ZSTD, by dictionary 1. */
const CODEC_BASE64_MAIL_ZSTD = 5
/** Parts of it are stored elsewhere: shared-parts/shared-chunk.js unpacks it. */
export const CODEC_SHARED = 6

/**
 * @param {unknown} value - of a row that may be a chunk
 * @returns {boolean}
 */
export const isCodec = (value) =>
  value === CODEC_RAW ||
  value === CODEC_ZSTD ||
  value === CODEC_BASE64 ||
  value === CODEC_BASE64_ZSTD ||
  value === CODEC_MAIL_ZSTD ||
  value === CODEC_BASE64_MAIL_ZSTD ||
  value === CODEC_SHARED

/**
 * Up to so many bytes are compressed with the dictionary. What is longer holds most of its phrases itself: it would become
 * 3 to 7 % smaller, where what is short gains 11 to 27 %, and would take longer to pack and to unpack.
 */
const DICTIONARY_BYTES = 32 * 1024

/** A saving below one part in 16 is not worth decompressing at each read. */
const WORTHWHILE_DIVISOR = 16

const LENGTH_BYTES = 4
/** What is unpacked needs so many bytes behind it. */
const SPARE_BYTES = 1

export { releaseBuffer }

/** @typedef {{ codec: number, data: Buffer }} EncodedChunk */

/**
 * @param {Buffer} raw
 * @returns {EncodedChunk} whose data may be `raw` itself
 */
export function encodeChunk(raw) {
  if (raw.length === 0) return { codec: CODEC_RAW, data: raw }
  const decoded = packBase64(raw)
  const bytes = decoded ?? raw
  const hasDictionary = bytes.length <= DICTIONARY_BYTES
  const frame = compressed(bytes, hasDictionary)
  if (decoded === null) {
    if (frame === null) return { codec: CODEC_RAW, data: raw }
    return { codec: hasDictionary ? CODEC_MAIL_ZSTD : CODEC_ZSTD, data: frame }
  }
  if (frame === null) return { codec: CODEC_BASE64, data: copyOf(decoded) }
  const data = Buffer.allocUnsafeSlow(LENGTH_BYTES + frame.length)
  data.writeUInt32LE(decoded.length, 0)
  frame.copy(data, LENGTH_BYTES)
  releaseBuffer(frame)
  return { codec: hasDictionary ? CODEC_BASE64_MAIL_ZSTD : CODEC_BASE64_ZSTD, data }
}

/**
 * @param {Buffer} raw - in memory that others have a part of, or that is used again
 * @returns {EncodedChunk} in memory of its own
 */
export function packChunk(raw) {
  const { codec, data } = encodeChunk(raw)
  return { codec, data: data === raw ? copyOf(raw) : data }
}

/**
 * @param {Buffer} bytes
 * @returns {Buffer} in memory of its own
 */
export function copyOf(bytes) {
  const copy = Buffer.allocUnsafeSlow(bytes.length)
  bytes.copy(copy)
  return copy
}

/**
 * @param {Buffer} bytes
 * @param {boolean} hasDictionary
 * @returns {Buffer | null} a zstd frame; null when it is not worth it
 */
function compressed(bytes, hasDictionary) {
  const frame = compressFrame(bytes, hasDictionary ? MAIL_FRAMES : undefined)
  if (frame.length <= bytes.length - bytes.length / WORTHWHILE_DIVISOR) return frame
  releaseBuffer(frame)
  return null
}

/**
 * @param {number} codec
 * @param {Buffer} data
 * @param {number} size - raw bytes that are expected
 * @returns {Buffer} the raw bytes, in memory of their own or that of `data`; of another length where these are stored as
 *   they are
 * @throws {MailError} ACCOUNT_DAMAGED
 */
export function decodeChunk(codec, data, size) {
  if (codec === CODEC_RAW) return data
  const raw = takeBuffer(size + SPARE_BYTES)
  if (unpackChunkInto(codec, data, { target: raw, at: 0, size })) return raw.subarray(0, size)
  releaseBuffer(raw)
  throw new MailError('ACCOUNT_DAMAGED', { detail: `chunk of codec ${codec} does not unpack` })
}

/**
 * @param {number} codec
 * @param {Buffer} data
 * @param {object} to
 * @param {Buffer} to.target - with room for `size` bytes; one more where the codec is zstd
 * @param {number} to.at - where in it
 * @param {number} to.size - raw bytes that are expected
 * @param {number} [to.wanted] - of the first of them: base64 behind these is not made, which is a good part of the work
 * @returns {boolean} false: it is damaged, or of an unknown codec
 */
export function unpackChunkInto(codec, data, { target, at, size, wanted = size }) {
  switch (codec) {
    case CODEC_RAW:
      return data.length === size && data.copy(target, at) === size
    case CODEC_ZSTD:
      return decompressInto(data, target, at, size)
    case CODEC_MAIL_ZSTD:
      return decompressInto(data, target, at, size, MAIL_FRAMES)
    case CODEC_BASE64:
      return unpackBase64(data, target, at, size, wanted)
    case CODEC_BASE64_ZSTD:
      return unpackCompressedBase64(data, { target, at, size, wanted })
    case CODEC_BASE64_MAIL_ZSTD:
      return unpackCompressedBase64(data, { target, at, size, wanted }, MAIL_FRAMES)
    default:
      return false
  }
}

/**
 * @param {Buffer} data
 * @param {{ target: Buffer, at: number, size: number, wanted: number }} to
 * @param {import('./zstd.js').Frames} [frames]
 * @returns {boolean}
 */
function unpackCompressedBase64(data, { target, at, size, wanted }, frames) {
  const length = data.length < LENGTH_BYTES ? 0 : data.readUInt32LE(0)
  // Decoded, a chunk is shorter than before.
  if (length === 0 || length > size) return false
  const decoded = takeBuffer(length + SPARE_BYTES)
  const isSound =
    decompressInto(data.subarray(LENGTH_BYTES), decoded, 0, length, frames) &&
    unpackBase64(decoded.subarray(0, length), target, at, size, wanted)
  releaseBuffer(decoded)
  return isSound
}
