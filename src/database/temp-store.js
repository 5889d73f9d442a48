/**
 * Where SQLite may keep temporary data. Measured: with temp_store on disk, VACUUM, large sorts, CREATE INDEX
 * and statement journals write mail in plain text into the temporary folder, although the database itself is
 * encrypted. So the disk is used only where the folder itself lies on an encrypted block device.
 */
import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { readSystemText } from '../support/system-text.js'

/**
 * @typedef {'auto' | 'disk' | 'memory'} TempStoreChoice - as the configuration says it
 * @typedef {'disk' | 'memory'} TempStore - as it is decided
 */

/** Device-mapper's uuid of LUKS, plain dm-crypt and TrueCrypt begins so. */
const ENCRYPTED_UUID = /^CRYPT-/

/** At most so many stacked devices are searched (LVM on LUKS on RAID is 3). */
const MAX_DEVICE_DEPTH = 8

/**
 * @param {string} mountinfo - the text of /proc/self/mountinfo
 * @param {string} path - absolute, without symbolic links
 * @returns {string | null} `major:minor` of the device that the path lies on
 */
export function findMountDevice(mountinfo, path) {
  let best = ''
  let device = null
  for (const line of mountinfo.split('\n')) {
    const fields = line.split(' ')
    const number = fields[2]
    const mountPoint = fields[4]?.replace(/\\([0-7]{3})/g, (_, octal) =>
      String.fromCharCode(parseInt(octal, 8))
    )
    if (number === undefined || mountPoint === undefined) continue
    const isAbove = mountPoint === '/' || path === mountPoint || path.startsWith(`${mountPoint}/`)
    // Of two mounts on one point the later line hides the earlier.
    if (isAbove && mountPoint.length >= best.length) {
      best = mountPoint
      device = number
    }
  }
  return device
}

/**
 * @param {string} deviceFolder - a device's folder in /sys
 * @param {number} depth
 * @returns {boolean} whether this device, or every device below it, is encrypted
 */
function isDeviceEncrypted(deviceFolder, depth) {
  if (depth > MAX_DEVICE_DEPTH) return false
  // Not every device has every attribute: unknown counts as clear.
  if (ENCRYPTED_UUID.test(readSystemText(join(deviceFolder, 'dm/uuid')) ?? '')) return true
  let lower
  try {
    lower = readdirSync(join(deviceFolder, 'slaves'))
  } catch {
    // A partition has no such folder: its disk is what counts, and a disk by itself is clear.
    return false
  }
  return (
    lower.length > 0 &&
    lower.every((name) => isDeviceEncrypted(join(deviceFolder, 'slaves', name), depth + 1))
  )
}

/**
 * @param {string} folder
 * @param {{ mountinfoFile?: string, blockFolder?: string }} [system] - other places than /proc and /sys, for tests
 * @returns {boolean} true only when it is certain that the folder lies on an encrypted block device
 */
export function isOnEncryptedDevice(
  folder,
  { mountinfoFile = '/proc/self/mountinfo', blockFolder = '/sys/dev/block' } = {}
) {
  if (!existsSync(folder)) return false
  const device = findMountDevice(readSystemText(mountinfoFile) ?? '', realpathSync(folder))
  return device !== null && isDeviceEncrypted(join(blockFolder, device), 0)
}

/**
 * @param {TempStoreChoice} choice
 * @param {string} tempFolder - the folder that would be used
 * @param {{ mountinfoFile?: string, blockFolder?: string }} [system]
 * @returns {TempStore}
 * @throws {Error} with `disk`, when the folder is missing
 */
export function decideTempStore(choice, tempFolder, system) {
  if (choice === 'memory') return 'memory'
  if (choice === 'disk') {
    if (!statSync(tempFolder).isDirectory()) throw new Error('The temporary folder is not a folder')
    return 'disk'
  }
  return isOnEncryptedDevice(tempFolder, system) ? 'disk' : 'memory'
}
