import assert from 'node:assert/strict'
import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  statSync,
  unlinkSync,
  writeFileSync
} from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { WalSync } from '../../../src/database/durability.js'
import { isWorthRoom, makeRoomAtEnd } from '../../../src/database/log-room.js'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { retryWhileBusy, runTransaction } from '../../../src/database/transaction.js'
import { scratchFolder } from '../../helpers/account-folder.js'
import { smallDisk, smallDiskIsMissing } from '../../helpers/small-disk.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

const KEY = Buffer.alloc(32, 7)
const CIPHER = 'chacha20'
const FRAME_BYTES = 24 + 4096

/**
 * @param {import('node:test').TestContext} t
 */
async function setup(t) {
  const folder = await scratchFolder(t)
  const path = join(folder, 'a.db')
  const { db } = openEncryptedDatabase({ path, key: KEY, cipher: CIPHER, isNew: true })
  db.exec('CREATE TABLE rows (id INTEGER PRIMARY KEY, writer TEXT)')
  const sync = new WalSync({ databasePath: path, onFailure: (error) => assert.ifError(error) })
  t.after(async () => {
    await sync.close()
    db.close()
  })
  const add = (/** @type {string} */ writer) =>
    retryWhileBusy(
      () =>
        runTransaction(db, () => {
          sync.makeRoom()
          db.prepare('INSERT INTO rows (writer) VALUES (?)').run(writer)
        }),
      { busyTimeoutMs: 60_000 }
    )
  return { folder, path, db, sync, add, size: () => statSync(`${path}-wal`).size }
}

/**
 * @param {{ folder: string, path: string }} file - open, as a crash would leave it
 * @returns {{ rows: number, integrity: unknown }} what is there after it
 */
function recover({ folder, path }) {
  const copy = join(folder, 'copy.db')
  copyFileSync(path, copy)
  copyFileSync(`${path}-wal`, `${copy}-wal`)
  const { db } = openEncryptedDatabase({ path: copy, key: KEY, cipher: CIPHER })
  try {
    return {
      rows: Number(db.prepare('SELECT count(*) FROM rows').pluck().get()),
      integrity: db.pragma('integrity_check', { simple: true })
    }
  } finally {
    db.close()
  }
}

test('a small commit that makes the log longer has the next one make room, and those after that leave its size as it is', async (t) => {
  const { add, sync, size, path } = await setup(t)
  await sync.sync()
  const before = size()
  assert.equal((before - 32) % FRAME_BYTES, 0, 'nothing but frames')
  await add('second')
  await sync.sync()
  const roomy = size()
  const room = readFileSync(`${path}-wal`).subarray(before + 2 * FRAME_BYTES)
  assert.ok(room.length > 48 * 1024, `${roomy} after ${before}`)
  assert.ok(
    room.every((byte) => byte === 0),
    'zeros behind the frames'
  )
  for (let count = 0; count < 10; count++) {
    await add('later')
    await sync.sync()
  }
  assert.equal(size(), roomy)
  assert.equal(sync.walBytes, roomy)
})

test('room is made again each time that it is used up, and never more than 128 KiB of it', async (t) => {
  const { add, sync, size } = await setup(t)
  const sizes = new Set()
  for (let count = 0; count < 400; count++) {
    await add('a')
    await sync.sync()
    sizes.add(size())
  }
  const steps = [...sizes]
    .map((bytes, index, all) => bytes - (all[index - 1] ?? 0))
    .filter((step) => step > 2 * FRAME_BYTES)
  assert.ok(steps.length >= 4, `steps of ${steps}`)
  assert.ok(Math.max(...steps) <= 128 * 1024 + 2 * FRAME_BYTES, `steps of ${steps}`)
})

test('a log with room at its end is recovered to the last commit, and goes on from there', async (t) => {
  const { folder, path, add, sync } = await setup(t)
  for (let count = 1; count <= 60; count++) {
    await add('a')
    await sync.sync()
    if (count % 7 === 0)
      assert.deepEqual(recover({ folder, path }), { rows: count, integrity: 'ok' })
  }
})

test('what another connection commits meanwhile is never overwritten', async (t) => {
  const { folder, path, db, add, sync } = await setup(t)
  await add('first')
  const other = new Worker(
    `import { parentPort, workerData } from 'node:worker_threads'
     const { openEncryptedDatabase } = await import(workerData.open)
     const { runTransaction } = await import(workerData.transaction)
     const { db } = openEncryptedDatabase({ ...workerData.options, isBlocking: true })
     const insert = db.prepare("INSERT INTO rows (writer) VALUES ('thread')")
     for (let count = 0; count < 1000; count++) {
       runTransaction(db, () => insert.run())
       if (count % 250 === 249) db.pragma('wal_checkpoint(TRUNCATE)')
     }
     db.close()`,
    {
      eval: true,
      workerData: {
        open: new URL('../../../src/database/open.js', import.meta.url).href,
        transaction: new URL('../../../src/database/transaction.js', import.meta.url).href,
        options: { path, key: KEY, cipher: CIPHER }
      }
    }
  )
  const state = { isOver: false }
  const over = new Promise((resolve, reject) => {
    other.on('error', reject)
    other.on('exit', () => resolve((state.isOver = true)))
  })
  let own = 1
  while (!state.isOver) {
    await add('main')
    await sync.sync()
    own++
  }
  await over
  const count = db.prepare('SELECT count(*) FROM rows WHERE writer = ?').pluck()
  assert.equal(count.get('thread'), 1000)
  assert.equal(count.get('main'), own - 1)
  assert.deepEqual(recover({ folder, path }), { rows: 1000 + own, integrity: 'ok' })
})

test('a log that was cut back to nothing stays so while nobody writes, and one that was removed is let be', async (t) => {
  const { add, sync, size, db, path } = await setup(t)
  const makeRoomIn = (/** @type {number} */ descriptor) => {
    try {
      return makeRoomAtEnd(descriptor)
    } finally {
      closeSync(descriptor)
    }
  }
  await add('first')
  await sync.sync()
  db.pragma('wal_checkpoint(TRUNCATE)')
  assert.equal(makeRoomIn(openSync(`${path}-wal`, 'r+')), 0)
  assert.equal(size(), 0)
  const removed = join(path, '..', 'removed')
  writeFileSync(removed, 'frames')
  const descriptor = openSync(removed, 'r+')
  unlinkSync(removed)
  assert.equal(makeRoomIn(descriptor), 6)
})

test('room is worth it for small commits that made the log longer', () => {
  const cases = { 0: false, [-4096]: false, 4120: true, 16_384: true, 16_385: false }
  for (const [growth, isWorth] of Object.entries(cases))
    assert.equal(isWorthRoom(Number(growth)), isWorth, `${growth} bytes`)
})

for (const [leftBytes, roomBytes] of [
  [0, 0],
  [16_384, 16_384]
]) {
  test(
    `a disk with ${leftBytes} bytes left gives as many, which is no error: the commit itself will tell`,
    { skip: smallDiskIsMissing },
    (t) => {
      const disk = smallDisk(t, 1024 * 1024)
      const log = join(disk.root, 'a.db-wal')
      writeFileSync(log, Buffer.alloc(4096))
      disk.fill(Number(leftBytes))
      const descriptor = openSync(log, 'r+')
      try {
        assert.equal(makeRoomAtEnd(descriptor), 4096 + Number(roomBytes))
      } finally {
        closeSync(descriptor)
      }
    }
  )
}
