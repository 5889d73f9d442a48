import assert from 'node:assert/strict'
import {
  closeSync,
  copyFileSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  renameSync,
  statSync,
  unlinkSync,
  writeFileSync,
  writeSync
} from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { OpenLog } from '../../../src/database/open-log.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { ManualClock } from '../../helpers/manual-clock.js'

const KIB = 1024

/**
 * @param {import('node:test').TestContext} t
 * @param {number} [sizeBytes] - of the log when it is opened
 */
async function setup(t, sizeBytes = 4 * KIB) {
  const folder = join(await scratchFolder(t), 'account')
  mkdirSync(folder)
  const path = join(folder, 'a.db-wal')
  writeFileSync(path, Buffer.alloc(sizeBytes, 1))
  const descriptor = openSync(path, 'r+')
  t.after(() => closeSync(descriptor))
  const clock = new ManualClock()
  const log = new OpenLog(descriptor, clock)
  const size = () => statSync(path).size
  const grow = (/** @type {number} */ bytes) =>
    writeSync(descriptor, Buffer.alloc(bytes, 1), 0, bytes, size())
  /** @returns {boolean} whether that sync was one to look at */
  const sync = () => {
    const isDue = log.countSync()
    if (isDue) assert.ok(log.look())
    return isDue
  }
  return { folder, path, descriptor, clock, log, size, grow, sync }
}

for (const [
  what,
  change,
  isUnmoved
] of /** @type {[string, (path: string) => void, boolean][]} */ ([
  ['a log that is written to', (path) => writeFileSync(path, 'other frames'), true],
  ['one that is gone', (path) => unlinkSync(path), false],
  [
    'one in whose place another lies',
    (path) => {
      copyFileSync(path, `${path}.new`)
      renameSync(`${path}.new`, path)
    },
    false
  ],
  [
    'one in a folder that was moved',
    (path) => renameSync(dirname(path), `${dirname(path)}.old`),
    false
  ],
  [
    'one that was moved away and back',
    (path) => {
      renameSync(path, `${path}.old`)
      renameSync(`${path}.old`, path)
    },
    true
  ]
]))
  test(`${what} ${isUnmoved ? 'lies' : 'no longer lies'} where it was opened`, async (t) => {
    const { path, log } = await setup(t)
    assert.equal(log.isUnmoved, true)
    change(path)
    assert.equal(log.isUnmoved, isUnmoved)
  })

test('a look tells that the log has no name any more', async (t) => {
  const { path, log } = await setup(t)
  assert.equal(log.look(), true)
  unlinkSync(path)
  assert.equal(log.look(), false)
})

test('a log that stays as long as it is, is looked at more and more rarely', async (t) => {
  const { sync } = await setup(t)
  const looks = Array.from({ length: 80 }, (_, index) => index + 1).filter(sync)
  assert.deepEqual(looks, [1, 2, 3, 4, 5, 7, 11, 19, 35, 51, 67])
})

test('after a while it is looked at again', async (t) => {
  const { clock, sync } = await setup(t)
  for (let count = 0; count < 35; count++) sync()
  assert.equal(sync(), false)
  clock.advance(99)
  assert.equal(sync(), false)
  clock.advance(1)
  assert.equal(sync(), true)
  assert.equal(sync(), false)
})

test('each sync of a log that grows by much is one to look at', async (t) => {
  const { log, size, grow, sync } = await setup(t, 40 * KIB)
  for (let count = 0; count < 20; count++) {
    grow(40 * KIB)
    log.makeRoom()
    assert.ok(sync())
    assert.equal(log.size, size())
  }
  assert.equal(size(), 21 * 40 * KIB, 'no room was made')
})

test('where room was made, as many syncs need no look as there is room for', async (t) => {
  const { log, size, grow, sync } = await setup(t, 0)
  assert.equal(sync(), true)
  grow(8 * KIB)
  assert.equal(sync(), true)
  log.makeRoom()
  assert.equal(size(), (8 + 64) * KIB)
  assert.equal(log.size, size())
  const looks = Array.from({ length: 20 }, (_, index) => index + 1).filter(sync)
  assert.deepEqual(looks, [8, 9, 10, 11, 12, 14, 18])
  log.makeRoom()
  assert.equal(size(), (8 + 64) * KIB, 'none is made before it is used up')
})

test('growth that is seen late counts for each of the syncs', async (t) => {
  const { log, size, grow, sync } = await setup(t)
  for (let count = 0; count < 19; count++) sync()
  const before = size()
  for (let count = 0; count < 15; count++) {
    grow(8 * KIB)
    assert.equal(sync(), false)
  }
  grow(8 * KIB)
  assert.equal(sync(), true)
  log.makeRoom()
  assert.equal(size(), before + (16 * 8 + 128) * KIB)
})

test('a log that was cut back to nothing gets no room before it has grown, and is looked at each time again', async (t) => {
  const { log, clock, descriptor, size, grow, sync } = await setup(t, 800 * KIB)
  for (let count = 0; count < 40; count++) sync()
  ftruncateSync(descriptor, 0)
  clock.advance(30_000)
  log.makeRoom()
  assert.equal(size(), 0)
  grow(8 * KIB)
  assert.equal(sync(), true)
  assert.equal(log.size, 8 * KIB)
  log.makeRoom()
  assert.equal(size(), 8 * KIB)
  grow(8 * KIB)
  assert.equal(sync(), true)
  log.makeRoom()
  assert.equal(size(), (16 + 64) * KIB)
})
