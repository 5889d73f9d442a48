/**
 * How the bytes of one chunk are stored. Each chunk is compressed by itself, so that reading a range touches no
 * other; what does not shrink is stored as it is.
 */
import { MailError } from '../errors.js'
import { releaseBuffer } from '../support/release-buffer.js'
import { compressFrame, decompressFrame, decompressInto } from './zstd.js'

/**
 * Raw bytes in a chunk, bytes. Large enough for zstd to find what repeats (base64 and HTML), small enough that a
 * client that asks for 64 KiB pieces does not make us decompress megabytes.
 */
export const CHUNK_BYTES = 128 * 1024

/** Stored as they are. */
export const CODEC_RAW = 0
/** One zstd frame. */
export const CODEC_ZSTD = 1

/** A saving below one part in 16 is not worth decompressing at each read. */
const WORTHWHILE_DIVISOR = 16

export { releaseBuffer }

/** @typedef {{ codec: number, data: Buffer }} EncodedChunk */

/**
 * @param {Buffer} raw
 * @returns {EncodedChunk} whose data may be `raw` itself
 */
export function encodeChunk(raw) {
  if (raw.length === 0) return { codec: CODEC_RAW, data: raw }
  const packed = compressFrame(raw)
  if (packed.length > raw.length - raw.length / WORTHWHILE_DIVISOR) {
    releaseBuffer(packed)
    return { codec: CODEC_RAW, data: raw }
  }
  return { codec: CODEC_ZSTD, data: packed }
}

/**
 * @param {number} codec
 * @param {Buffer} data
 * @param {{ maxBytes: number, expectedBytes?: number }} size - more than `maxBytes` is a damaged chunk; what is
 *   expected is made room for at once
 * @returns {Buffer} the raw bytes
 * @throws {MailError} ACCOUNT_DAMAGED
 */
export function decodeChunk(codec, data, size) {
  if (codec === CODEC_RAW) return data
  if (codec !== CODEC_ZSTD)
    throw new MailError('ACCOUNT_DAMAGED', { detail: `unknown chunk codec ${codec}` })
  try {
    return decompressFrame(data, size)
  } catch (error) {
    throw new MailError('ACCOUNT_DAMAGED', { detail: 'chunk does not decompress', cause: error })
  }
}

/**
 * @param {number} codec
 * @param {Buffer} data
 * @param {object} to
 * @param {Buffer} to.target - with room for `size` bytes and one more
 * @param {number} to.at - where in it
 * @param {number} to.size - raw bytes that are expected
 * @returns {boolean} false: it is damaged
 */
export function unpackChunkInto(codec, data, { target, at, size }) {
  if (codec === CODEC_ZSTD) return decompressInto(data, target, at, size)
  if (codec !== CODEC_RAW || data.length !== size) return false
  data.copy(target, at)
  return true
}
