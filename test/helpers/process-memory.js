/**
 * What the kernel says about the memory of a process (proc(5)); Linux only.
 */
import { closeSync, openSync, readdirSync, readFileSync, readSync, writeFileSync } from 'node:fs'

/** For the `skip` option of a test. */
export const memoryIsUnreadable =
  process.platform === 'linux' ? false : 'the memory of another process is read from /proc'

/**
 * @param {number} pid
 * @param {'VmRSS' | 'VmHWM'} field
 * @returns {number} bytes
 */
function statusField(pid, field) {
  const text = readFileSync(`/proc/${pid}/status`, 'latin1')
  const kib = new RegExp(`^${field}:\\s+(\\d+) kB$`, 'm').exec(text)?.[1]
  if (kib === undefined) throw new Error(`/proc/${pid}/status has no ${field}`)
  return Number(kib) * 1024
}

/**
 * @param {number} pid
 * @returns {number} resident bytes
 */
export const residentBytes = (pid) => statusField(pid, 'VmRSS')

/**
 * @param {number} pid
 * @returns {number} the most resident bytes since `forgetPeak`
 */
export const peakBytes = (pid) => statusField(pid, 'VmHWM')

/**
 * @param {number} pid
 * @returns {number}
 */
export const countThreads = (pid) => readdirSync(`/proc/${pid}/task`).length

/** @param {number} pid */
export const forgetPeak = (pid) => writeFileSync(`/proc/${pid}/clear_refs`, '5')

/**
 * @param {number} pid - of a child of this process, or of anybody where this is root
 * @param {Buffer[]} needles
 * @returns {number[]} how often each is in what it has mapped and may read
 * @throws {NodeJS.ErrnoException} EACCES or EPERM where the system lets nobody look
 */
export function countInMemory(pid, needles) {
  const counts = needles.map(() => 0)
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  try {
    for (const line of readFileSync(`/proc/${pid}/maps`, 'latin1').split('\n')) {
      const [, from = '', to = ''] = /^([0-9a-f]+)-([0-9a-f]+) r.*(?<!\[v\w+\])$/.exec(line) ?? []
      const region = readRegion(memory, parseInt(from, 16), parseInt(to, 16))
      for (const [index, needle] of needles.entries()) {
        for (let at = region.indexOf(needle); at >= 0; at = region.indexOf(needle, at + 1)) {
          counts[index] = (counts[index] ?? 0) + 1
        }
      }
    }
  } finally {
    closeSync(memory)
  }
  return counts
}

/**
 * @param {number} memory - descriptor
 * @param {number} from - address
 * @param {number} to
 * @returns {Buffer} empty where the region has gone meanwhile, or cannot be read
 */
function readRegion(memory, from, to) {
  if (!(to > from)) return Buffer.alloc(0)
  const region = Buffer.alloc(to - from)
  try {
    return region.subarray(0, readSync(memory, region, 0, region.length, from))
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'EIO') return Buffer.alloc(0)
    throw error
  }
}
