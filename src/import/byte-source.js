/**
 * Reads a file as a stream of chunks, unpacked when it is a gzip (by its first bytes, not by its name).
 */
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'

const GZIP_MAGIC = Buffer.of(0x1f, 0x8b)

/**
 * @typedef {object} ByteSource
 * @property {AsyncIterable<Buffer>} chunks - unpacked; throws on a damaged file
 * @property {number} bytesRead - of the file as it lies, so far
 * @property {number} totalBytes - of the file as it lies
 * @property {() => void} close
 */

/**
 * @param {string} path
 * @returns {Promise<ByteSource>}
 * @throws what the file system throws
 */
export async function openBytes(path) {
  const { isGzip, sizeBytes } = await look(path)
  const file = createReadStream(path)
  const chunks = isGzip ? pipeline(file, createGunzip(), reportedByIterator) : file
  return {
    chunks,
    totalBytes: sizeBytes,
    close: () => {
      chunks.destroy()
      file.destroy()
    },
    get bytesRead() {
      return file.bytesRead
    }
  }
}

/** The pipeline destroys its end with the error, and who iterates over the end is told by that. */
function reportedByIterator() {}

/**
 * @param {string} path
 * @returns {Promise<{ isGzip: boolean, sizeBytes: number }>}
 */
async function look(path) {
  const file = await open(path)
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(2), 0, 2, 0)
    const { size } = await file.stat()
    return { isGzip: bytesRead === 2 && buffer.equals(GZIP_MAGIC), sizeBytes: size }
  } finally {
    await file.close()
  }
}

/**
 * @param {string} path
 * @param {number} length
 * @returns {Promise<Buffer>} the first bytes, unpacked; fewer when the file is shorter
 * @throws what the file system throws
 */
export async function readHead(path, length) {
  const source = await openBytes(path)
  /** @type {Buffer[]} */
  const chunks = []
  let size = 0
  try {
    for await (const chunk of source.chunks) {
      chunks.push(chunk)
      size += chunk.length
      if (size >= length) break
    }
  } finally {
    source.close()
  }
  return Buffer.concat(chunks).subarray(0, length)
}
