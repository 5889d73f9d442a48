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

/** Smallest output buffer that zlib takes, bytes. */
const MIN_OUTPUT_BYTES = 64

/** @typedef {{ codec: number, data: Buffer }} EncodedChunk */

/**
 * @param {Buffer} raw
 * @returns {EncodedChunk} whose data may be `raw` itself
 */
export function encodeChunk(raw) {
  const packed = zstdCompressSync(raw, {
    params: { [constants.ZSTD_c_compressionLevel]: ZSTD_LEVEL },
    // One output buffer instead of many that are put together: a frame is never much larger than its input.
    chunkSize: raw.length + Math.ceil(raw.length / 128) + 256
  })
  if (packed.length > raw.length - raw.length / WORTHWHILE_DIVISOR) {
    releaseBuffer(packed)
    return { codec: CODEC_RAW, data: raw }
  }
  return { codec: CODEC_ZSTD, data: packed }
}

/**
 * Gives memory back at once. Left to the garbage collector, which acts only after some 64 MB of such buffers, a large
 * message would raise the process's memory by its whole size although no part of it is in use.
 *
 * @param {Buffer} buffer - nobody uses it any more, nor anything else in its memory; a piece of Node's shared pool is
 *   left alone
 */
export function releaseBuffer(buffer) {
  const { buffer: memory } = buffer
  if (memory instanceof ArrayBuffer && memory.byteLength > Buffer.poolSize) memory.transfer(0)
}

/**
 * @param {number} codec
 * @param {Buffer} data
 * @param {{ maxBytes: number, expectedBytes?: number }} size - more than `maxBytes` is a damaged chunk; what is
 *   expected is made room for at once
 * @returns {Buffer} the raw bytes
 * @throws {MailError} ACCOUNT_DAMAGED
 */
export function decodeChunk(codec, data, { maxBytes, expectedBytes }) {
  if (codec === CODEC_RAW) return data
  if (codec !== CODEC_ZSTD)
    throw new MailError('ACCOUNT_DAMAGED', { detail: `unknown chunk codec ${codec}` })
  try {
    return zstdDecompressSync(data, {
      maxOutputLength: maxBytes,
      // One more than needed: a buffer that is just full makes zlib allocate another.
      ...(expectedBytes !== undefined && {
        chunkSize: Math.max(expectedBytes + 1, MIN_OUTPUT_BYTES)
      })
    })
  } catch (error) {
    throw new MailError('ACCOUNT_DAMAGED', { detail: 'chunk does not decompress', cause: error })
  }
}
