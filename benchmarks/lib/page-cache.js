/**
 * Drops files from the kernel's page cache, so that the next read comes from the disk, or reads all of them into it: some hosts
 * take memory from their guests that was not used for a minute.
 */
import { execFileSync } from 'node:child_process'
import { closeSync, existsSync, openSync, readSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const READ_BYTES = 1024 * 1024

/**
 * Runs GNU dd, which calls posix_fadvise(2); that needs no privilege. In a process of its own: closing a descriptor of a
 * database here would drop the locks that SQLite holds on it.
 *
 * @param {string} path - of a database; its `-wal` goes too
 * @returns {boolean} false where dd cannot do it
 */
export function dropFromPageCache(path) {
  try {
    for (const file of [path, `${path}-wal`]) {
      if (!existsSync(file)) continue
      execFileSync('sync', ['--data', file], { stdio: 'ignore' })
      execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0'], { stdio: 'ignore' })
    }
    return true
  } catch {
    // The host has another dd than GNU's: the caller says so in the report.
    return false
  }
}

/**
 * Reads all files once, in a process that has none of them open. A server at work may remove one meanwhile.
 *
 * @param {string} folder - with everything below it
 */
export function readIntoPageCache(folder) {
  const buffer = Buffer.allocUnsafe(READ_BYTES)
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true })
  for (const entry of entries.filter((each) => each.isFile())) {
    const path = join(entry.parentPath, entry.name)
    try {
      const file = openSync(path, 'r')
      while (readSync(file, buffer) > 0);
      closeSync(file)
    } catch (error) {
      if (existsSync(path)) throw error
    }
  }
}
