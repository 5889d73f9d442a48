/**
 * How the bytes of one chunk are stored. Each chunk is compressed by itself, so that reading a range touches no
 * other; what does not shrink is stored as it is.
 */
import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib'
import { MailError } from '../errors.js'

/**
 * Raw bytes in a chunk, bytes. Large enough for zstd to find what repeats (base64 and HTML), small enough that a
 * client that asks for 64 KiB pieces does not make us decompress megabytes.
 */
export const CHUNK_BYTES = 128 * 1024

/** Stored as they are. */
export const CODEC_RAW = 0
/** One zstd frame. */
export const CODEC_ZSTD = 1

/** Fast, and within some percent of what slower levels reach on mail. */
const ZSTD_LEVEL = 3

/** A saving below one part in 16 is not worth decompressing at each read. */
const WORTHWHILE_DIVISOR = 16

/** @typedef {{ codec: number, data: Buffer }} EncodedChunk */

/**
 * @param {Buffer} raw
 * @returns {EncodedChunk} whose data may be `raw` itself
 */
export function encodeChunk(raw) {
  const packed = zstdCompressSync(raw, {
    params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL }
  })
  if (packed.length > raw.length - raw.length / WORTHWHILE_DIVISOR)
    return { codec: CODEC_RAW, data: raw }
  return { codec: CODEC_ZSTD, data: packed }
}

/**
 * @param {number} codec
 * @param {Buffer} data
 * @param {number} maxBytes - more than this is a damaged chunk
 * @returns {Buffer} the raw bytes
 * @throws {MailError} ACCOUNT_DAMAGED
 */
export function decodeChunk(codec, data, maxBytes) {
  if (codec === CODEC_RAW) return data
  if (codec !== CODEC_ZSTD)
    throw new MailError('ACCOUNT_DAMAGED', { detail: `unknown chunk codec ${codec}` })
  try {
    return zstdDecompressSync(data, { maxOutputLength: maxBytes })
  } catch (error) {
    throw new MailError('ACCOUNT_DAMAGED', { detail: 'chunk does not decompress', cause: error })
  }
}
