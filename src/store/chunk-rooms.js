/**
 * Rooms in which chunks of incoming messages are filled. New memory for each message, touched for the first time, costs
 * half as much as compressing a message of usual size; so a few rooms go from message to message. What lay in one is
 * wiped before the next one gets it.
 */
import { releaseBuffer } from '../support/release-buffer.js'
import { CHUNK_BYTES } from './chunk-codec.js'

/** At most so many rooms are kept. With more senders at once the others' come and go, or slow ones would leave their memory behind. */
const MAX_KEPT = 4

/** @type {Buffer[]} */
const spare = []

/**
 * All that are kept, in use or not.
 *
 * @type {WeakSet<Buffer>}
 */
const kept = new WeakSet()
let keptCount = 0

/**
 * @param {number} bytes - that are expected
 * @returns {Buffer} room for so many, CHUNK_BYTES at most; to be given back
 */
export function takeRoom(bytes) {
  const free = spare.pop()
  if (free) return free
  if (keptCount === MAX_KEPT)
    return Buffer.allocUnsafeSlow(Math.max(1, Math.min(bytes, CHUNK_BYTES)))
  keptCount++
  const room = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  kept.add(room)
  return room
}

/**
 * @param {Buffer} room - of `takeRoom`, which nobody reads any more
 * @param {number} usedBytes - of it that were written
 */
export function giveRoomBack(room, usedBytes) {
  if (!kept.has(room)) {
    releaseBuffer(room)
    return
  }
  room.fill(0, 0, usedBytes)
  spare.push(room)
}
