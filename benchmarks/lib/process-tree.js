/**
 * Memory and processor time of a server, its whole family of processes together.
 */
import { readFileSync, readdirSync } from 'node:fs'

/**
 * @param {string} path
 * @returns {string} empty when the process has gone
 */
function readOrNothing(path) {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    // Processes end while we look.
    return ''
  }
}

/** @returns {Map<number, number>} parent of each process */
function parents() {
  const found = new Map()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    const parent = /\) \S (\d+)/.exec(readOrNothing(`/proc/${name}/stat`))?.[1]
    if (parent !== undefined) found.set(Number(name), Number(parent))
  }
  return found
}

/**
 * @param {number} root
 * @returns {number[]} the process and its descendants
 */
function processTree(root) {
  const family = [root]
  const all = parents()
  for (let index = 0; index < family.length; index++) {
    for (const [pid, parent] of all) if (parent === family[index]) family.push(pid)
  }
  return family
}

/**
 * @param {number} root
 * @returns {number} bytes of memory, pages that processes share counted once (PSS)
 */
export function memoryOf(root) {
  return processTree(root).reduce((sum, pid) => {
    const text = readOrNothing(`/proc/${pid}/smaps_rollup`)
    return sum + 1024 * Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0)
  }, 0)
}

/** Linux reports processor time in clock ticks, of which a second has 100 on every architecture. */
const TICKS_PER_SECOND = 100

/**
 * @param {number} root
 * @returns {number} seconds of processor time, children that have ended not counted
 */
export function processorSeconds(root) {
  return processTree(root).reduce((sum, pid) => {
    const fields = readOrNothing(`/proc/${pid}/stat`)
      .replace(/^.*\) /s, '')
      .split(' ')
    return sum + (Number(fields[11] ?? 0) + Number(fields[12] ?? 0)) / TICKS_PER_SECOND
  }, 0)
}
