/**
 * How much memory this process has resident. Linux tells it in a file, which cannot be opened by a process that has no file
 * descriptor left: the time when an operator looks at the figures.
 */
import { lacksDescriptors } from '../support/lacks-descriptors.js'

let lastBytes = 0

/** @returns {{ bytes: number, isCurrent: boolean }} as it was when it could last be told, where it cannot be now */
export function residentMemory() {
  try {
    lastBytes = process.memoryUsage.rss()
    return { bytes: lastBytes, isCurrent: true }
  } catch (error) {
    if (!lacksDescriptors(error)) throw error
    return { bytes: lastBytes, isCurrent: false }
  }
}
