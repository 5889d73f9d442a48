/**
 * How much memory this process may still take.
 */
import { freemem } from 'node:os'
import { join } from 'node:path'
import { readSystemText } from './system-text.js'

/** Where Linux has the figures of control groups: those of version 2, and those of version 1. */
const ROOTS = ['/sys/fs/cgroup', '/sys/fs/cgroup/memory']

/**
 * @param {string} stat - a group's `memory.stat`
 * @returns {number} bytes of files that the kernel lets go of as soon as somebody needs the memory; those of the groups below
 *   count, too: version 1 has the sums under `total_…`
 */
export function fileCacheOf(stat) {
  const figures = new Map(
    stat.split('\n').map((line) => {
      const [name = '', value = '0'] = line.split(' ')
      return [name, Number(value)]
    })
  )
  const figure = (/** @type {string} */ name) =>
    figures.get(`total_${name}`) ?? figures.get(name) ?? 0
  return figure('inactive_file') + figure('active_file')
}

/** @returns {number} bytes, see fileCacheOf; 0 where nobody says */
function fileCacheOfGroup() {
  const groups = readSystemText('/proc/self/cgroup') ?? ''
  const path = /^\d+:memory:(.*)$/m.exec(groups)?.[1] ?? /^0::(.*)$/m.exec(groups)?.[1] ?? '/'
  // In a container the group may be mounted where the path would begin.
  for (const folder of [path, '/']) {
    for (const root of ROOTS) {
      const stat = readSystemText(join(root, folder, 'memory.stat'))
      if (stat !== null) return fileCacheOf(stat)
    }
  }
  return 0
}

/**
 * Node counts the cached files of a group of processes (a container, a unit with MemoryMax) as taken memory: after a while they
 * fill all that the group may have, although the kernel gives their memory back at once.
 *
 * @returns {number} bytes: of the machine, or of the group where it may have less
 */
export function freeMemory() {
  const machineBytes = freemem()
  const bytes = process.availableMemory()
  return bytes < machineBytes ? Math.min(machineBytes, bytes + fileCacheOfGroup()) : machineBytes
}
