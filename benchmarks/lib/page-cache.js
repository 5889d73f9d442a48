/**
 * Puts a file out of the kernel's page cache, so that the next read of it comes from the disk.
 */
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'

/**
 * GNU dd asks posix_fadvise(2) for it, which needs no privilege. In a process of its own: closing a descriptor of a
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
    // Another dd than GNU's: the caller says so in the report.
    return false
  }
}
