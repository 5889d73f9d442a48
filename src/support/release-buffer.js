/**
 * Memory of large buffers, given back before the garbage collector gets to it. Some of it is kept for those that come next:
 * to be given memory by the system, page by page as it is touched, took a quarter of the time of reading a long message.
 */

/** Buffers of fewer bytes are not worth the call. */
const WORTHWHILE_BYTES = 8 * 1024

/**
 * A pool is recognised by its size, in bytes: that of the pool of this moment. It is not `Buffer.poolSize`, of which Node 26 makes
 * one some bytes larger.
 */
const POOL_BYTES = Buffer.allocUnsafe(1).buffer.byteLength

/** Unpacking a chunk may write so many bytes behind it. */
export const SPARE_BYTES = 64

/**
 * What is kept is of the sizes that chunks of messages have (src/store/chunk-codec.js). Each thread keeps 1 MiB of each: for
 * some clients that read long messages at the same time.
 *
 * @type {readonly { bytes: number, most: number, kept: ArrayBuffer[] }[]}
 */
const SIZES = [32, 64, 128].map((kibibytes) => ({
  bytes: kibibytes * 1024 + SPARE_BYTES,
  most: 1024 / kibibytes,
  kept: []
}))

/**
 * @param {number} bytes
 * @returns {Buffer} with anything in it, in memory of its own, which may be larger: for `releaseBuffer`
 */
export function takeBuffer(bytes) {
  const size = SIZES.find((one) => bytes <= one.bytes && bytes > one.bytes >>> 1)
  if (size === undefined) return Buffer.allocUnsafeSlow(bytes)
  const memory = size.kept.pop() ?? Buffer.allocUnsafeSlow(size.bytes).buffer
  return Buffer.from(memory, 0, bytes)
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
  if (!(memory instanceof ArrayBuffer) || memory.byteLength < WORTHWHILE_BYTES) return
  // No piece of a pool is half of it: the blob of a chunk may be smaller than a pool, and what a client asks for 64 KiB at a
  // time is as large as one.
  const isPool = memory.byteLength === POOL_BYTES && buffer.length < Buffer.poolSize >>> 1
  if (isPool) return
  // Whoever still uses it, or gives it back twice, finds nothing: never what somebody else was given.
  const size = SIZES.find((one) => one.bytes === memory.byteLength)
  if (size !== undefined && size.kept.length < size.most) size.kept.push(memory.transfer())
  else memory.transfer(0)
}
