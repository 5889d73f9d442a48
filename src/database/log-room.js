/**
 * Room at the end of a write-ahead log. A commit that makes a file longer costs the file system a commit of its own
 * journal at fdatasync, because the new size must be on the disk as well; one that overwrites what is there does not, and
 * takes half the time (ext4, measured). SQLite overwrites its log from the second round on, but a mailbox that was just
 * opened has none: it would pay at each of its first five hundred flags.
 *
 * What follows the last frame need not be a frame: SQLite reads a log up to the first one whose salt or checksum is
 * wrong, as it must after a crash anyway.
 */
import { fstatSync, writeSync } from 'node:fs'
import { errorCodeOf } from './sqlite-error.js'

/** Room is made as long as the log itself, within these bounds, bytes: whoever changes one flag and goes does not pay for fifty. */
const MIN_ROOM_BYTES = 64 * 1024
const MAX_ROOM_BYTES = 128 * 1024

/**
 * Commits that make the log at most so many bytes longer get room. Room is written twice, empty and full: for a commit of a
 * few frames that is less than the journal's own would be, for one that brings a message it is more, and was no gain (measured).
 */
const MAX_GROWTH_BYTES = 16 * 1024

const ZEROS = Buffer.alloc(MAX_ROOM_BYTES)

/**
 * @param {number} growth - of the log from one sync to the next, bytes
 * @returns {boolean} whether commits of this size are faster with room made before them
 */
export const isWorthRoom = (growth) => growth > 0 && growth <= MAX_GROWTH_BYTES

/**
 * Makes a log longer. Nobody else may write frames meanwhile, for they might begin where this ends: the caller has the
 * write lock of the database, which SQLite takes as well before it cuts a log back.
 *
 * @param {number} descriptor - of the log, writable
 * @returns {number} size of the log after that, bytes
 */
export function makeRoomAtEnd(descriptor) {
  const { size, nlink } = fstatSync(descriptor)
  // Removed by its last connection: the lock is that of the database, and this is no longer its log. Or cut back to nothing,
  // which a backup takes as a sign that nobody has written since: so it stays until somebody does.
  if (nlink === 0 || size === 0) return size
  const room = Math.min(Math.max(size, MIN_ROOM_BYTES), MAX_ROOM_BYTES)
  return size + writeZeros(descriptor, { from: size, bytes: room })
}

/**
 * @param {number} descriptor
 * @param {{ from: number, bytes: number }} range
 * @returns {number} bytes that were written: fewer on a full disk, where the commit itself fails, or fits into them
 */
function writeZeros(descriptor, { from, bytes }) {
  try {
    return writeSync(descriptor, ZEROS, 0, bytes, from)
  } catch (error) {
    if (['ENOSPC', 'EDQUOT', 'EFBIG'].includes(errorCodeOf(error))) return 0
    throw error
  }
}
