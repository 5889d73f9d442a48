/**
 * What the machine has to spare, asked before work that takes much of it.
 */
import { statfs } from 'node:fs/promises'
import { freeMemory } from '../support/free-memory.js'

/**
 * @typedef {object} Resources
 * @property {() => number} freeMemoryBytes - that this process may still take, the limits of its group included
 * @property {(folder: string) => Promise<number>} freeDiskBytes
 */

/** So many bytes of memory and of disk must be left besides. */
const RESERVE_BYTES = 128 * 1024 * 1024

/** Factor of what the work is said to take: pages are copied with their free parts, and SQLite needs some memory itself. */
const MARGIN = 1.2

/**
 * @param {Resources} resources
 * @param {object} work
 * @param {string} work.folder - of the account
 * @param {number} work.memoryBytes
 * @param {number} work.diskBytes
 * @returns {Promise<string | null>} why there is no room for it; null: there is
 */
export async function whatIsMissing(resources, { folder, memoryBytes, diskBytes }) {
  const withMargin = (/** @type {number} */ bytes) => bytes * MARGIN + RESERVE_BYTES
  if (memoryBytes > 0 && resources.freeMemoryBytes() < withMargin(memoryBytes))
    return 'too little memory'
  if ((await resources.freeDiskBytes(folder)) < withMargin(diskBytes))
    return 'too little room on the disk'
  return null
}

/** @type {Resources} */
export const systemResources = Object.freeze({
  freeMemoryBytes: freeMemory,
  freeDiskBytes: async (/** @type {string} */ folder) => {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  }
})
