/**
 * Whether the disk gives a write-ahead log back.
 *
 * The cipher's layer between SQLite and the file (SQLite3 Multiple Ciphers, `mcIoRead` of 2.4.0) lets a failed read of a
 * log's headers, and of any page that is not encrypted, pass for a good one, with whatever was in the buffer: a log that
 * cannot be read ends where the reading failed, and what was acknowledged behind that is overwritten. Pages of mailboxes
 * are safe, their MAC fails. So the disk is asked before; what it gives back stays in memory for SQLite.
 */
import { closeSync, openSync, readSync, statSync } from 'node:fs'

/** Read at a time, bytes. */
const PIECE_BYTES = 1024 * 1024

/**
 * Reads all of a log. To open and to close it drops no lock: SQLite's are on other files.
 *
 * @param {string} path - of the database; there need be no log
 * @throws {NodeJS.ErrnoException} EIO, and what else a file may refuse
 */
export function requireReadableLog(path) {
  const log = `${path}-wal`
  const size = statSync(log, { throwIfNoEntry: false })?.size ?? 0
  if (size === 0) return
  const descriptor = openSync(log, 'r')
  try {
    const piece = Buffer.allocUnsafeSlow(Math.min(size, PIECE_BYTES))
    while (readSync(descriptor, piece) > 0);
  } finally {
    closeSync(descriptor)
  }
}
