/**
 * The small text files in which Linux tells of itself.
 */
import { readFileSync } from 'node:fs'

/**
 * @param {string} path - below /proc or /sys
 * @returns {string | null} null where it cannot be read: on another system, where the kernel has no such figure, or in a
 *   container that hides it
 */
export function readSystemText(path) {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    // Whatever the reason: the system does not tell.
    return null
  }
}
