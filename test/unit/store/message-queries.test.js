import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mailFile } from '../../../src/database/database-files.js'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { sumDeletedPage } from '../../../src/store/message-queries.js'
import { accountFolder, appendOne, makeMessage } from '../../helpers/account-folder.js'
import { countTurns } from '../../helpers/turns.js'

test('what an expunge would free is summed page by page, and in this mailbox alone', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  let expected = 0
  for (const size of [200, 300, 400, 500, 600]) {
    const isDeleted = size !== 400
    await appendOne(store, 'INBOX', makeMessage(`of ${size}`, size), isDeleted ? ['\\Deleted'] : [])
    if (isDeleted) expected += size
  }
  await appendOne(store, 'Archive', makeMessage('elsewhere', 1000), ['\\Deleted'])
  const { id } = await store.mailboxStatus('INBOX')
  assert.equal(await store.deletedBytes(id), expected)
  const path = mailFile(account.folder)
  const { db } = openEncryptedDatabase({ path, key: account.key, cipher: 'chacha20' })
  t.after(() => db.close())
  for (const maxRows of [1, 2, 3, 5, 6]) {
    let sum = 0
    for (let from = /** @type {number | null} */ (0); from !== null;) {
      const { bytes, nextUid } = sumDeletedPage(db, id, from, maxRows)
      sum += bytes
      from = nextUid
    }
    assert.equal(sum, expected, `${maxRows} rows a page`)
  }
})

test('messages of one content are found by it, in their mailbox', async (t) => {
  const { create } = await accountFolder(t)
  const store = await create()
  const bytes = makeMessage('twice')
  for (const message of [bytes, makeMessage('another'), bytes]) {
    await appendOne(store, 'INBOX', message)
  }
  await appendOne(store, 'Archive', bytes)
  const { id } = await store.mailboxStatus('INBOX')
  const [first] = await store.readMessages(id, [1], { row: true })
  assert.ok(first)
  assert.deepEqual(await store.findByContent(id, first.contentId), [1, 3])
  assert.deepEqual(await store.findByContent(id, 99_999), [])
})

test('thousands of messages of one content are found with turns for others between them', async (t) => {
  const { create } = await accountFolder(t)
  const store = await create()
  await appendOne(store, 'INBOX', makeMessage('many'))
  const { view } = await store.openView('INBOX')
  const count = 2 ** 14
  for (let there = 1; there < count; there *= 2) {
    const uids = Array.from({ length: there }, (_, index) => index + 1)
    await store.copyMessages({ from: view, uids, toMailbox: 'INBOX' })
  }
  const [first] = await store.readMessages(view.mailboxId, [1], { row: true })
  const { contentId = 0 } = first ?? {}
  const { answer, turns } = await countTurns(() => store.findByContent(view.mailboxId, contentId))
  assert.deepEqual(
    answer,
    Array.from({ length: count }, (_, index) => index + 1)
  )
  assert.ok(turns >= 3, `${turns} turns`)
})

test('a use belongs to one mailbox at a time', async (t) => {
  const { create } = await accountFolder(t)
  const store = await create()
  const again = () => store.createMailbox('Outgoing', { specialUse: '\\Sent' })
  await assert.rejects(again(), { code: 'USE_REFUSED' })
  await store.deleteMailbox('Sent')
  assert.equal((await again()).specialUse, '\\Sent')
})

test('the quota is as the account was opened with', async (t) => {
  const { create } = await accountFolder(t)
  const store = await create({ config: { quotaBytes: 5, quotaMessages: null } })
  assert.deepEqual(store.quota, { bytes: 5, messages: null })
})
