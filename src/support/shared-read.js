/**
 * Plain connections of this process read into one buffer, and what was read is copied into memory of its size.
 *
 * Node takes 64 KiB from the allocator for each read and gives them back at once. Where those lie at the end of the heap, it
 * grows and shrinks by system calls, and its pages are faulted in anew: up to a fifth of a busy server's processor time.
 */
import { Socket } from 'node:net'

/** @import { OnReadOpts } from 'node:net' */

/** As much as libuv reads at once. */
const READ_BYTES = 64 * 1024
/** V8 keeps up to so many bytes in the object itself, without a call to the allocator. */
const INLINE_BYTES = 64

const shared = Buffer.alloc(READ_BYTES)

/**
 * @typedef {object} StreamHandle - of Node's, below a socket
 * @property {(buffer: Uint8Array) => void} [useUserBuffer]
 */

/**
 * The option of a new socket that makes it read into the shared buffer. The socket remains a stream like any other.
 *
 * @param {() => Socket} socket - asked with the first bytes, when it is there
 * @returns {OnReadOpts}
 */
export function onreadShared(socket) {
  return {
    buffer: shared,
    callback(bytes) {
      // Passwords and keys come this way: none may stay in the buffer for the next read.
      const copy = bytes <= INLINE_BYTES ? Buffer.alloc(bytes) : Buffer.allocUnsafeSlow(bytes)
      shared.copy(copy, 0, 0, bytes)
      shared.fill(0, 0, bytes)
      return socket().push(copy)
    }
  }
}

/**
 * A server does not hand the option on to the sockets that it accepts, so they are made again around the same handle.
 *
 * @param {Socket} accepted - of a server that pauses on connect, so that nothing has been read
 * @returns {Socket} to be used instead; the accepted one itself where Node's handle has become another thing
 */
export function readShared(accepted) {
  const holder = /** @type {{ _handle: StreamHandle | null }} */ (/** @type {unknown} */ (accepted))
  const handle = holder._handle
  if (typeof handle?.useUserBuffer !== 'function') return accepted
  const options = {
    handle: /** @type {any} */ (handle),
    allowHalfOpen: accepted.allowHalfOpen,
    readableHighWaterMark: accepted.readableHighWaterMark,
    writableHighWaterMark: accepted.writableHighWaterMark,
    onread: onreadShared(() => socket)
  }
  // Without its handle, `accepted` closes no connection; the server counts one less.
  holder._handle = null
  accepted.destroy()
  const socket = new Socket(options)
  return socket
}
