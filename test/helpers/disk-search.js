/**
 * Looks for bytes in files as they lie on the disk, from another process: a process that has a database open
 * through SQLite must not open and close the same file with `fs`.
 */
import { execFileSync } from 'node:child_process'

const SCRIPT = `
  const { existsSync, readFileSync } = require('node:fs')
  const [bytes, ...paths] = process.argv.slice(1)
  const wanted = Buffer.from(bytes, 'hex')
  const isThere = paths.some((path) => existsSync(path) && readFileSync(path).includes(wanted))
  process.stdout.write(isThere ? 'yes' : 'no')`

/**
 * @param {string} path - of a SQLite database; its write-ahead log is searched as well
 * @param {Uint8Array} bytes
 * @returns {boolean}
 */
export function isOnDisk(path, bytes) {
  const hex = Buffer.from(bytes).toString('hex')
  const answer = execFileSync(process.execPath, ['-e', SCRIPT, hex, path, `${path}-wal`])
  return answer.toString() === 'yes'
}
