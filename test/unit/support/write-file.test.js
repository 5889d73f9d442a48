import { test } from 'node:test'
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { loadPepper } from '../../../src/accounts/pepper.js'
import { makeFolderDurably, writeFileDurably } from '../../../src/support/write-file.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { smallDisk, smallDiskIsMissing } from '../../helpers/small-disk.js'

test('a file is there with its content and nothing besides, or what was there before stays', async (t) => {
  const folder = await scratchFolder(t)
  const path = join(folder, 'file')
  await writeFileDurably(path, 'one')
  await writeFileDurably(path, 'two', { mode: 0o644 })
  assert.deepEqual(
    [readFileSync(path, 'utf8'), statSync(path).mode & 0o777],
    ['two', 0o644 & ~process.umask()]
  )
  mkdirSync(join(folder, 'taken'))
  await assert.rejects(writeFileDurably(join(folder, 'taken'), 'three'))
  assert.deepEqual(readdirSync(folder), ['file', 'taken'])
})

test('many make folders in one that none of them has found there', async (t) => {
  const root = await scratchFolder(t)
  for (let round = 0; round < 50; round++) {
    const above = join(root, `${round}`, 'above')
    const folders = Array.from({ length: 6 }, (_, nth) => join(above, `${nth % 4}`))
    await Promise.all(folders.map((folder) => makeFolderDurably(folder)))
    assert.deepEqual(readdirSync(above).sort(), ['0', '1', '2', '3'])
  }
})

test('folders are made with those above them; one that is there, and a file in the way, stay', async (t) => {
  const folder = await scratchFolder(t)
  const deepest = join(folder, 'a', 'b', 'c')
  await Promise.all([makeFolderDurably(deepest), makeFolderDurably(join(folder, 'a', 'b', 'd'))])
  await makeFolderDurably(deepest)
  assert.deepEqual(readdirSync(join(folder, 'a', 'b')), ['c', 'd'])
  assert.equal(statSync(join(folder, 'a')).mode & 0o777, 0o700)
  await writeFileDurably(join(folder, 'file'), 'one')
  await assert.rejects(makeFolderDurably(join(folder, 'file')), { code: 'EEXIST' })
  await assert.rejects(makeFolderDurably(join(folder, 'file', 'below')), { code: 'ENOTDIR' })
})

test(
  'a folder that is there and takes no other, as an automount does whose server is away, is told',
  { skip: !existsSync('/proc/self'), timeout: 10_000 },
  async () => {
    for (const path of ['/proc/none', '/proc/none/below'])
      await assert.rejects(makeFolderDurably(path), { code: 'ENOENT' })
  }
)

test(
  'on a full disk nothing is left of a file or of a pepper',
  { skip: smallDiskIsMissing },
  async (t) => {
    const disk = smallDisk(t, 1024 * 1024)
    disk.fill(0)
    const names = readdirSync(disk.root)
    await assert.rejects(writeFileDurably(join(disk.root, 'key.pem'), 'a key'), { code: 'ENOSPC' })
    const pepper = { path: join(disk.root, 'pepper'), neededIds: [] }
    await assert.rejects(loadPepper(pepper), { code: 'ENOSPC' })
    assert.deepEqual(readdirSync(disk.root), names)
  }
)
