/**
 * What a store does beside its requests: schema, checks, usage, damage.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { lockExclusive } from '../../../src/database/lock.js'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { convertCipher } from '../../../src/store/mail-file.js'
import {
  accountFolder,
  appendMany,
  appendOne,
  makeMessage,
  rawHandle,
  readBytes,
  scratchFolder
} from '../../helpers/account-folder.js'
import { smallDisk, smallDiskIsMissing } from '../../helpers/small-disk.js'

/**
 * @param {number} sizeBytes
 * @returns {Buffer} that does not compress
 */
const noise = (sizeBytes) => randomBytes(sizeBytes)

test('every table is STRICT, and every column says what it means', async (t) => {
  const account = await accountFolder(t)
  await account.create()
  const db = rawHandle(account)
  t.after(() => db.close())
  const sql = /** @type {{ name: string, sql: string }[]} */ (
    db.prepare("SELECT name, sql FROM sqlite_schema WHERE sql LIKE 'CREATE TABLE %'").all()
  ).filter(({ name }) => !/^(sqlite|search)_/.test(name))
  assert.ok(sql.length > 10)
  for (const table of sql) assert.match(table.sql, /\)\s*STRICT/, table.name)
})

test('a store waits for nobody: locks answer at once and are retried', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create({ config: { busyTimeoutMs: 1000 } })
  const db = rawHandle(account)
  t.after(() => db.close())
  db.exec('BEGIN IMMEDIATE')
  await assert.rejects(store.createMailbox('x'), { code: 'BUSY' })
  const writing = store.createMailbox('y')
  db.exec('ROLLBACK')
  await writing
})

test('a file of a newer program is refused and left as it is', async (t) => {
  const account = await accountFolder(t)
  await (await account.create()).close()
  const db = rawHandle(account)
  db.exec("INSERT INTO schema_migrations VALUES (999, '0999-later.sql', '', 0)")
  db.close()
  await assert.rejects(account.open(), { code: 'FILE_TOO_NEW' })
})

test('an older file is brought up to date when it is opened, alone', async (t) => {
  const account = await accountFolder(t)
  mkdirSync(account.folder)
  // As before the first migration: a file with nothing in it.
  const path = join(account.folder, 'mail.db')
  openEncryptedDatabase({ path, key: account.key, cipher: 'chacha20', isNew: true }).db.close()
  const opened = await Promise.all([account.open(), account.open()])
  for (const store of opened) assert.deepEqual(await store.listMailboxes(), [])
})

test(
  'an older file that there is no room to bring up to date answers DISK_FULL, and is as it was',
  { skip: smallDiskIsMissing },
  async (t) => {
    const disk = smallDisk(t, 1024 * 1024)
    const account = await accountFolder(t)
    const folder = join(disk.root, 'account')
    mkdirSync(folder)
    const file = {
      path: join(folder, 'mail.db'),
      key: account.key,
      cipher: /** @type {const} */ ('chacha20')
    }
    openEncryptedDatabase({ ...file, isNew: true }).db.close()
    disk.fill(150_000)
    await assert.rejects(account.open({ folder }), { code: 'DISK_FULL' })
    disk.clear()
    const store = await account.open({ folder })
    assert.deepEqual(await store.listMailboxes(), [])
    await store.close()
  }
)

test('a file whose keywords are damaged does not open, and the lock is not kept', async (t) => {
  const account = await accountFolder(t)
  await (await account.create()).close()
  const db = rawHandle(account)
  const page = db.prepare("SELECT pageno FROM dbstat WHERE name = 'keywords'").pluck().get()
  db.close()
  const path = join(account.folder, 'mail.db')
  const bytes = readFileSync(path)
  const at = Number(page) * 4096 - 100
  bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at)
  writeFileSync(path, bytes)
  await assert.rejects(account.open(), { code: 'ACCOUNT_DAMAGED' })
  ;(await lockExclusive(account.folder, { timeoutMs: 0 })).release()
})

test('the wrong key answers KEY_REJECTED, and the lock is not kept', async (t) => {
  const account = await accountFolder(t)
  await (await account.create()).close()
  await assert.rejects(account.open({ key: Buffer.alloc(32) }), { code: 'KEY_REJECTED' })
  ;(await lockExclusive(account.folder, { timeoutMs: 0 })).release()
})

test('a file from elsewhere in AES is found out, works, and is converted', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create({ cipher: 'aes256cbc' })
  const uid = await appendOne(store, 'INBOX', makeMessage('kept'))
  await store.close()
  const found = await account.open({ cipher: null })
  assert.equal(found.cipher, 'aes256cbc')
  const { folder, key } = account
  const change = /** @type {const} */ ({ folder, key, cipher: 'aes256cbc', nextCipher: 'chacha20' })
  await assert.rejects(convertCipher({ ...change, timeoutMs: 0 }), { code: 'BUSY' })
  await found.close()
  await convertCipher({ ...change, timeoutMs: 0 })
  const after = await account.open()
  const { view } = await after.openView('INBOX')
  assert.deepEqual(await readBytes(after, view, uid), makeMessage('kept'))
})

test('usage is told after a change and at close', async (t) => {
  const account = await accountFolder(t)
  /** @type {{ bytes: number, messages: number }[]} */
  const told = []
  const store = await account.create({ onUsage: (usage) => told.push(usage) })
  await appendMany(store, 'INBOX', 3)
  const expected = await store.usage()
  while (told.length === 0) await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(told, [expected])
  await appendMany(store, 'INBOX', 1)
  await store.close()
  assert.equal(told.at(-1)?.messages, 4)
})

test('a shared lock is held while a store is open', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await assert.rejects(lockExclusive(account.folder, { timeoutMs: 0 }), { code: 'BUSY' })
  await store.close()
  ;(await lockExclusive(account.folder, { timeoutMs: 0 })).release()
})

test('verify names a content whose bytes are not those of its hash', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  for (const text of ['one', 'two']) await appendOne(store, 'INBOX', makeMessage(text))
  /** @type {import('../../../src/store/verify.js').VerifyProgress[]} */
  const progress = []
  const sound = await store.verify((value) => progress.push(value))
  assert.deepEqual([sound.problems, sound.contents, sound.messages], [[], 2, 2])
  assert.deepEqual(progress.at(-1), { done: sound.bytes, total: sound.bytes })
  const db = rawHandle(account)
  t.after(() => db.close())
  db.exec("UPDATE content_chunks SET data = x'00' WHERE id / 65536 = 2")
  assert.deepEqual((await store.verify()).problems, ['content 2: ACCOUNT_DAMAGED'])
  const { view } = await store.openView('INBOX')
  await assert.rejects(readBytes(store, view, 2), { code: 'ACCOUNT_DAMAGED' })
  db.exec(`UPDATE content_chunks SET codec = 0, data = zeroblob((SELECT size FROM contents WHERE id = 2))
    WHERE id / 65536 = 2`)
  await store.copyMessages({ from: view, uids: [2], toMailbox: 'Archive' })
  const { problems, unreadable } = await store.verify()
  assert.deepEqual(problems, ['content 2: other bytes'])
  assert.deepEqual(unreadable, [
    { mailbox: 'INBOX', uid: 2 },
    { mailbox: 'Archive', uid: 1 }
  ])
  db.exec('UPDATE mailboxes SET unseen_count = unseen_count + 1 WHERE id = 1')
  assert.ok((await store.verify()).problems.includes('counters of mailbox 1'))
})

test('a damaged page costs the message it holds, not the account, and an operator is told', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const uid = await appendOne(store, 'INBOX', makeMessage('will break', 3_000_000))
  const other = await appendOne(store, 'INBOX', makeMessage('stays'))
  await store.close()
  const path = join(account.folder, 'mail.db')
  const bytes = readFileSync(path)
  // The long message fills most of the file, and all of its middle.
  const middle = bytes.length >>> 1
  bytes.writeUInt8(bytes.readUInt8(middle) ^ 1, middle)
  writeFileSync(path, bytes)
  /** @type {string[]} */
  const alerts = []
  const damaged = await account.open({ onAlert: ({ code }) => alerts.push(code) })
  const { view } = await damaged.openView('INBOX')
  await assert.rejects(readBytes(damaged, view, uid), { code: 'ACCOUNT_DAMAGED' })
  assert.deepEqual(alerts, ['ACCOUNT_DAMAGED'])
  assert.deepEqual(await readBytes(damaged, view, other), makeMessage('stays'))
  assert.notDeepEqual((await damaged.verify()).problems, [])
})

test('a full disk answers DISK_FULL, loses nothing that was acknowledged, and goes on when there is room', async (t) => {
  const parent = await scratchFolder(t)
  const disk = join(parent, 'disk')
  mkdirSync(disk)
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=2m', 'tmpfs', disk]).status !== 0)
    return t.skip('this needs the right to mount')
  try {
    const folder = join(disk, 'account')
    const account = await accountFolder(t)
    /** @type {string[]} */
    const alerts = []
    const store = await account.create({ folder, onAlert: ({ code }) => alerts.push(code) })
    const { view } = await store.openView('INBOX')
    /** @type {number[]} */
    const uids = []
    const fill = async () => {
      for (;;) uids.push(await appendOne(store, 'INBOX', noise(100_000)))
    }
    await assert.rejects(fill, { code: 'DISK_FULL', temporary: true })
    assert.ok(uids.length > 0 && alerts.includes('DISK_FULL'))
    for (const uid of uids) assert.equal((await readBytes(store, view, uid)).length, 100_000)
    assert.equal((await store.mailboxStatus('INBOX')).messageCount, uids.length)
    spawnSync('mount', ['-o', 'remount,size=32m', disk])
    assert.equal(await appendOne(store, 'INBOX', noise(100_000)), uids.length + 1)
    assert.deepEqual((await store.verify()).problems, [])
    await store.close()
  } finally {
    spawnSync('umount', ['-l', disk])
  }
})
