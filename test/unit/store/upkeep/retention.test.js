/**
 * Mail and records that go by age.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountFolder, aliveUids, appendMany } from '../../../helpers/account-folder.js'
import { ManualClock } from '../../../helpers/manual-clock.js'

const DAY_MS = 86_400_000

test('messages go by the time they have been in the mailbox, not by their own date', async (t) => {
  const clock = new ManualClock()
  const account = await accountFolder(t)
  const store = await account.create({ clock })
  await appendMany(store, 'INBOX', 4)
  clock.advance(10 * DAY_MS)
  await appendMany(store, 'Trash', 3)
  clock.advance(25 * DAY_MS)
  const inbox = (await store.openView('INBOX')).view
  // 35 days old, and in Trash since now.
  await store.moveMessages({ from: inbox, uids: [1, 2], toMailbox: 'Trash' })
  const { view } = await store.openView('Trash')
  const gone = await store.upkeep.expungeOlder({
    specialUse: '\\Trash',
    beforeMs: clock.nowMs() - 20 * DAY_MS
  })
  assert.equal(gone, 3)
  assert.deepEqual(aliveUids(view), [4, 5])
  const { ranges } = await store.readExpunged(view.mailboxId, 1)
  assert.deepEqual(ranges, [{ first: 1, last: 3 }])
  assert.equal((await store.mailboxStatus('INBOX')).messageCount, 2)
  assert.deepEqual((await store.verify()).problems, [])
})

test('a large Trash is worked through page by page', async (t) => {
  const clock = new ManualClock()
  const account = await accountFolder(t)
  const store = await account.create({ clock })
  await appendMany(store, 'Trash', 5001)
  clock.advance(DAY_MS)
  await appendMany(store, 'Trash', 2)
  const beforeMs = clock.nowMs()
  const request = { specialUse: '\\Trash', beforeMs }
  const stopped = { ...request, signal: AbortSignal.abort() }
  assert.equal(await store.upkeep.expungeOlder(stopped), 0)
  assert.equal(await store.upkeep.expungeOlder(request), 5001)
  assert.equal((await store.mailboxStatus('Trash')).messageCount, 2)
})

test('the log of expunges is pruned by age, and says that it no longer reaches back', async (t) => {
  const clock = new ManualClock()
  const account = await accountFolder(t)
  const store = await account.create({ clock })
  await appendMany(store, 'INBOX', 5000, ['\\Deleted'])
  const { view } = await store.openView('INBOX')
  const expunge = async (/** @type {number[]} */ uids) => {
    await store.expunge({ view, uids })
    return view.highestModSeq
  }
  // More ranges than a page of the pruning: every second message.
  const old = await expunge(Array.from({ length: 2400 }, (_, i) => 2 * i + 1))
  clock.advance(50 * DAY_MS)
  const young = await expunge([4900])
  const beforeMs = clock.nowMs() - 40 * DAY_MS
  const stopped = { beforeMs, signal: AbortSignal.abort() }
  assert.equal(await store.upkeep.pruneExpunged(stopped), 0)
  assert.equal(await store.upkeep.pruneExpunged({ beforeMs }), 2400)
  assert.equal(await store.upkeep.pruneExpunged({ beforeMs }), 0)

  const since = async (/** @type {number} */ modSeq) => store.readExpunged(view.mailboxId, modSeq)
  assert.deepEqual(await since(old), { isComplete: true, ranges: [{ first: 4900, last: 4900 }] })
  assert.equal((await since(old - 1)).isComplete, false)
  assert.deepEqual(await since(young), { isComplete: true, ranges: [] })
})

test('a store that is open elsewhere catches up over a pruned log', async (t) => {
  const clock = new ManualClock()
  const account = await accountFolder(t)
  const store = await account.create({ clock })
  await appendMany(store, 'INBOX', 6, ['\\Deleted'])
  const other = await account.open({ clock })
  const { view } = await other.openView('INBOX')
  await store.expunge({ view: (await store.openView('INBOX')).view, uids: [2, 5] })
  clock.advance(DAY_MS)
  assert.equal(await store.upkeep.pruneExpunged({ beforeMs: clock.nowMs() }), 2)
  await other.pollOtherProcesses()
  assert.deepEqual(aliveUids(view), [1, 3, 4, 6])
})
