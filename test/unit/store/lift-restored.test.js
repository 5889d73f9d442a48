import { test } from 'node:test'
import assert from 'node:assert/strict'
import { accountFolder, appendMany } from '../../helpers/account-folder.js'

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

test('after a restore no id of a mailbox or a content comes again, nor a UIDVALIDITY', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const old = await store.createMailbox('old')
  await store.liftRestored()
  const next = await store.createMailbox('new')
  assert.ok(next.id > old.id + 1000)
  assert.ok(next.uidValidity > old.uidValidity + 1000)
  assert.deepEqual((await store.verify()).problems, [])
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
