/**
 * Memory of large buffers, given back before the garbage collector gets to it.
 */

/** Smaller ones are not worth the call. */
const WORTHWHILE_BYTES = 8 * 1024

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
  // A pool is recognised by its size, and no piece of one is half of it: the blob of a chunk may be smaller than a pool, and
  // what a client asks for 64 KiB at a time is as large as one.
  const isPool = memory.byteLength === Buffer.poolSize && buffer.length < Buffer.poolSize >>> 1
  if (!isPool) memory.transfer(0)
}
