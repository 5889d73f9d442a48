/**
 * A slow disk: the kernel's block throttle (cgroup v2 `io.max`, or v1 `blkio`) in a group of our own that the contender's
 * process is put into. Synced writes are the process's own, so the limit holds for them; writes that it never waits for are the
 * kernel's, and are not slowed down.
 */
import {
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmdirSync,
  statSync,
  writeFileSync
} from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * @typedef {object} DiskLimits
 * @property {number} bytesPerSecond - each way
 * @property {number} operationsPerSecond - each way
 *
 * @typedef {object} SlowDisk
 * @property {(pid: number) => void} admit - from now on the process has the slow disk
 * @property {() => void} remove - once no process is in it
 */

/** The system does not let us slow a disk down. */
export class SlowDiskRefused extends Error {}

const V2 = '/sys/fs/cgroup'
const V1 = '/sys/fs/cgroup/blkio'

/**
 * @param {string} folder
 * @returns {string} major:minor of the whole disk that the folder is on, which is what the throttle takes
 */
function diskOf(folder) {
  const { dev } = statSync(folder)
  const name = `${(dev >> 8) & 0xfff}:${(dev & 0xff) | ((dev >> 12) & 0xfff00)}`
  const place = realpathSync(`/sys/dev/block/${name}`)
  if (!existsSync(join(place, 'partition'))) return name
  return readFileSync(join(dirname(place), 'dev'), 'utf8').trim()
}

/**
 * Removes groups of runs that were killed.
 *
 * @param {string} root
 */
function removeAbandoned(root) {
  for (const name of readdirSync(root)) {
    const pid = /^letterlock-benchmark-(\d+)$/.exec(name)?.[1]
    if (pid !== undefined && !existsSync(`/proc/${pid}`)) rmdirSync(join(root, name))
  }
}

/**
 * @param {string} folder - on the disk
 * @param {DiskLimits} limits
 * @returns {SlowDisk}
 * @throws {SlowDiskRefused} where the system does not allow it
 */
export function makeSlowDisk(folder, { bytesPerSecond, operationsPerSecond }) {
  const disk = diskOf(folder)
  const controllers = join(V2, 'cgroup.subtree_control')
  const isV2 = existsSync(controllers) && /\bio\b/.test(readFileSync(controllers, 'utf8'))
  const group = join(isV2 ? V2 : V1, `letterlock-benchmark-${process.pid}`)
  if (!isV2 && !existsSync(join(V1, 'cgroup.procs')))
    throw new SlowDiskRefused('no cgroup with block limits')
  const remove = () => rmdirSync(group)
  removeAbandoned(dirname(group))
  let isMade = false
  try {
    mkdirSync(group)
    isMade = true
    if (isV2) {
      const limits = `rbps=${bytesPerSecond} wbps=${bytesPerSecond} riops=${operationsPerSecond} wiops=${operationsPerSecond}`
      writeFileSync(join(group, 'io.max'), `${disk} ${limits}`)
    } else {
      for (const way of ['read', 'write']) {
        const file = (/** @type {string} */ unit) =>
          join(group, `blkio.throttle.${way}_${unit}_device`)
        writeFileSync(file('bps'), `${disk} ${bytesPerSecond}`)
        writeFileSync(file('iops'), `${disk} ${operationsPerSecond}`)
      }
    }
  } catch (error) {
    if (isMade) remove()
    throw new SlowDiskRefused(String(error), { cause: error })
  }
  return { admit: (pid) => writeFileSync(join(group, 'cgroup.procs'), `${pid}`), remove }
}
