import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { openEncryptedDatabase } from '../../../src/database/open.js'
import { createAccountStore } from '../../../src/store/account-store.js'
import { systemClock } from '../../../src/support/clock.js'
import {
  accountFolder,
  appendOne,
  makeMessage,
  scratchFolder,
  stage
} from '../../helpers/account-folder.js'

const TABLES = ['message_meta', 'message_envelopes', 'message_structures', 'message_fields']

const NEEDS = {
  envelope: true,
  body: true,
  bodyStructure: true,
  header: true,
  partTree: true,
  search: true
}

/** @param {import('node:test').TestContext} t */
async function setup(t) {
  const account = await accountFolder(t)
  const store = await account.create()
  const { view } = await store.openView('INBOX')
  const { folder, key } = account
  const { db } = openEncryptedDatabase({ path: `${folder}/mail.db`, key, cipher: 'chacha20' })
  t.after(() => db.close())
  const counts = () =>
    TABLES.map((table) => db.prepare(`SELECT count(*) FROM ${table}`).pluck().get())
  return { ...account, store, view, db, counts }
}

test('what is computed of a message that came alone is there at once, and in the file a moment later', async (t) => {
  const { store, view, counts, open } = await setup(t)
  await appendOne(store, 'INBOX', makeMessage('one'))
  const before = await store.readMessages(view.mailboxId, [1], NEEDS)
  assert.deepEqual(counts(), [0, 0, 0, 0])
  while (counts().some((count) => count === 0))
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(await store.readMessages(view.mailboxId, [1], NEEDS), before)
  const range = { firstUid: 1, lastUid: 1, withDates: false }
  const page = await store.readPage(view, range, 'envelope')
  assert.deepEqual(page?.bytes, before[0]?.envelope)
  await store.close()
  const reader = await open({ isReadOnly: true })
  assert.deepEqual(await reader.readMessages(view.mailboxId, [1], NEEDS), before)
})

test('what waits is written when the store is closed', async (t) => {
  const { store, counts } = await setup(t)
  await appendOne(store, 'INBOX', makeMessage('one'))
  assert.deepEqual(counts(), [0, 0, 0, 0])
  await store.close()
  assert.deepEqual(counts(), [1, 1, 1, 1])
})

test('a store that cannot write what waits when it is closed ends everything else, and tells its usage', async (t) => {
  const folder = await scratchFolder(t)
  const key = randomBytes(32)
  /** @type {import('../../../src/store/account-store.js').Usage[]} */
  const told = []
  const store = await createAccountStore({
    folder,
    key: Uint8Array.from(key),
    clock: systemClock,
    config: { busyTimeoutMs: 0 },
    onUsage: (usage) => told.push(usage)
  })
  const message = makeMessage('one')
  await appendOne(store, 'INBOX', message)
  const { db } = openEncryptedDatabase({ path: `${folder}/mail.db`, key, cipher: 'chacha20' })
  db.exec('BEGIN IMMEDIATE')
  await assert.rejects(store.close(), { code: 'BUSY' })
  db.close()
  assert.deepEqual(told, [{ bytes: message.length, messages: 1 }])
})

test('messages of one transaction are company for each other: nothing of them waits', async (t) => {
  const { store, counts } = await setup(t)
  const messages = []
  for (let i = 0; i < 8; i++)
    messages.push({
      content: await stage(store, makeMessage(`${i}`)),
      flags: [],
      internalDate: null
    })
  await store.appendMessages('INBOX', messages)
  assert.deepEqual(counts(), [8, 8, 8, 8])
})

test('many messages one by one never have more than some dozens on the way', async (t) => {
  const { store, counts } = await setup(t)
  for (let i = 1; i <= 100; i++) {
    await appendOne(store, 'INBOX', makeMessage(`${i}`))
    assert.ok(i - Number(counts()[0]) <= 33, `${i} messages, ${counts()[0]} rows`)
  }
})

test('another process makes for itself what has not come to the file, and a crash costs nothing', async (t) => {
  const { store, view, counts, open } = await setup(t)
  await appendOne(store, 'INBOX', makeMessage('one'))
  const other = await open({ isReadOnly: true })
  assert.deepEqual(counts(), [0, 0, 0, 0])
  assert.deepEqual(
    await other.readMessages(view.mailboxId, [1], NEEDS),
    await store.readMessages(view.mailboxId, [1], NEEDS)
  )
})

test('a content that has been swept meanwhile gets no rows', async (t) => {
  const { store, view, counts } = await setup(t)
  for (let i = 0; i < 3; i++)
    await appendOne(store, 'INBOX', makeMessage(`${i}`), i === 1 ? [] : ['\\Deleted'])
  await store.expunge({ view, uids: null })
  await store.sweep()
  assert.deepEqual((await store.verify()).problems, [])
  await store.close()
  assert.deepEqual(counts(), [1, 1, 1, 1])
})

test('a preview that is made while its row is on the way is kept', async (t) => {
  const { store, view } = await setup(t)
  await appendOne(store, 'INBOX', makeMessage('one'))
  const [record] = await store.readMessages(view.mailboxId, [1], { partTree: true })
  assert.ok(record)
  const preview = await store.readPreview(record, { isLazy: false })
  assert.equal(await store.readPreview(record, { isLazy: true }), preview)
})
