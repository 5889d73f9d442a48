import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  decideTempStore,
  findMountDevice,
  isOnEncryptedDevice
} from '../../../src/database/temp-store.js'
import { scratchFolder } from '../../helpers/account-folder.js'

const MOUNTINFO = [
  // The initial ramdisk has mounted it, and the root afterwards.
  '23 22 0:5 / /proc rw - proc proc rw',
  '22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw',
  '24 22 253:2 / /srv/mail rw - ext4 /dev/mapper/mail rw',
  '25 22 253:3 / /srv/mail\\040two rw - ext4 /dev/mapper/two rw',
  '26 22 8:3 / /mnt rw - ext4 /dev/sda3 rw',
  '27 26 8:4 / /mnt rw - ext4 /dev/sda4 rw',
  ''
].join('\n')

const mounts = /** @type {[string, string][]} */ ([
  ['/', '8:1'],
  ['/home/x', '8:1'],
  ['/proc/self', '0:5'],
  ['/mnt/x', '8:4'],
  ['/srv/mail', '253:2'],
  ['/srv/mail/data/tmp', '253:2'],
  ['/srv/mailbox', '8:1'],
  ['/srv/mail two/data', '253:3']
])

for (const [path, device] of mounts) {
  test(`${path} lies on ${device}`, () => assert.equal(findMountDevice(MOUNTINFO, path), device))
}

/**
 * A /sys/dev/block with one device for `folder`, which is stacked as `layers` say, topmost first.
 *
 * @param {import('node:test').TestContext} t
 * @param {(string | null)[]} layers - dm/uuid of each; null for a device that is none of device-mapper's
 */
async function system(t, layers) {
  const folder = await scratchFolder(t)
  const mountinfoFile = join(folder, 'mountinfo')
  writeFileSync(mountinfoFile, '1 0 253:9 / / rw - ext4 /dev/mapper/x rw\n')
  const blockFolder = join(folder, 'block')
  layers.forEach((uuid, level) => {
    const device = join(folder, `device${level}`)
    mkdirSync(join(device, 'slaves'), { recursive: true })
    if (uuid !== null) {
      mkdirSync(join(device, 'dm'))
      writeFileSync(join(device, 'dm/uuid'), `${uuid}\n`)
    }
    if (level > 0)
      symlinkSync(device, join(folder, `device${level - 1}`, 'slaves', `below${level}`))
  })
  mkdirSync(blockFolder)
  symlinkSync(join(folder, 'device0'), join(blockFolder, '253:9'))
  return { folder, places: { mountinfoFile, blockFolder } }
}

const devices = /** @type {[string, (string | null)[], boolean][]} */ ([
  ['LUKS', ['CRYPT-LUKS2-0123-root'], true],
  ['LVM on LUKS', ['LVM-abc', 'CRYPT-LUKS2-0123-root'], true],
  ['LVM on a clear disk', ['LVM-abc', null], false],
  ['a clear disk', [null], false],
  ['another device-mapper target', ['mpath-1'], false]
])

for (const [what, layers, expected] of devices) {
  test(`${what} counts as ${expected ? 'encrypted' : 'clear'}`, async (t) => {
    const { folder, places } = await system(t, layers)
    assert.equal(isOnEncryptedDevice(folder, places), expected)
    assert.equal(decideTempStore('auto', folder, places), expected ? 'disk' : 'memory')
  })
}

test('where nothing is known, and where the folder is missing, auto keeps temporary data in memory', async (t) => {
  const { folder, places } = await system(t, ['CRYPT-LUKS2-0123-root'])
  assert.equal(decideTempStore('auto', join(folder, 'missing'), places), 'memory')
  const nowhere = { mountinfoFile: join(folder, 'no'), blockFolder: join(folder, 'no') }
  assert.equal(decideTempStore('auto', folder, nowhere), 'memory')
})

test('disk and memory are taken at their word', async (t) => {
  const { folder, places } = await system(t, ['CRYPT-LUKS2-0123-root'])
  assert.equal(decideTempStore('memory', folder, places), 'memory')
  const clear = await system(t, [null])
  assert.equal(decideTempStore('disk', clear.folder, clear.places), 'disk')
  assert.throws(() => decideTempStore('disk', join(folder, 'missing')))
})
