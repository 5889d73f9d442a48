/**
 * The machine: disks, clock, limits.
 */
import { execFile } from 'node:child_process'
import { readFile, stat, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { isOnEncryptedDevice } from '../../database/temp-store.js'
import { diskTrouble } from '../../support/disk-trouble.js'
import { roomOf } from '../../support/disk-room.js'
import { formatBytes } from '../../support/format.js'
import { bad, doubtful, good } from './finding.js'
import { runningLimits } from './running-limits.js'

/** @import { Finding } from './finding.js' */

/** @typedef {import('../../../config/load.js').Config} Config */

const run = promisify(execFile)
/** Descriptors that the server needs beside those of connections and mailboxes. */
const SPARE_DESCRIPTORS = 500
/** Descriptors of an open mailbox: its file, -wal twice, -shm, lock. */
const DESCRIPTORS_PER_MAILBOX = 5

/**
 * @param {Config} config
 * @returns {Promise<Finding[]>}
 */
export async function checkDisks({ data }) {
  const isThere = (await exists(data)) !== null
  const folder = isThere ? data : process.cwd()
  const { bavail, blocks, bsize, ffree, files } = await statfs(folder)
  const [freeBytes, totalBytes] = [bavail * bsize, blocks * bsize]
  const { status, hasFewFiles } = roomOf({
    ...{ freeBytes, totalBytes },
    ...{ freeFiles: ffree, totalFiles: files }
  })
  const text =
    `${formatBytes(freeBytes)} free of ${formatBytes(totalBytes)}` +
    (hasFewFiles ? `, and ${ffree} more files of ${files}` : '')
  const swaps = (await readFile('/proc/swaps', 'utf8').catch(() => '')).trim().split('\n').slice(1)
  const trouble = isThere ? await diskTrouble(data) : null
  return [
    roomFinding({ text, status, trouble }),
    isOnEncryptedDevice(folder)
      ? good('disk encryption', 'The data folder is on an encrypted device')
      : doubtful(
          'disk encryption',
          'The data folder is not on an encrypted device',
          'Mailboxes are encrypted by themselves; addresses, sizes and times are not. LUKS below the data folder hides those, too'
        ),
    swaps.length === 0
      ? good('swap', 'None: no key leaves the memory')
      : doubtful(
          'swap',
          'There is swap, where keys in memory may come to lie',
          'Encrypt it, or keep the service out of it: MemorySwapMax=0'
        )
  ]
}

/**
 * @param {object} disk
 * @param {string} disk.text - how much is free
 * @param {'ok' | 'warn' | 'fail'} disk.status
 * @param {string | null} disk.trouble - why it takes nothing
 * @returns {Finding}
 */
function roomFinding({ text, status, trouble }) {
  const name = 'disk'
  if (trouble !== null) {
    return bad(
      name,
      `Nothing can be written to it (${trouble}); ${text}`,
      trouble === 'EROFS'
        ? 'Its file system is read-only: see the kernel’s log (dmesg), check the disk, mount it again, restart the server'
        : 'Make room, or see the kernel’s log (dmesg)'
    )
  }
  const advice = 'Make room: a full disk refuses mail'
  if (status === 'fail') return bad(name, text, advice)
  return status === 'warn' ? doubtful(name, text, advice) : good(name, text)
}

/**
 * @param {string} path
 * @returns {Promise<import('node:fs').Stats | null>}
 */
const exists = (path) => stat(path).catch(() => null)

/**
 * @param {Config} config
 * @param {number} nowMs
 * @returns {Promise<Finding>}
 */
export async function checkClock({ data }, nowMs) {
  const name = 'clock'
  const directory = await exists(join(data, 'directory.db'))
  if (directory && directory.mtimeMs > nowMs + 60_000) {
    return bad(
      name,
      'The directory was written in the future: the clock has gone back',
      'Set the clock, and let it be kept by systemd-timesyncd or chrony'
    )
  }
  try {
    const { stdout } = await run('timedatectl', ['show', '-p', 'NTPSynchronized', '--value'])
    return stdout.trim() === 'yes'
      ? good(name, 'Kept by a time server')
      : doubtful(
          name,
          'Not kept by a time server',
          'timedatectl set-ntp true, or install chrony: certificates and expiries go by it'
        )
  } catch {
    // `timedatectl` did not answer: a container, or no systemd.
    return doubtful(
      name,
      'Nobody can say whether a time server keeps it',
      'In a container the host’s clock counts: look there'
    )
  }
}

/**
 * @param {string} limits - the text of /proc/self/limits
 * @param {string} name
 * @returns {number} the soft limit
 */
function softLimit(limits, name) {
  const line = limits.split('\n').find((text) => text.startsWith(name)) ?? ''
  const value = line.slice(name.length).trim().split(/\s+/)[0] ?? ''
  return value === 'unlimited' ? Infinity : Number(value)
}

/**
 * @param {Config} config
 * @returns {Promise<Finding[]>}
 */
export async function checkLimits({ data, imap, lmtp, storage }) {
  const { limits, isServer } = await runningLimits(join(data, 'directory.db'))
  if (limits.length === 0) return [doubtful('limits', 'They cannot be read here', 'See ulimit -n')]
  const whom = isServer
    ? 'the running server'
    : 'this command, and a server that is started likewise'
  const files = Math.min(...limits.map((text) => softLimit(text, 'Max open files')))
  const wanted =
    imap.maxConnections +
    lmtp.maxConnections +
    DESCRIPTORS_PER_MAILBOX * storage.maxOpenFiles +
    SPARE_DESCRIPTORS
  const isCoreOff = limits.every((text) => softLimit(text, 'Max core file size') === 0)
  return [
    files >= wanted
      ? good('open files', `${files} are allowed to ${whom}`)
      : doubtful(
          'open files',
          `${files} are allowed to ${whom}; what is configured may need ${wanted}`,
          `ulimit -n ${wanted}, or LimitNOFILE=${wanted} in the unit; or lower imap.maxConnections and storage.maxOpenFiles`
        ),
    isCoreOff
      ? good('core files', `None are written of ${whom}`)
      : doubtful(
          'core files',
          `A crash may write the memory of ${whom}, keys included, to disk`,
          'ulimit -c 0, or LimitCORE=0 in the unit'
        )
  ]
}
