/**
 * Reads a file as a stream of chunks, unpacked when it is a gzip or a zstd (by its first bytes, not by its name).
 */
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { pipeline, Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { MailError } from '../errors.js'
import { unpackZstd } from './zstd-frames.js'

const gunzip = (/** @type {Readable} */ file) => pipeline(file, createGunzip(), reportedByIterator)
const unzstd = (/** @type {Readable} */ file) => Readable.from(unpackZstd(file))

/**
 * The bytes that packed files begin with; no message begins so.
 *
 * @type {{ magic: Buffer, unpack: ((file: Readable) => Readable) | null }[]}
 */
const PACKINGS = [
  { magic: Buffer.of(0x1f, 0x8b), unpack: gunzip },
  { magic: Buffer.of(0x28, 0xb5, 0x2f, 0xfd), unpack: unzstd },
  // A skippable frame of zstd, with which pzstd begins.
  ...Array.from({ length: 16 }, (_, number) => ({
    magic: Buffer.of(0x50 + number, 0x2a, 0x4d, 0x18),
    unpack: unzstd
  })),
  // xz and bzip2, with which Dovecot packs as well: not unpacked here.
  { magic: Buffer.from('fd377a585a00', 'hex'), unpack: null },
  { magic: Buffer.from('BZh91AY&SY'), unpack: null }
]

const MAGIC_BYTES = 16

/** A file of at most so many bytes is read ahead, before its turn. */
const AHEAD_BYTES = 256 * 1024

/**
 * @typedef {object} ByteSource
 * @property {AsyncIterable<Buffer>} chunks - unpacked; throws on a damaged file
 * @property {number} bytesRead - of the file as it lies, so far
 * @property {number} totalBytes - of the file as it lies
 * @property {() => void} close
 */

/**
 * @param {string | Buffer} path
 * @returns {Promise<ByteSource>}
 * @throws {MailError} FORMAT_UNKNOWN where it is packed otherwise; and what the file system and `requireFile` throw
 */
export async function openBytes(path) {
  const { head, sizeBytes } = await look(path)
  const packing = packingOf(head)
  if (packing?.unpack === null) throw new MailError('FORMAT_UNKNOWN')
  const file = createReadStream(path)
  const chunks = packing ? packing.unpack(file) : file
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

/** @param {Buffer} head - the first bytes of a file */
const packingOf = (head) =>
  PACKINGS.find(({ magic }) => head.subarray(0, magic.length).equals(magic))

/**
 * Refuses what is no file: opening a named pipe waits until somebody writes into it, which may be never.
 *
 * @param {{ isFile: () => boolean }} stats
 * @throws {Error} for a pipe, a socket, a device, a folder
 */
export function requireFile(stats) {
  if (!stats.isFile()) throw new Error('no ordinary file')
}

/** Ignores a pipeline's error: the pipeline destroys its last stream with it, so whoever iterates over that stream is told. */
function reportedByIterator() {}

/**
 * @param {string | Buffer} path
 * @returns {Promise<{ head: Buffer, sizeBytes: number }>}
 */
async function look(path) {
  const stats = await stat(path)
  requireFile(stats)
  const file = await open(path)
  try {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(MAGIC_BYTES), 0, MAGIC_BYTES, 0)
    return { head: buffer.subarray(0, bytesRead), sizeBytes: stats.size }
  } finally {
    await file.close()
  }
}

/**
 * @param {string | Buffer} path
 * @returns {AsyncGenerator<Buffer>} the whole file, unpacked
 * @throws {MailError} as `openBytes`
 */
async function* readUnpacked(path) {
  const source = await openBytes(path)
  try {
    yield* source.chunks
  } finally {
    source.close()
  }
}

/**
 * Reads a small file at once, in few system calls: most messages are small, and there may be a million of them.
 *
 * @param {string | Buffer} path
 * @param {import('node:fs').Stats | null | undefined} stats - of the file; null or undefined where they could not be read
 * @returns {Promise<() => AsyncIterable<Buffer>>} gives the whole file, unpacked; throws what `readUnpacked` does
 */
export async function readAhead(path, stats) {
  const sizeBytes = stats?.isFile() ? stats.size : Infinity
  // An error that keeps the file from being read is told at its turn.
  const bytes = sizeBytes <= AHEAD_BYTES ? await readWhole(path, sizeBytes).catch(() => null) : null
  if (bytes === null || packingOf(bytes)) return () => readUnpacked(path)
  return async function* () {
    yield bytes
  }
}

/**
 * @param {string | Buffer} path
 * @param {number} sizeBytes - at the last look
 * @returns {Promise<Buffer | null>} null where its size is another by now
 * @throws what the file system throws
 */
async function readWhole(path, sizeBytes) {
  const file = await open(path)
  try {
    const { bytesRead, buffer } = await file.read(Buffer.allocUnsafeSlow(sizeBytes + 1))
    return bytesRead === sizeBytes ? buffer.subarray(0, bytesRead) : null
  } finally {
    await file.close()
  }
}

/**
 * @param {string | Buffer} path
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
