import { test } from 'node:test'
import assert from 'node:assert/strict'
import { cpSync, renameSync, rmSync } from 'node:fs'
import { accountFolder, appendMany, appendOne, makeMessage } from '../../helpers/account-folder.js'

/** @typedef {import('../../../src/store/account-store.js').AccountStore} AccountStore */

const UID_STEP = 2 ** 20
const MODSEQ_STEP = 2 ** 32

test('after a restore every number goes on above all that clients may know, and flags and mail stay', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await appendMany(store, 'INBOX', 5, ['\\Seen'])
  const before = await store.mailboxStatus('INBOX')
  await store.liftRestored()
  const after = await store.mailboxStatus('INBOX')
  assert.equal(after.uidNext, before.uidNext + UID_STEP)
  assert.equal(after.highestModSeq, before.highestModSeq + MODSEQ_STEP)
  assert.equal(after.uidValidity, before.uidValidity)
  const { view } = await store.openView('INBOX')
  assert.deepEqual([...view.uids.subarray(0, view.length)], [1, 2, 3, 4, 5])
  for (const modSeq of view.modSeqs.subarray(0, view.length)) assert.ok(modSeq > MODSEQ_STEP)
  store.closeView(view)
  const [uid] = await appendMany(store, 'INBOX', 1)
  assert.equal(uid, before.uidNext + UID_STEP)
})

test('a copy from before several restores goes on above what came after each of them', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await appendMany(store, 'INBOX', 2)
  const before = await store.mailboxStatus('INBOX')
  const old = await store.createMailbox('old')
  // The last one after a crash: nobody knows that it has been lifted.
  for (const [lifts, done] of /** @type {const} */ ([
    [3, 3],
    [4, 4],
    [4, 5]
  ])) {
    assert.equal(await store.liftRestored({ lifts }), done)
    const { uidNext, highestModSeq } = await store.mailboxStatus('INBOX')
    assert.equal(uidNext, before.uidNext + done * UID_STEP)
    assert.equal(highestModSeq, before.highestModSeq + done * MODSEQ_STEP)
  }
  const next = await store.createMailbox('new')
  assert.ok(next.id > old.id + 5000)
  assert.ok(next.uidValidity > old.uidValidity + 5000)
  assert.deepEqual((await store.verify()).problems, [])
})

test('after a restore no id of a mailbox comes again, nor a UIDVALIDITY', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const old = await store.createMailbox('old')
  await store.liftRestored()
  const next = await store.createMailbox('new')
  assert.ok(next.id > old.id + 1000)
  assert.ok(next.uidValidity > old.uidValidity + 1000)
  assert.deepEqual((await store.verify()).problems, [])
})

for (const messages of [0, 3])
  test(`after a restore to ${messages} messages no id of a content comes again`, async (t) => {
    const account = await accountFolder(t)
    const contentIds = async (/** @type {AccountStore} */ store) => {
      const { view } = await store.openView('INBOX')
      const uids = [...view.uids.subarray(0, view.length)]
      const rows = await store.readMessages(view.mailboxId, uids, { row: true })
      store.closeView(view)
      return rows.map(({ contentId }) => contentId)
    }
    const appendDifferent = async (
      /** @type {AccountStore} */ store,
      /** @type {string} */ text,
      /** @type {number} */ count
    ) => {
      for (let nth = 0; nth < count; nth++)
        await appendOne(store, 'INBOX', makeMessage(`${text} ${nth}`))
    }
    const store = await account.create()
    await appendDifferent(store, 'before', messages)
    await store.close()
    const backup = `${account.folder}.backup`
    cpSync(account.folder, backup, { recursive: true })
    const lost = await account.open()
    await appendDifferent(lost, 'lost', 2)
    const seen = await contentIds(lost)
    await lost.close()

    rmSync(account.folder, { recursive: true })
    renameSync(backup, account.folder)
    const restored = await account.open()
    await restored.liftRestored()
    await appendDifferent(restored, 'after', 2)
    const now = await contentIds(restored)
    assert.deepEqual([seen.length, now.length], [messages + 2, messages + 2])
    assert.deepEqual(now.slice(0, messages), seen.slice(0, messages))
    for (const contentId of now.slice(messages)) assert.ok(contentId > Math.max(...seen))
    assert.deepEqual((await restored.verify()).problems, [])
  })

test('what was expunged is told as “everything that is not there”, since the log of it may be of another past', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await appendMany(store, 'INBOX', 3, ['\\Deleted'])
  const { view } = await store.openView('INBOX')
  await store.expunge({ view, uids: [2] })
  store.closeView(view)
  const { id, highestModSeq } = await store.mailboxStatus('INBOX')
  await store.liftRestored()
  assert.deepEqual(await store.readExpunged(id, highestModSeq), { isComplete: false, ranges: [] })
})
