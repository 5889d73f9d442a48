/** What a view learns of where its messages' contents are. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { knowsContents, learnContents } from '../../../../src/store/search/content-ids.js'
import {
  accountFolder,
  appendMany,
  appendOne,
  makeMessage
} from '../../../helpers/account-folder.js'

const breathe = async () => {}

test('a message that comes while contents are learnt is learnt by the next search', async (t) => {
  const store = await (await accountFolder(t)).create()
  await appendOne(store, 'INBOX', makeMessage('first'))
  const { view } = await store.openView('INBOX')
  const { database } = store.searchAccess
  /** @type {import('../../../../src/store/search/index-text.js').Source} */
  const slow = {
    async readSettled(work) {
      const rows = await database.readSettled(work)
      await appendOne(store, 'INBOX', makeMessage('second'))
      return rows
    }
  }
  await learnContents(slow, view, breathe)
  assert.deepEqual([view.length, view.contentIds[1] ?? 0, knowsContents(view)], [2, 0, false])
  await learnContents(database, view, breathe)
  assert.ok((view.contentIds[1] ?? 0) > 0 && knowsContents(view))
})

test('messages at the end that have gone do not keep a view from knowing all', async (t) => {
  const store = await (await accountFolder(t)).create()
  await appendMany(store, 'INBOX', 3000)
  const { view } = await store.openView('INBOX')
  const uids = Array.from({ length: 1000 }, (_, index) => 2001 + index)
  await store.changeFlags({ view, uids, action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids })
  let reads = 0
  const { database } = store.searchAccess
  await learnContents(database, view, async () => {
    reads++
  })
  assert.ok(knowsContents(view))
  assert.equal(reads, 1)
  assert.ok(view.contentIds.subarray(0, 2000).every((id) => id > 0))
})
