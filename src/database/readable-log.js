/**
 * Whether the disk gives a write-ahead log back.
 *
 * The cipher's layer between SQLite and the file (SQLite3 Multiple Ciphers, `mcIoRead` of 2.4.0) lets a failed read of a
 * log's headers, and of any page that is not encrypted, pass for a good one, with whatever was in the buffer: a log that
 * cannot be read ends where the reading failed, and what was acknowledged behind that is overwritten. Pages of mailboxes
 * are safe, their MAC fails. So the disk is asked before; what it gives back stays in memory for SQLite.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { errorCodeOf } from './sqlite-error.js'

/** Read at a time, bytes. */
const PIECE_BYTES = 1024 * 1024

/**
 * Reads all of a log. To open and to close it drops no lock: SQLite's are on other files.
 *
 * @param {string} path - of the database; there need be no log
 * @throws {NodeJS.ErrnoException} EIO, and what else a file may refuse
 */
export function requireReadableLog(path) {
  const descriptor = openIfThere(`${path}-wal`)
  if (descriptor === null) return
  try {
    const { size } = fstatSync(descriptor)
    const piece = Buffer.allocUnsafeSlow(Math.min(size, PIECE_BYTES))
    while (piece.length > 0 && readSync(descriptor, piece) > 0);
  } finally {
    closeSync(descriptor)
  }
}

/**
 * @param {string} log - another process may remove it at any time
 * @returns {number | null} a descriptor; null where there is no such file
 */
function openIfThere(log) {
  // Most mailboxes have none, and to make the error of a file that is not there takes ten times as long as to look.
  if (!existsSync(log)) return null
  try {
    return openSync(log, 'r')
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return null
    throw error
  }
}
