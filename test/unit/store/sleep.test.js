/**
 * A mailbox that nobody uses lets its file go, and has it again with the next call.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises'
import { CachePool } from '../../../src/database/pool.js'
import { OpenFiles } from '../../../src/store/open-files.js'
import {
  accountFolder,
  aliveUids,
  appendMany,
  appendOne,
  makeMessage,
  readBytes
} from '../../helpers/account-folder.js'
import { openDescriptors } from '../../helpers/open-descriptors.js'

/** @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore */

/** @param {{ sleepAfterMs?: number, maxAwake?: number }} [options] */
const openFiles = ({ sleepAfterMs = 100, maxAwake = 100 } = {}) =>
  new OpenFiles({
    sleepAfterMs,
    maxAwake,
    onError: (error) => {
      throw error
    }
  })

/** @param {AccountStore} store */
async function untilAsleep(store) {
  while (!store.isAsleep) await sleep(20)
}

/** @param {string} folder */
const openFilesOf = (folder) =>
  openDescriptors().filter((path) => path.startsWith(join(folder, 'mail.db')))

test('an unused file is closed, and reads, writes and views go on as if it never had been', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create({ openFiles: openFiles() })
  const message = makeMessage('before the sleep')
  await appendOne(store, 'INBOX', message)
  const { view } = await store.openView('INBOX')
  const attachment = view.attach(() => {})
  await untilAsleep(store)
  // The last of them is closed by another thread.
  while (openFilesOf(account.folder).length > 0) await sleep(20)

  assert.deepEqual(await readBytes(store, view, 1), message)
  assert.equal(store.isAsleep, false)
  await untilAsleep(store)
  assert.equal(await appendOne(store, 'INBOX', makeMessage('woken by a write')), 2)
  assert.deepEqual(attachment.take(), [{ kind: 'append', fromSlot: 1, toSlot: 2 }])
  await untilAsleep(store)
  await Promise.all([
    store.changeFlags({ view, uids: [1], action: 'add', flags: ['$Kept'] }),
    readBytes(store, view, 2),
    store.usage()
  ])
  assert.deepEqual(aliveUids(view), [1, 2])
  await untilAsleep(store)
  await store.close()
  const again = await account.open()
  assert.deepEqual(await again.verify().then(({ problems }) => problems), [])
})

test('looking for news of others wakes nothing; their writes are taken in all the same', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create({ openFiles: openFiles() })
  await appendMany(store, 'INBOX', 3)
  const { view } = await store.openView('INBOX')
  await untilAsleep(store)
  // What its own threads wrote counts as written by others: the first look takes that in. The indexer looks into the file
  // now and then: where that fell between, once more.
  for (let round = 0, isQuiet = false; round < 5 && !isQuiet; round++) {
    await store.pollOtherProcesses()
    await untilAsleep(store)
    for (let look = 0; look < 5; look++) await store.pollOtherProcesses()
    isQuiet = store.isAsleep
  }
  assert.equal(store.isAsleep, true)

  const other = await account.open()
  await appendMany(other, 'INBOX', 2, ['$New'])
  await store.pollOtherProcesses()
  assert.deepEqual(aliveUids(view), [1, 2, 3, 4, 5])
  await other.close()
  await store.pollOtherProcesses()
  const names = store.keywords.flagNames(view.flags[4] ?? 0, view.keywords[4] ?? 0)
  assert.deepEqual(names, ['$New'])
})

test('what was written and moved into the file just before it went to sleep is taken in', async (t) => {
  // What the store does by itself wakes the file.
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const account = await accountFolder(t)
  const other = await account.create()
  const store = await account.open()
  const { database } = store.searchAccess
  await appendMany(other, 'INBOX', 5)
  const { view } = await store.openView('INBOX')
  await store.pollOtherProcesses()
  await store.sync()
  await appendOne(other, 'INBOX', makeMessage())
  // What waits in the `-wal` keeps the file awake.
  while (!(await database.sleep())) await other.checkpoint()
  await store.pollOtherProcesses()
  assert.deepEqual(aliveUids(view), [1, 2, 3, 4, 5, 6])
  // And nothing wakes it again.
  while (!(await database.sleep())) await other.checkpoint()
  for (let look = 0; look < 5; look++) await store.pollOtherProcesses()
  assert.equal(store.isAsleep, true)
})

test('a look for news keeps no file awake, reading and writing do', async (t) => {
  const store = await (await accountFolder(t)).create()
  const { database } = store.searchAccess
  const nowMs = performance.now.bind(performance)
  let aheadMs = 0
  t.mock.method(performance, 'now', () => nowMs() + aheadMs)
  aheadMs += 3_600_000
  await store.pollOtherProcesses()
  assert.ok(database.idleMs >= 3_600_000)
  await store.mailboxStatus('INBOX')
  assert.ok(database.idleMs < 3_600_000)
  aheadMs += 3_600_000
  await store.createMailbox('new')
  assert.ok(database.idleMs < 3_600_000)
})

test('whoever looks at the moment when another wakes the file is told what was written meanwhile', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const other = await account.open()
  const { database } = store.searchAccess
  assert.equal(await database.takeForeignNews(), false)
  assert.ok(await database.sleep())
  await appendOne(other, 'INBOX', makeMessage('from another process'))
  const [{ messageCount }, isNews] = await Promise.all([
    store.mailboxStatus('INBOX'),
    database.takeForeignNews()
  ])
  assert.equal(messageCount, 1)
  assert.ok(isNews)
})

test('a write of our own behind one that came while the file slept shows both', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create({ openFiles: openFiles() })
  const { view } = await store.openView('INBOX')
  await untilAsleep(store)
  const other = await account.open()
  await appendMany(other, 'INBOX', 2)
  await other.close()
  assert.equal(await appendOne(store, 'INBOX', makeMessage()), 3)
  assert.deepEqual(aliveUids(view), [1, 2, 3])
})

test('what looks at an idle mailbox finds nothing to do in a file that sleeps', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const { database } = store.searchAccess
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await store.createMailbox('New')
  // What it holds is told first.
  t.mock.timers.tick(1000)
  await store.usage()
  await store.checkpoint()
  assert.ok(await database.sleep())
  const { now } = performance
  t.mock.method(performance, 'now', () => now.call(performance) + 60_000)
  assert.doesNotThrow(() => t.mock.timers.tick(60_000))
  t.mock.restoreAll()
  t.mock.timers.reset()
  assert.equal((await store.mailboxStatus('New')).messageCount, 0)
})

test('what another process leaves in the -wal keeps no file awake', async (t) => {
  const account = await accountFolder(t)
  const first = await account.create()
  await first.indexSearch()
  await first.close()
  const store = await account.open()
  const other = await account.open()
  t.mock.timers.enable({ apis: ['setTimeout'] })
  await other.createMailbox('New')
  await other.close()
  const { database } = store.searchAccess
  assert.equal(await database.sleep(), false)
  const { now } = performance
  t.mock.method(performance, 'now', () => now.call(performance) + 60_000)
  while (!(await database.sleep())) {
    t.mock.timers.tick(5000)
    await turn()
  }
})

test('beyond the number of files that may be open, those longest unused sleep', async (t) => {
  // What a store does by itself some time after a write would count as use.
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const nowMs = performance.now.bind(performance)
  let aheadMs = 0
  t.mock.method(performance, 'now', () => nowMs() + aheadMs)
  const files = openFiles({ sleepAfterMs: 60_000, maxAwake: 2 })
  const pool = new CachePool({ totalBytes: 64 << 20, maxShareBytes: 16 << 20 })
  const stores = []
  for (let index = 0; index < 4; index++) {
    const account = await accountFolder(t)
    stores.push(await account.create({ openFiles: files, cachePool: pool }))
    const store = stores[index] ?? assert.fail()
    await appendOne(store, 'INBOX', makeMessage())
    await store.checkpoint()
    aheadMs += 1200
  }
  const late = await accountFolder(t)
  stores.push(await late.create({ openFiles: files, cachePool: pool }))
  while (files.awake > 2) {
    await turn()
  }
  assert.deepEqual(
    stores.map(({ isAsleep }) => isAsleep),
    [true, true, true, false, false]
  )
  assert.equal(files.size, 5)
})

test('long before it sleeps, a file leaves its page cache to those in use, where there is not enough for all', async (t) => {
  const KiB = 1024
  const pool = new CachePool({ totalBytes: 1024 * KiB, maxShareBytes: 1024 * KiB })
  const [unused, used] = [await accountFolder(t), await accountFolder(t)]
  await unused.create({ cachePool: pool })
  const store = await used.create({ cachePool: pool })
  assert.equal(pool.grantedBytes, (512 + 512) * KiB)
  const { now } = performance
  t.mock.method(performance, 'now', () => now.call(performance) + 60_000)
  await store.listMailboxes()
  pool.look()
  assert.equal(pool.grantedBytes, (128 + 512) * KiB)
})

test('of many files that go to sleep at once one follows the other, and others have their turn in between', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'setInterval'] })
  const files = openFiles({ sleepAfterMs: 1000 })
  const stores = []
  for (let index = 0; index < 5; index++) {
    const store = await (await accountFolder(t)).create({ openFiles: files })
    await store.checkpoint()
    stores.push(store)
  }
  // Each look at the clock is a slice after the one before.
  const nowMs = performance.now.bind(performance)
  let looks = 0
  t.mock.method(performance, 'now', () => nowMs() + 10_000 + 10 * looks++)
  t.mock.timers.tick(250)
  let before = 0
  let most = 0
  while (before < stores.length) {
    const asleep = stores.filter(({ isAsleep }) => isAsleep).length
    most = Math.max(most, asleep - before)
    before = asleep
    await turn()
  }
  assert.equal(most, 1)
  t.mock.restoreAll()
})

test('a file with something under way stays open', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create({ openFiles: openFiles({ sleepAfterMs: 50 }) })
  const { database } = store.searchAccess
  /** @type {(value?: unknown) => void} */
  let finish = () => {}
  const work = database.whileOpen(() => new Promise((resolve) => (finish = resolve)))
  await sleep(300)
  assert.equal(store.isAsleep, false)
  finish()
  await work
  await untilAsleep(store)
})
