/**
 * Whether a disk takes anything new. A file system that met an error becomes read-only under whoever uses it, and neither
 * its free room nor its permissions tell.
 */
import { mkdirSync, rmSync } from 'node:fs'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'

/** Codes that speak of the disk, and not of this folder or this user. */
const TROUBLES = new Set(['EROFS', 'ENOSPC', 'EDQUOT', 'EIO'])

/**
 * The probe is a folder, which needs no descriptor, because there may be none left. It always has this name: what a crash leaves
 * of it goes with the next look. Where two look at once, one may take the disk for sound for that moment.
 */
const NAME = '.probe'

/** Of the probe, which is nobody else's business. */
const MODE = { mode: 0o700 }

/** How the probe is removed: whole, if it is there. */
const WHOLE = { recursive: true, force: true }

/**
 * @param {unknown} error
 * @returns {string | null}
 */
function troubleIn(error) {
  const { code = '' } = /** @type {NodeJS.ErrnoException} */ (error)
  return TROUBLES.has(code) ? code : null
}

/**
 * Two folders are made, one within the other: SQLite makes two files at once, a log and its index, and may have made the first
 * and removed it by now.
 *
 * @param {string} folder - where something is made and removed again
 * @returns {Promise<string | null>} the system's code, EROFS for instance; null where the disk takes it, or the folder is
 *   what refuses it
 */
export async function diskTrouble(folder) {
  try {
    const probe = join(folder, NAME)
    await rm(probe, WHOLE)
    try {
      await mkdir(probe, MODE)
      await mkdir(join(probe, NAME), MODE)
    } finally {
      await rm(probe, WHOLE)
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
    const probe = join(folder, NAME)
    rmSync(probe, WHOLE)
    try {
      mkdirSync(probe, MODE)
      mkdirSync(join(probe, NAME), MODE)
    } finally {
      rmSync(probe, WHOLE)
    }
    return null
  } catch (error) {
    return troubleIn(error)
  }
}
