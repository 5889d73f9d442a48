import { stat } from 'node:fs/promises'

/**
 * @param {string} path
 * @returns {Promise<boolean>} whether there is a file or a folder
 * @throws {Error} of the system when that cannot be told
 */
export async function isThere(path) {
  try {
    await stat(path)
    return true
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return false
    throw error
  }
}
