import { test } from 'node:test'
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  rmdirSync,
  statSync,
  utimesSync,
  writeFileSync
} from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import {
  FreezeNotice,
  freezeFile,
  isFrozen,
  removeFreezeFile,
  writeFreezeFile
} from '../../../src/database/freeze-file.js'
import { Freezer } from '../../../src/database/freeze.js'
import { lockExclusive } from '../../../src/database/lock.js'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { errorCodeOf } from '../../../src/database/sqlite-error.js'
import { createAccountStore } from '../../../src/store/account-store.js'
import { systemClock } from '../../../src/support/clock.js'
import {
  accountFolder,
  appendOne,
  makeMessage,
  rawHandle,
  scratchFolder
} from '../../helpers/account-folder.js'
import { ManualClock } from '../../helpers/manual-clock.js'
import { smallDisk, smallDiskIsMissing } from '../../helpers/small-disk.js'

const RUDE = fileURLToPath(new URL('../../helpers/rude-writer.js', import.meta.url))
const key = Buffer.alloc(32, 7)

/**
 * @param {import('node:test').TestContext} t
 * @param {import('../../../src/store/account-store.js').AccountStore} store
 * @param {number} [forMs]
 */
async function hold(t, store, forMs = 60_000) {
  const freezer = new Freezer()
  t.after(() => freezer.close())
  await store.holdStill(freezer, { token: 'a', forMs })
  return freezer
}

/**
 * Copied by another process, because closing a descriptor of the file in this one would drop SQLite's locks.
 *
 * @param {string} from
 * @param {string} folder
 */
async function copyElsewhere(from, folder) {
  mkdirSync(folder, { recursive: true })
  const child = spawn('cp', [join(from, 'mail.db'), join(folder, 'mail.db')])
  const [code] = await once(child, 'close')
  assert.equal(code, 0)
}

/**
 * @param {string} folder
 * @returns {string} what integrity_check says
 */
function integrityOf(folder) {
  const { db } = openEncryptedDatabase({ path: join(folder, 'mail.db'), key, cipher: 'chacha20' })
  try {
    return String(db.pragma('integrity_check', { simple: true }))
  } finally {
    db.close()
  }
}

test('while a mailbox is held, mail.db stays as it is, and writes go on', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await appendOne(store, 'INBOX', makeMessage('before'))
  const freezer = await hold(t, store)
  const path = join(account.folder, 'mail.db')
  const before = statSync(path, { bigint: true })
  assert.equal(statSync(`${path}-wal`).size, 0)

  for (let i = 0; i < 30; i++) await appendOne(store, 'INBOX', makeMessage(`m${i}`, 200_000))
  await store.checkpoint()
  const after = statSync(path, { bigint: true })
  assert.deepEqual([after.size, after.mtimeNs], [before.size, before.mtimeNs])
  assert.ok(statSync(`${path}-wal`).size > 0)

  assert.equal(await freezer.release('a'), true)
  await store.checkpoint()
  assert.notEqual(statSync(path, { bigint: true }).mtimeNs, before.mtimeNs)
})

test('a mailbox that cannot be held says why, and is left free', async (t) => {
  const { folder, create } = await accountFolder(t)
  await (await create()).close()
  const freezer = new Freezer()
  t.after(() => freezer.close())
  const cipher = /** @type {const} */ ('chacha20')
  const request = { token: 'a', folder, key: new SharedArrayBuffer(32), cipher, forMs: 60_000 }
  const lock = await lockExclusive(folder, { timeoutMs: 0 })
  await assert.rejects(freezer.hold(request), { code: 'BUSY' })
  lock.release()
  // Its key is none of this file.
  await assert.rejects(freezer.hold(request), { code: 'KEY_REJECTED' })
  ;(await lockExclusive(folder, { timeoutMs: 0 })).release()
})

test('a mailbox is not held before the last reader of an older state has gone, and then with all that was written', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create({ key })
  await store.checkpoint()
  await appendOne(store, 'INBOX', makeMessage('before'))
  const reader = rawHandle({ folder: account.folder, key })
  t.after(() => reader.close())
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM sqlite_schema').get()
  await appendOne(store, 'INBOX', makeMessage('since'))

  const freezer = new Freezer()
  t.after(() => freezer.close())
  const held = store.holdStill(freezer, { token: 'a', forMs: 60_000 })
  for (let look = 0; look < 3; look++) {
    await sleep(50)
    assert.equal(await freezer.renew('a', 60_000), false)
  }
  reader.exec('ROLLBACK')
  await held
  assert.equal(await freezer.renew('a', 60_000), true)
  assert.equal(statSync(join(account.folder, 'mail.db-wal')).size, 0)
})

test(
  'a mailbox that finds no room for what is in its -wal is not held, and nothing of it stays open',
  { skip: smallDiskIsMissing },
  async (t) => {
    const disk = smallDisk(t, 16 * 1024 * 1024)
    const folder = join(disk.root, 'account')
    const store = await createAccountStore({ folder, key, clock: systemClock })
    await store.checkpoint()
    for (let i = 0; i < 4; i++) await appendOne(store, 'INBOX', makeMessage(`m${i}`, 300_000))
    disk.fill(0)
    await assert.rejects(hold(t, store), { code: 'DISK_FULL' })
    disk.clear()
    await store.close()
    assert.equal(existsSync(join(folder, 'mail.db-wal')), false)
  }
)

test('a hold outlives the store that it was taken from, and then moves what was written', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await appendOne(store, 'INBOX', makeMessage('before'))
  const freezer = await hold(t, store)
  const path = join(account.folder, 'mail.db')
  const before = statSync(path, { bigint: true })
  await appendOne(store, 'INBOX', makeMessage('during'))
  await store.close()
  assert.equal(statSync(path, { bigint: true }).mtimeNs, before.mtimeNs)
  await assert.rejects(lockExclusive(account.folder, { timeoutMs: 0 }), { code: 'BUSY' })

  assert.equal(await freezer.release('a'), true)
  ;(await lockExclusive(account.folder, { timeoutMs: 5000 })).release()
  assert.equal(existsSync(`${path}-wal`), false)
  const reopened = await account.open()
  assert.equal((await reopened.mailboxStatus('INBOX')).messageCount, 2)
})

test('a hold ends at its deadline, and says that it was broken', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const freezer = await hold(t, store, 50)
  // After a standstill the question may come before the thread has looked at its clock.
  let isHeld = true
  for (let look = 0; isHeld && look < 20; look++) {
    await sleep(200)
    isHeld = await freezer.renew('a', 50)
  }
  assert.equal(isHeld, false)
  assert.equal(await freezer.release('a'), false)
})

test('a hold that is renewed lasts', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const freezer = await hold(t, store, 2000)
  assert.equal(await freezer.renew('a', 60_000), true)
  await sleep(2200)
  assert.equal(await freezer.release('a'), true)
  assert.equal(await freezer.release('a'), false)
})

test('a second process that writes, checkpoints and closes all the time gives no malformed copy', async (t) => {
  const scratch = await scratchFolder(t)
  const account = await accountFolder(t)
  const store = await account.create({ key })
  for (let i = 0; i < 20; i++) await appendOne(store, 'INBOX', makeMessage(`m${i}`, 300_000))
  const rude = spawn(process.execPath, [RUDE, account.folder])
  const ended = once(rude, 'close')
  await once(rude.stdout, 'data')
  const freezer = new Freezer()
  try {
    for (let round = 0; round < 5; round++) {
      const token = `round ${round}`
      await store.holdStill(freezer, { token, forMs: 60_000 })
      const copy = join(scratch, String(round))
      await copyElsewhere(account.folder, copy)
      assert.equal(await freezer.release(token), true)
      assert.equal(integrityOf(copy), 'ok', token)
      await sleep(20)
    }
  } finally {
    rude.kill('SIGKILL')
    await ended
    await freezer.close()
  }
})

test('mail.freeze means something until its deadline, and only its writer removes it', async (t) => {
  const folder = await scratchFolder(t)
  const clock = new ManualClock()
  assert.equal(isFrozen(folder, clock), false)
  await writeFreezeFile(folder, { token: 'a', deadlineMs: clock.nowMs() + 1000 })
  assert.equal(isFrozen(folder, clock), true)
  assert.equal(statSync(freezeFile(folder)).mode & 0o077, 0)
  await removeFreezeFile(folder, 'b')
  assert.equal(isFrozen(folder, clock), true)
  clock.advance(1000)
  assert.equal(isFrozen(folder, clock), false)
  await removeFreezeFile(folder, 'a')
  assert.equal(existsSync(freezeFile(folder)), false)
})

test('a mail.freeze of a time when the clock was ahead freezes nothing', async (t) => {
  const folder = await scratchFolder(t)
  const clock = new ManualClock()
  await writeFreezeFile(folder, { token: 'a', deadlineMs: clock.nowMs() + 60_000 })
  assert.equal(isFrozen(folder, clock), true)
  clock.advance(-3_600_000)
  assert.equal(isFrozen(folder, clock), false)
})

test('with mail.freeze there, nobody who asks for it moves the -wal', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const path = join(account.folder, 'mail.db')
  await store.checkpoint()
  await writeFreezeFile(account.folder, { token: 'a', deadlineMs: Date.now() + 60_000 })
  await appendOne(store, 'INBOX', makeMessage('waits'))
  const { size } = statSync(`${path}-wal`)
  await store.checkpoint()
  assert.equal(statSync(`${path}-wal`).size, size)
  await removeFreezeFile(account.folder, 'a')
  await store.checkpoint()
  assert.equal(statSync(`${path}-wal`).size, 0)
})

test('a copy of mail.freeze that was not written to its end freezes nothing', async (t) => {
  const folder = await scratchFolder(t)
  copyFileSync('/dev/null', freezeFile(folder))
  assert.equal(isFrozen(folder), false)
  for (const text of ['', '{"token":"a","dead', `{"deadlineMs":${Date.now() + 60_000}}`]) {
    writeFileSync(freezeFile(folder), text)
    assert.equal(isFrozen(folder), false, text)
  }
})

test('a mail.freeze of another user, as of a backup that root runs, freezes for a while', async (t) => {
  const folder = await scratchFolder(t)
  await writeFreezeFile(folder, { token: 'a', deadlineMs: Date.now() + 60_000 })
  const isRoot = process.geteuid?.() === 0
  const OTHER = 64_321
  if (isRoot) chownSync(folder, OTHER, OTHER)
  else chmodSync(freezeFile(folder), 0)
  const later = new ManualClock()
  later.advance(Date.now() + 3_600_000 - later.nowMs())
  try {
    if (isRoot) process.seteuid?.(OTHER)
    assert.equal(isFrozen(folder), true)
    assert.equal(isFrozen(folder, later), false)
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
})

test('a mail.freeze that nobody can read freezes for a while, and closes no mailbox', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await store.checkpoint()
  // For who may read everything too, this is no file that can be read.
  const path = freezeFile(account.folder)
  mkdirSync(path)
  await appendOne(store, 'INBOX', makeMessage('waits'))
  await store.checkpoint()
  assert.equal(store.hasFailed, false)
  assert.equal(isFrozen(account.folder), true)
  assert.ok(store.walBytes > 0)
  const longAgo = new Date(Date.now() - 3_600_000)
  utimesSync(path, longAgo, longAgo)
  assert.equal(isFrozen(account.folder), false)
  await store.checkpoint()
  assert.equal(statSync(join(account.folder, 'mail.db-wal')).size, 0)
})

test('a mail.freeze that was being renewed when it was removed does not come back', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const folder = await scratchFolder(t)
  const clock = new ManualClock()
  const notice = await FreezeNotice.place({ folder, token: 'a', holdMs: 60, renewMs: 15, clock })
  clock.advance(59)
  t.mock.timers.tick(15)
  await notice.remove()
  assert.equal(existsSync(freezeFile(folder)), false)
  for (let i = 0; i < 50; i++) await stat(folder)
  assert.equal(existsSync(freezeFile(folder)), false)
  t.mock.timers.tick(15)
  for (let i = 0; i < 50; i++) await stat(folder)
  assert.equal(existsSync(freezeFile(folder)), false)
})

test('a mail.freeze that could not be written is not written later either', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const folder = await scratchFolder(t)
  const clock = new ManualClock()
  const inTheWay = `${freezeFile(folder)}.tmp`
  mkdirSync(inTheWay)
  const placed = FreezeNotice.place({ folder, token: 'a', holdMs: 60, renewMs: 15, clock })
  await assert.rejects(placed, { code: 'EISDIR' })
  rmdirSync(inTheWay)
  for (let renewal = 0; renewal < 2; renewal++) {
    t.mock.timers.tick(15)
    for (let i = 0; i < 50; i++) await stat(folder)
  }
  assert.equal(existsSync(freezeFile(folder)), false)
})

test('a mail.freeze means something until a while after its last renewal; one that fails is remembered', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const folder = await scratchFolder(t)
  const clock = new ManualClock()
  const notice = await FreezeNotice.place({ folder, token: 'a', holdMs: 60, renewMs: 15, clock })
  clock.advance(59)
  t.mock.timers.tick(15)
  clock.advance(59)
  while (!isFrozen(folder, clock)) await stat(folder)
  assert.equal(notice.failure, null)
  mkdirSync(`${freezeFile(folder)}.tmp`)
  t.mock.timers.tick(15)
  await notice.remove()
  assert.equal(errorCodeOf(notice.failure), 'EISDIR')
  assert.equal(existsSync(freezeFile(folder)), false)
})
