/**
 * One damaged page costs what lies on it, and nothing else: no other mailbox, no other account, no answer that is not true.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import { CachePool } from '../../../src/database/pool.js'
import { MailError } from '../../../src/errors.js'
import { IdleViews } from '../../../src/store/idle-views.js'
import {
  accountFolder,
  aliveUids,
  appendMany,
  appendOne,
  makeMessage
} from '../../helpers/account-folder.js'
import { damagePage, pagesOf } from '../../helpers/damage-page.js'
import { afterRowPages } from '../../helpers/row-pages.js'

const SHARE_BYTES = 1024 * 1024

test('an account that cannot be opened leaves nothing behind in the cache that all share', async (t) => {
  const cachePool = new CachePool({ totalBytes: 2 * SHARE_BYTES, maxShareBytes: SHARE_BYTES })
  const damaged = await accountFolder(t)
  await (await damaged.create()).close()
  const path = join(damaged.folder, 'mail.db')
  damagePage(path, pagesOf(path, damaged.key, 'keywords', 'leaf')[0] ?? 0)
  for (let attempt = 0; attempt < 3; attempt++) {
    await assert.rejects(damaged.open({ cachePool }), { code: 'ACCOUNT_DAMAGED' })
    assert.equal(cachePool.grantedBytes, 0)
  }
  // Each halves the share of those before it, or doubles it when it goes.
  const stores = []
  for (let count = 0; count < 8; count++)
    stores.push(await (await accountFolder(t)).create({ cachePool }))
  for (const store of stores) await store.close()
  assert.equal(cachePool.grantedBytes, 0)
})

/**
 * Two mailboxes that are open here, one of which cannot be read any more, and another process that has written to that one.
 *
 * @param {import('node:test').TestContext} t
 */
async function setUp(t) {
  const account = await accountFolder(t)
  const maker = await account.create()
  await maker.createMailbox('Broken')
  await appendMany(maker, 'Broken', 2000)
  await maker.close()
  /** @type {string[]} */
  const alerts = []
  const store = await account.open({ onAlert: ({ code }) => alerts.push(code) })
  const broken = await store.openView('Broken')
  const inbox = await store.openView('INBOX')
  const other = await account.open()
  await store.checkpoint()
  const path = join(account.folder, 'mail.db')
  const leaves = pagesOf(path, account.key, 'messages', 'leaf')
  for (const page of leaves.slice(5, -5)) damagePage(path, page)
  return { account, store, other, alerts, broken: broken.view, inbox: inbox.view }
}

/**
 * What it has read of the file before, it does not read again.
 *
 * @param {import('../../helpers/account-folder.js').AccountStore} store
 */
function forgetPages(store) {
  store.searchAccess.database.db.pragma('shrink_memory')
}

test('what is durable is acknowledged, although the view cannot show it', async (t) => {
  const { store, other, alerts, broken } = await setUp(t)
  await appendOne(other, 'Broken', makeMessage('from elsewhere'))
  forgetPages(store)
  const before = (await store.listMailboxes()).find(({ name }) => name === 'Broken')
  for (let count = 1; count <= 3; count++) {
    await appendOne(store, 'Broken', makeMessage(`number ${count}`))
    const now = (await store.listMailboxes()).find(({ name }) => name === 'Broken')
    assert.equal(now?.messageCount, (before?.messageCount ?? 0) + count)
  }
  assert.deepEqual([alerts.length > 0, broken.failure !== null], [true, true])
  assert.equal(store.hasFailed, false)
})

test('a write that meets damage closes the file, so that nothing is built on it', async (t) => {
  const { store, alerts, broken } = await setUp(t)
  forgetPages(store)
  const change = { view: broken, action: /** @type {const} */ ('add'), flags: ['\\Seen'] }
  await assert.rejects(store.changeFlags({ ...change, uids: [1000] }), { code: 'ACCOUNT_DAMAGED' })
  assert.deepEqual([store.hasFailed, alerts], [true, ['ACCOUNT_DAMAGED']])
  await assert.rejects(store.changeFlags({ ...change, uids: [1] }), { code: 'ACCOUNT_DAMAGED' })
  await assert.rejects(appendOne(store, 'INBOX', makeMessage('no more')), {
    code: 'ACCOUNT_DAMAGED'
  })
})

test('the other mailboxes hear of what others have written', async (t) => {
  const { store, other, broken, inbox } = await setUp(t)
  await appendOne(other, 'Broken', makeMessage('from elsewhere'))
  await appendMany(other, 'INBOX', 3)
  forgetPages(store)
  await store.pollOtherProcesses()
  assert.deepEqual(aliveUids(inbox), [1, 2, 3])
  assert.equal(/** @type {any} */ (broken.failure).code, 'ACCOUNT_DAMAGED')
  assert.equal(inbox.failure, null)
  await appendMany(other, 'INBOX', 1)
  await store.pollOtherProcesses()
  assert.deepEqual(aliveUids(inbox), [1, 2, 3, 4])
})

test('whoever asks again and again has the operator told of it once in a while', async (t) => {
  const { store, other, alerts } = await setUp(t)
  await appendOne(other, 'Broken', makeMessage('from elsewhere'))
  forgetPages(store)
  const { now } = performance
  let laterMs = 0
  t.mock.method(performance, 'now', () => now.call(performance) + laterMs)
  await store.pollOtherProcesses()
  const told = alerts.length
  assert.ok(told > 0)
  for (let command = 0; command < 200; command++) await store.pollOtherProcesses()
  assert.equal(alerts.length, told)
  laterMs += 61_000
  for (let command = 0; command < 200; command++) await store.pollOtherProcesses()
  assert.equal(alerts.length, 2 * told)
})

test('what could not be read for a moment is taken in a while later, without further news', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const other = await account.open()
  const { view } = await store.openView('INBOX')
  await store.pollOtherProcesses()
  await appendMany(other, 'INBOX', 3)
  const { now } = performance
  let laterMs = 0
  t.mock.method(performance, 'now', () => now.call(performance) + laterMs)
  const { database } = store.searchAccess
  const reading = t.mock.method(database, 'read', () => Promise.reject(new MailError('BUSY')))
  await store.pollOtherProcesses()?.catch(() => {})
  reading.mock.restore()
  // Neither at once …
  assert.equal(store.pollOtherProcesses(Infinity), null)
  laterMs += 60_000
  await store.pollOtherProcesses(Infinity)
  assert.deepEqual(aliveUids(view), [1, 2, 3])
  assert.equal(view.failure, null)
  // … nor once more.
  laterMs += 60_000
  assert.equal(store.pollOtherProcesses(Infinity), null)
})

test('a view that goes to make room while it cannot be read takes none along that was opened meanwhile', async (t) => {
  const account = await accountFolder(t)
  const maker = await account.create()
  await maker.createMailbox('Other')
  const uids = await appendMany(maker, 'INBOX', 10)
  await maker.close()
  const idleViews = new IdleViews({ totalBytes: 10_000 })
  const store = await account.open({ idleViews, onAlert: () => {} })
  const other = await account.open()
  const idle = (await store.openView('INBOX')).view
  store.closeView(idle)
  const { view: last } = await store.openView('Other')
  const { view: theirs } = await other.openView('INBOX')
  await other.changeFlags({ view: theirs, uids, action: 'add', flags: ['\\Deleted'] })
  await other.expunge({ view: theirs, uids: uids.slice(0, 1) })
  await store.checkpoint()
  const path = join(account.folder, 'mail.db')
  damagePage(path, pagesOf(path, account.key, 'expunged', 'leaf')[0] ?? 0)
  forgetPages(store)

  /** @type {Promise<{ view: import('../../../src/store/mailbox-view.js').MailboxView }> | null} */
  let opening = null
  afterRowPages(t, store, async () => {
    if (opening !== null) return
    // The view that nobody uses has read its rows, and not yet what was expunged.
    store.closeView(last)
    opening = store.openView('INBOX')
    await opening
  })
  await store.pollOtherProcesses()
  const { view } = await (opening ?? store.openView('INBOX'))
  assert.notEqual(view, idle)
  const uid = await appendOne(store, 'INBOX', makeMessage('new'))
  assert.deepEqual(aliveUids(view), [...uids.slice(1), uid])
})

test('a mailbox that could not be opened is read anew by whoever opens it next', async (t) => {
  const account = await accountFolder(t)
  const maker = await account.create()
  const uids = await appendMany(maker, 'INBOX', 10)
  await maker.close()
  const path = join(account.folder, 'mail.db')
  const page = pagesOf(path, account.key, 'messages', 'leaf')[0] ?? 0
  const store = await account.open({ onAlert: () => {} })
  damagePage(path, page)
  await assert.rejects(store.openView('INBOX'), { code: 'ACCOUNT_DAMAGED' })
  // Flips the same bits back.
  damagePage(path, page)
  assert.deepEqual(aliveUids((await store.openView('INBOX')).view), uids)
})

test('a view that nobody uses and that could not be brought up to date takes no room of others', async (t) => {
  const account = await accountFolder(t)
  const idleViews = new IdleViews({ totalBytes: 1 << 20 })
  const store = await account.create({ idleViews, onAlert: () => {} })
  const uids = await appendMany(store, 'INBOX', 10)
  store.closeView((await store.openView('INBOX')).view)
  assert.ok(idleViews.usedBytes > 0)
  const other = await account.open()
  const uid = await appendOne(other, 'INBOX', makeMessage('from elsewhere'))
  await store.checkpoint()
  const path = join(account.folder, 'mail.db')
  const page = pagesOf(path, account.key, 'messages', 'leaf')[0] ?? 0
  damagePage(path, page)
  forgetPages(store)
  await store.pollOtherProcesses()
  assert.equal(idleViews.usedBytes, 0)
  damagePage(path, page)
  assert.deepEqual(aliveUids((await store.openView('INBOX')).view), [...uids, uid])
})
