/**
 * Whether a disk takes anything new. A file system that met an error becomes read-only under whoever uses it, and neither
 * its free room nor its permissions tell.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** What speaks of the disk, and not of this folder or this user. */
const TROUBLES = new Set(['EROFS', 'ENOSPC', 'EDQUOT', 'EIO'])

/** Folders need no descriptor, of which there may be none left. */
const PREFIX = 'probe-'

/**
 * @param {unknown} error
 * @returns {string | null}
 */
function troubleIn(error) {
  const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error)
  return TROUBLES.has(code) ? code : null
}

/**
 * Two are made, one within the other: SQLite makes a log and its index at once, and of those it may have made the first and
 * removed it by now.
 *
 * @param {string} folder - where something is made and removed again
 * @returns {Promise<string | null>} the system's code, EROFS for instance; null where the disk takes it, or the folder is
 *   what refuses it
 */
export async function diskTrouble(folder) {
  try {
    const probe = await mkdtemp(join(folder, PREFIX))
    try {
      await mkdtemp(join(probe, PREFIX))
    } finally {
      await rm(probe, { recursive: true, force: true })
    }
    return null
  } catch (error) {
    return troubleIn(error)
  }
}

/**
 * @param {string} folder
 * @returns {string | null} as `diskTrouble`
 */
export function diskTroubleNow(folder) {
  try {
    const probe = mkdtempSync(join(folder, PREFIX))
    try {
      mkdtempSync(join(probe, PREFIX))
    } finally {
      rmSync(probe, { recursive: true, force: true })
    }
    return null
  } catch (error) {
    return troubleIn(error)
  }
}
