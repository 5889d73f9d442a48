/**
 * Space that deleted mail leaves: given back in slices, or by writing the file anew in a child.
 */
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openEncryptedDatabase } from '../../../../src/database/open.js'
import { accountFolder, appendOne, readBytes, sweepAll } from '../../../helpers/account-folder.js'

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */

/** Bytes of each message. */
const SIZE = 200_000

/**
 * @param {string} subject
 * @returns {Buffer} a message that neither compresses nor has much text for the index
 */
const withAttachment = (subject) =>
  Buffer.concat([
    Buffer.from(
      `Subject: ${subject}\r\nContent-Type: application/octet-stream\r\nContent-Transfer-Encoding: binary\r\n\r\n`
    ),
    randomBytes(SIZE)
  ])

/**
 * Messages 1 to `count`, of which every second has been expunged and swept.
 *
 * @param {AccountStore} store
 * @param {number} count
 */
async function fillWithHoles(store, count) {
  for (let i = 1; i <= count; i++) await appendOne(store, 'INBOX', withAttachment(`m${i}`))
  const { view } = await store.openView('INBOX')
  const uids = Array.from({ length: count >> 1 }, (_, i) => 2 * i + 2)
  await store.changeFlags({ view, uids, action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: null })
  await sweepAll(store)
  await store.indexSearch()
  return view
}

/** @param {import('../../../../src/store/upkeep/space.js').Space} space */
const freePart = ({ freePages, pages }) => freePages / pages

test('free pages are given back to the file system in slices, and every message stays', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const view = await fillWithHoles(store, 20)
  const before = await readBytes(store, view, 1)
  assert.ok(freePart(await store.upkeep.readSpace()) > 0.4)
  await store.checkpoint()
  const path = join(account.folder, 'mail.db')
  const bytesBefore = statSync(path).size

  const { pages, slices } = await store.upkeep.releasePages()
  await store.checkpoint()
  const { freePages } = await store.upkeep.readSpace()
  assert.equal(freePages, 0)
  assert.ok(pages > 400 && slices > 1)
  assert.ok(statSync(path).size < bytesBefore * 0.6)
  assert.deepEqual(await readBytes(store, view, 1), before)
  assert.deepEqual((await store.verify()).problems, [])
})

test('giving pages back ends when it is told to, and at the close of the store', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await fillWithHoles(store, 10)
  const ended = await store.upkeep.releasePages({ signal: AbortSignal.abort() })
  assert.equal(ended.pages, 0)
  const running = store.upkeep.releasePages().catch(() => {})
  await store.close()
  await running
})

test('a write goes on while pages are given back', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await fillWithHoles(store, 30)
  const releasing = store.upkeep.releasePages()
  for (let i = 0; i < 5; i++) await store.createMailbox(`during ${i}`)
  await releasing
  assert.deepEqual((await store.verify()).problems, [])
  assert.equal((await store.upkeep.readSpace()).freePages, 0)
})

test('VACUUM in a child writes the file anew', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const view = await fillWithHoles(store, 10)
  const before = await readBytes(store, view, 9)
  // The store's own work in the background is a writer as well.
  while (!(await store.upkeep.vacuum()).isDone);
  assert.equal((await store.upkeep.readSpace()).freePages, 0)
  // Before anything else is written: the row ids and the views are as they were.
  assert.deepEqual(await readBytes(store, view, 9), before)
  assert.equal((await store.openView('INBOX')).mailbox.messageCount, 5)
  assert.deepEqual((await store.verify()).problems, [])
})

test('VACUUM is killed when the user writes; the write is done, and the file is as it was', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await fillWithHoles(store, 60)
  const { freePages } = await store.upkeep.readSpace()
  /** @type {Promise<unknown>} */
  let written = Promise.resolve()
  const outcome = await store.upkeep.vacuum({
    onStart: () => {
      written = store.createMailbox('at once')
    }
  })
  await written
  assert.deepEqual(outcome, { isDone: false })
  assert.ok((await store.upkeep.readSpace()).freePages >= freePages - 2)
  assert.deepEqual((await store.verify()).problems, [])
})

test('VACUUM and quick_check end with their signal, and are not begun after it', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const signal = AbortSignal.abort()
  assert.deepEqual(await store.upkeep.vacuum({ signal }), { isDone: false })
  assert.equal(await store.upkeep.quickCheck({ signal }), null)
})

test('quick_check finds a damaged structure and none in a sound one', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await fillWithHoles(store, 4)
  assert.deepEqual(await store.upkeep.quickCheck(), [])
  const { db } = openEncryptedDatabase({
    path: join(account.folder, 'mail.db'),
    key: account.key,
    cipher: 'chacha20'
  })
  const unsafe = /** @type {{ unsafeMode: () => void }} */ (/** @type {unknown} */ (db))
  unsafe.unsafeMode()
  db.pragma('writable_schema = ON')
  // The table's tree is now read from a page of another table.
  db.exec(
    "UPDATE sqlite_schema SET rootpage = (SELECT rootpage FROM sqlite_schema WHERE name = 'keywords') WHERE name = 'subscriptions'"
  )
  db.close()
  assert.notDeepEqual(await store.upkeep.quickCheck(), [])
})

test('what is left to be written of the last mail does not end VACUUM', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await appendOne(store, 'INBOX', withAttachment('late'))
  await store.indexSearch()
  // Stopped for longer than the rows that wait for company would have waited.
  const { isDone } = await store.upkeep.vacuum({
    onStart: (pid) => {
      process.kill(pid, 'SIGSTOP')
      setTimeout(() => process.kill(pid, 'SIGCONT'), 1500)
    }
  })
  assert.equal(isDone, true)
})

test('a quiet mailbox says for how long, and who writes ends the quiet', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await store.createMailbox('x')
  const count = store.upkeep.writeCount
  const { quietMs } = store.upkeep
  await store.listMailboxes()
  assert.ok(store.upkeep.quietMs >= quietMs)
  assert.equal(store.upkeep.writeCount, count)
  const other = await account.open()
  await other.createMailbox('y')
  await store.listMailboxes()
  assert.equal(store.upkeep.writeCount, count + 1)
})
