/**
 * How much memory this process has resident. Linux tells it in a file, which a process without a free descriptor cannot open:
 * just when an operator looks at the figures.
 */
import { lacksDescriptors } from '../support/lacks-descriptors.js'

let lastBytes = 0

/** @returns {{ bytes: number, isCurrent: boolean }} `isCurrent` false: it cannot be read now, and `bytes` is an earlier figure */
export function residentMemory() {
  try {
    lastBytes = process.memoryUsage.rss()
    return { bytes: lastBytes, isCurrent: true }
  } catch (error) {
    if (!lacksDescriptors(error)) throw error
    return { bytes: lastBytes, isCurrent: false }
  }
}
