/**
 * How much memory there is for this process and its neighbours.
 */
import { totalmem } from 'node:os'

/** @returns {number} bytes: the container's limit, where there is one, else the machine's memory */
export function memoryOfHost() {
  const constrained = process.constrainedMemory()
  return constrained > 0 ? Math.min(constrained, totalmem()) : totalmem()
}
