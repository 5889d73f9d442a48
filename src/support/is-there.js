/**
 * Whether something is there, where "cannot be told" must not be taken for "no".
 */
import { statSync } from 'node:fs'
import { stat } from 'node:fs/promises'

/**
 * @param {unknown} error - of a look at a path
 * @returns {false}
 * @throws the error, unless it says that there is nothing
 */
function noEntry(error) {
  if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return false
  throw error
}

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
    return noEntry(error)
  }
}

/**
 * As `isThere`, for code that cannot await.
 *
 * @param {string} path
 * @returns {boolean}
 * @throws {Error} of the system when that cannot be told
 */
export function isThereSync(path) {
  try {
    statSync(path)
    return true
  } catch (error) {
    return noEntry(error)
  }
}
