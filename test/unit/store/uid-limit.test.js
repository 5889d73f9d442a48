import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accountFolder, appendMany, rawHandle } from '../../helpers/account-folder.js'

test('where the UIDs end, nothing gets into the next mailbox', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const { view } = await store.openView('INBOX')
  const db = rawHandle(account)
  t.after(() => db.close())
  await store.createMailbox('Full')
  await store.createMailbox('Next')
  await appendMany(store, 'Next', 2)
  await appendMany(store, 'INBOX', 2)
  db.prepare("UPDATE mailboxes SET uid_next = 4294967295 WHERE name = 'Full'").run()
  const copy = (/** @type {number[]} */ uids) =>
    store.copyMessages({ from: view, uids, toMailbox: 'Full' })
  await assert.rejects(copy([1, 2]), { code: 'LIMIT' })
  await assert.rejects(appendMany(store, 'Full', 2), { code: 'LIMIT' })
  assert.deepEqual((await copy([1])).uids, [4294967295])
  for (const uids of [[1], [1, 2]]) await assert.rejects(copy(uids), { code: 'LIMIT' })
  for (const count of [1, 2])
    await assert.rejects(appendMany(store, 'Full', count), { code: 'LIMIT' })
  assert.deepEqual((await store.verify()).problems, [])
})
