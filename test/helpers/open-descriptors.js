/**
 * What this process has open, as the system tells it.
 */
import { existsSync, readdirSync, readlinkSync } from 'node:fs'

const FOLDER = '/proc/self/fd'

/**
 * @returns {string[]} paths of the files behind its descriptors; ` (deleted)` follows that of one which has been removed. None
 *   without /proc
 */
export const openDescriptors = () =>
  existsSync(FOLDER) ? readdirSync(FOLDER).map((descriptor) => targetOf(descriptor)) : []

/** @param {string} descriptor */
function targetOf(descriptor) {
  try {
    return readlinkSync(`${FOLDER}/${descriptor}`)
  } catch {
    // One of them was the listing's own.
    return ''
  }
}
