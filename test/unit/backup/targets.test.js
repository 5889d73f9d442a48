import { test } from 'node:test'
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { spawnSync } from 'node:child_process'
import { mkdir, readdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openFolderTarget } from '../../../src/backup/targets/folder.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { skipWithoutS3, startS3Server } from '../../helpers/s3-server.js'
import { listed, s3At } from '../../helpers/s3-target.js'
import { smallDisk, smallDiskIsMissing } from '../../helpers/small-disk.js'

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * @typedef {object} Place
 * @property {string} name
 * @property {string | false} skip
 * @property {(t: import('node:test').TestContext) => Promise<import('../../../src/backup/targets/target.js').BackupTarget>} open
 */

/** @type {Place[]} */
const PLACES = [
  {
    name: 'a folder',
    skip: false,
    open: async (t) => openFolderTarget(join(await scratchFolder(t), 'target'))
  },
  {
    name: 'object storage',
    skip: skipWithoutS3,
    open: async (t) => s3At((await startS3Server(t)).endpoint)
  }
]

for (const { name, skip, open } of PLACES) {
  test(`${name} gives back what was put there, whole or in ranges`, { skip }, async (t) => {
    const target = await open(t)
    const bytes = randomBytes(100_000)
    await target.put('packs/aa/one.pack', bytes)
    assert.deepEqual(await target.get('packs/aa/one.pack'), bytes)
    assert.deepEqual(
      await target.getRange('packs/aa/one.pack', 99_000, 1000),
      bytes.subarray(99_000)
    )
    assert.deepEqual(await target.getRange('packs/aa/one.pack', 0, 0), Buffer.alloc(0))
    assert.equal(await target.size('packs/aa/one.pack'), 100_000)
    await target.put('packs/aa/one.pack', Buffer.from('another'))
    assert.deepEqual(await target.get('packs/aa/one.pack'), Buffer.from('another'))
    await target.close()
  })

  test(`${name} says what is missing, and what is too short`, { skip }, async (t) => {
    const target = await open(t)
    assert.equal(await target.get('nothing'), null)
    assert.equal(await target.size('nothing'), null)
    await assert.rejects(target.getRange('nothing', 0, 10), { code: 'BACKUP_DAMAGED' })
    await target.put('short', Buffer.alloc(10))
    for (const offset of [5, 10, 20])
      await assert.rejects(target.getRange('short', offset, 10), { code: 'BACKUP_DAMAGED' })
    await target.close()
  })

  test(`${name} lists by prefix in order, and removes`, { skip }, async (t) => {
    const target = await open(t)
    assert.deepEqual(await listed(target.list('packs/')), [])
    for (const object of ['packs/bb/2', 'packs/aa/1', 'keys/x/3', 'top'])
      await target.put(object, Buffer.alloc(object.length))
    assert.deepEqual(await listed(target.list('packs/')), [
      { name: 'packs/aa/1', size: 10 },
      { name: 'packs/bb/2', size: 10 }
    ])
    await target.remove(['packs/aa/1', 'never/there'])
    assert.deepEqual(
      (await listed(target.list('packs/'))).map((object) => object.name),
      ['packs/bb/2']
    )
    await target.remove([])
    await target.close()
  })

  test(`${name} takes a file of many parts`, { skip }, async (t) => {
    const target = await open(t)
    const bytes = randomBytes(20 * 1024 * 1024 + 17)
    const path = join(await scratchFolder(t), 'large')
    await writeFile(path, bytes)
    await target.putFile('packs/aa/large.pack', path)
    assert.equal(await target.size('packs/aa/large.pack'), bytes.length)
    const at = 8 * 1024 * 1024 - 5
    assert.deepEqual(
      await target.getRange('packs/aa/large.pack', at, 10),
      bytes.subarray(at, at + 10)
    )
    assert.deepEqual(await target.get('packs/aa/large.pack'), bytes)
    await target.close()
  })
}

test('what a killed run left half written in a folder is not listed, and goes', async (t) => {
  const folder = await scratchFolder(t)
  const target = openFolderTarget(folder)
  await target.put('keys/a', Buffer.from('whole'))
  const [old, fresh] = ['0', '1'].map((digit) => `b.${digit.repeat(12)}.tmp`)
  for (const name of [old, fresh]) await writeFile(join(folder, 'keys', name ?? ''), 'half')
  const daysAgo = new Date(Date.now() - 2 * DAY_MS)
  await utimes(join(folder, 'keys', old ?? ''), daysAgo, daysAgo)
  assert.deepEqual(
    (await listed(target.list('keys/'))).map(({ name }) => name),
    ['keys/a']
  )
  // What a run is just writing stays, whoever looks meanwhile.
  assert.deepEqual((await readdir(join(folder, 'keys'))).sort(), ['a', fresh])
})

test(
  'a folder that is full says which one, and one that is read-only can be read, with what a killed run left there',
  { skip: smallDiskIsMissing },
  async (t) => {
    const disk = smallDisk(t, 1024 * 1024)
    const { root } = disk
    const target = openFolderTarget(root)
    await target.put('keys/a', Buffer.from('whole'))
    disk.fill(0)
    const full = { code: 'DISK_FULL', detail: new RegExp(`ENOSPC.*'${root}/keys/b`) }
    await assert.rejects(target.put('keys/b', Buffer.alloc(10_000)), full)
    await assert.rejects(target.putFile('keys/b', process.execPath), full)
    // Nothing is left of what did not fit, which would keep the disk full.
    assert.deepEqual(await readdir(join(root, 'keys')), ['a'])
    disk.clear()
    const left = join(root, 'keys', `b.${'0'.repeat(12)}.tmp`)
    await writeFile(left, 'half')
    await utimes(left, new Date(0), new Date(0))
    assert.equal(spawnSync('mount', ['-o', 'remount,ro', root]).status, 0)
    assert.deepEqual(
      (await listed(target.list('keys/'))).map(({ name }) => name),
      ['keys/a']
    )
    assert.deepEqual(await target.get('keys/a'), Buffer.from('whole'))
    const unreachable = { code: 'BACKUP_UNREACHABLE' }
    await assert.rejects(target.put('keys/b', Buffer.alloc(1)), unreachable)
    await assert.rejects(target.putFile('keys/b', join(root, 'keys', 'a')), unreachable)
    await assert.rejects(target.remove(['keys/a']), unreachable)
  }
)

test('an object that the disk of a folder does not give back is damaged, not the folder out of reach', async (t) => {
  const folder = await scratchFolder(t)
  const target = openFolderTarget(folder)
  await mkdir(join(folder, 'keys', 'a'), { recursive: true })
  await assert.rejects(target.get('keys/a'), { code: 'BACKUP_DAMAGED' })
  await assert.rejects(target.getRange('keys/a', 0, 10), { code: 'BACKUP_DAMAGED' })
})

test('a folder that cannot be looked into is out of reach, and no place without backups', async (t) => {
  const folder = await scratchFolder(t)
  const target = openFolderTarget(folder)
  await symlink('generations', join(folder, 'generations'))
  await writeFile(join(folder, 'packs'), 'a file')
  for (const prefix of ['generations/', 'packs/'])
    await assert.rejects(listed(target.list(prefix)), { code: 'BACKUP_UNREACHABLE' })
  await assert.rejects(target.size('packs/aa/one.pack'), { code: 'BACKUP_UNREACHABLE' })
})
