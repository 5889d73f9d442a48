/**
 * What the machine has to spare, asked before work that takes much of it.
 */
import { statfs } from 'node:fs/promises'

/**
 * @typedef {object} Resources
 * @property {() => number} freeMemoryBytes - that this process may still take, the limits of its group included
 * @property {(folder: string) => Promise<number>} freeDiskBytes
 */

/** @type {Resources} */
export const systemResources = Object.freeze({
  freeMemoryBytes: () => process.availableMemory(),
  freeDiskBytes: async (/** @type {string} */ folder) => {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  }
})
