/**
 * Whether a disk takes anything new. A file system that met an error becomes read-only under whoever uses it, and neither
 * its free room nor its permissions tell.
 */
import { mkdtempSync, rmdirSync } from 'node:fs'
import { mkdtemp, rmdir } from 'node:fs/promises'
import { join } from 'node:path'

/** What speaks of the disk, and not of this folder or this user. */
const TROUBLES = new Set(['EROFS', 'ENOSPC', 'EDQUOT', 'EIO'])

/** A folder needs no descriptor, of which there may be none left. */
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
 * @param {string} folder - where something is made and removed again
 * @returns {Promise<string | null>} the system's code, EROFS for instance; null where the disk takes it, or the folder is
 *   what refuses it
 */
export async function diskTrouble(folder) {
  try {
    await rmdir(await mkdtemp(join(folder, PREFIX)))
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
    rmdirSync(mkdtempSync(join(folder, PREFIX)))
    return null
  } catch (error) {
    return troubleIn(error)
  }
}
