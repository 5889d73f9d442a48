/**
 * Checks that a write-ahead log can be read before SQLite reads it.
 *
 * The cipher's layer between SQLite and the file (SQLite3 Multiple Ciphers, `mcIoRead` of 2.4.0) lets a failed read of a
 * log's headers, and of any page that is not encrypted, pass for a good one, with whatever was in the buffer: a log that
 * cannot be read ends where the reading failed, and acknowledged commits behind that are overwritten. Pages of mailboxes
 * are safe, their MAC fails. So the whole log is read before; it stays in the kernel's cache for SQLite.
 */
import { closeSync, existsSync, fstatSync, openSync, readSync } from 'node:fs'
import { errorCodeOf } from './sqlite-error.js'

/** So many bytes are read at a time. */
const PIECE_BYTES = 1024 * 1024

/**
 * Reads all of a log. To open and close it here drops no lock: SQLite's are on other files.
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
  // Most mailboxes have no log, and the error of opening a missing file takes ten times as long as looking for it.
  if (!existsSync(log)) return null
  try {
    return openSync(log, 'r')
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return null
    throw error
  }
}
