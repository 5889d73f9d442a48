/**
 * What the kernel says about the memory of a process (proc(5)); Linux only.
 */
import { readFileSync, writeFileSync } from 'node:fs'

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

/** @param {number} pid */
export const forgetPeak = (pid) => writeFileSync(`/proc/${pid}/clear_refs`, '5')
