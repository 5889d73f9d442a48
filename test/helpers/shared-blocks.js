/**
 * Finds out what the file system of the tests' folders can do.
 */
import { constants, copyFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** @returns {boolean} whether files may share blocks, so that a copy is made at once (btrfs, XFS) */
export function sharesBlocks() {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-'))
  const file = join(folder, 'file')
  try {
    writeFileSync(file, Buffer.alloc(4096))
    copyFileSync(file, `${file}-copy`, constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch {
    return false
  } finally {
    rmSync(folder, { recursive: true })
  }
}
