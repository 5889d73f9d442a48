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
  stage,
  sweepAll
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

/**
 * @param {import('node:test').TestContext} t
 * @param {Parameters<Awaited<ReturnType<typeof accountFolder>>['create']>[0]} [options]
 */
async function setup(t, options) {
  const account = await accountFolder(t)
  const store = await account.create(options)
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
  const page = await store.readPage(view, [0], {
    withDates: false,
    columns: ['envelope'],
    previews: 'none'
  })
  assert.deepEqual(page?.columns.envelope?.bytes, before[0]?.envelope)
  await store.close()
  const reader = await open({ isReadOnly: true })
  assert.deepEqual(await reader.readMessages(view.mailboxId, [1], NEEDS), before)
})

/**
 * @param {import('../../helpers/account-folder.js').AccountStore} store
 * @param {number} count
 * @param {number} [from] - number of the first
 */
async function appendAlone(store, count, from = 0) {
  for (let n = from; n < from + count; n++) {
    const writer = await store.stageContent({ isAlone: true })
    await writer.write(makeMessage(`alone ${n}`, 300 + n))
    const content = await writer.finish()
    await store.appendMessages('INBOX', [{ content, flags: [], internalDate: null }])
  }
}

/** @param {number} count */
const uidsTo = (count) => Array.from({ length: count }, (_, index) => index + 1)

test('of a message that comes alone nothing is made before somebody asks for it', async (t) => {
  const { store, view, counts } = await setup(t)
  await appendAlone(store, 2)
  const [narrow] = await store.readMessages(view.mailboxId, [1], { row: true })
  assert.equal(narrow?.uid, 1)
  const first = await store.readMessages(view.mailboxId, [1], NEEDS)
  assert.ok(first[0]?.envelope?.includes('alone 0'))
  while (counts().some((count) => count === 0))
    await new Promise((resolve) => setTimeout(resolve, 20))
  assert.deepEqual(counts(), [1, 1, 1, 1])
  assert.deepEqual(await store.readMessages(view.mailboxId, [1], NEEDS), first)
})

for (const [where, count] of /** @type {const} */ ([
  ['on the event loop', 3],
  ['in a thread', 60]
])) {
  test(`the index makes what nobody has asked for, ${where}`, async (t) => {
    const { store, view, counts, open } = await setup(t)
    await appendAlone(store, count)
    assert.deepEqual(counts(), [0, 0, 0, 0])
    await store.indexSearch()
    assert.deepEqual(
      counts(),
      TABLES.map(() => count)
    )
    const made = await store.readMessages(view.mailboxId, uidsTo(count), NEEDS)
    const expected = await freshRecords(t, count)
    assert.deepEqual(made.map(withoutTimes), expected.map(withoutTimes))
    await store.close()
    const reader = await open({ isReadOnly: true })
    assert.deepEqual(await reader.readMessages(view.mailboxId, uidsTo(count), NEEDS), made)
  })
}

test('the index takes an empty message of which nothing has been made, too', async (t) => {
  const { store, db, counts } = await setup(t)
  const content = await stage(store, Buffer.alloc(0))
  await store.appendMessages('INBOX', [{ content, flags: [], internalDate: null }])
  await store.indexSearch()
  assert.equal(db.prepare('SELECT count(*) FROM search_listed').pluck().get(), 0)
  assert.deepEqual(counts(), [1, 1, 1, 1])
})

/**
 * @param {import('node:test').TestContext} t
 * @param {number} count
 */
async function freshRecords(t, count) {
  const { store, view } = await setup(t)
  await appendAlone(store, count)
  return await store.readMessages(view.mailboxId, uidsTo(count), NEEDS)
}

/** @param {import('../../../src/store/read-messages.js').MessageRecord} record */
const withoutTimes = (record) => ({ ...record, internalDate: null, savedAtMs: 0 })

test('of many that are made at once no more than some dozens are on the way, and other work goes on', async (t) => {
  const { store, view, counts } = await setup(t)
  await appendAlone(store, 200)
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  const records = await store.readMessages(view.mailboxId, uidsTo(200), NEEDS)
  clearInterval(timer)
  assert.equal(records.length, 200)
  assert.ok(turns > 0)
  // Thirty-two, and those that had come last and were at hand.
  assert.ok(200 - Number(counts()[0]) <= 48, `${counts()[0]} rows`)
})

test('what cannot be written is given all the same, and made again for the next who asks', async (t) => {
  const { store, view, db, counts } = await setup(t, { config: { busyTimeoutMs: 0 } })
  await appendAlone(store, 100)
  db.exec('BEGIN IMMEDIATE')
  const records = await store.readMessages(view.mailboxId, uidsTo(100), NEEDS)
  assert.equal(records.length, 100)
  db.exec('ROLLBACK')
  assert.deepEqual(counts(), [0, 0, 0, 0])
  assert.deepEqual(await store.readMessages(view.mailboxId, uidsTo(100), NEEDS), records)
  await store.close()
  assert.deepEqual(counts(), [100, 100, 100, 100])
})

test('what waits is written when the store is closed', async (t) => {
  const { store, counts } = await setup(t)
  await appendOne(store, 'INBOX', makeMessage('one'))
  assert.deepEqual(counts(), [0, 0, 0, 0])
  await store.close()
  assert.deepEqual(counts(), [1, 1, 1, 1])
})

test('a store that cannot write what waits when it is closed closes all the same, and tells its usage', async (t) => {
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
  await store.close()
  assert.equal(db.prepare('SELECT count(*) FROM message_meta').pluck().get(), 0)
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

test('of messages that come alone at the same time nothing is made in their transaction', async (t) => {
  const { store, counts } = await setup(t)
  await Promise.all(Array.from({ length: 9 }, (_, n) => appendAlone(store, 1, n)))
  assert.deepEqual(counts(), [0, 0, 0, 0])
  await store.indexSearch()
  assert.deepEqual(counts(), [9, 9, 9, 9])
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
  await sweepAll(store)
  assert.deepEqual((await store.verify()).problems, [])
  await store.close()
  assert.deepEqual(counts(), [1, 1, 1, 1])
})

test('a preview that is made while its row is on the way is kept', async (t) => {
  const { store, view } = await setup(t)
  await appendOne(store, 'INBOX', makeMessage('one'))
  const [record] = await store.readMessages(view.mailboxId, [1], { partTree: true })
  assert.ok(record)
  const previews = await store.readPreviews([record], { isLazy: false })
  assert.deepEqual(await store.readPreviews([record], { isLazy: true }), previews)
})
