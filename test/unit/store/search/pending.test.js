/** The list of contents that are not in the search index yet. */
import assert from 'node:assert/strict'
import { copyFileSync, mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import test from 'node:test'
import { pathToFileURL } from 'node:url'
import { migrate, readMigrations } from '../../../../src/database/migrate.js'
import { openEncryptedDatabase } from '../../../../src/database/open.js'
import { indexPending } from '../../../../src/store/search/index-job.js'
import { readIndexState, resetStep, writeBatch } from '../../../../src/store/search/index-rows.js'
import { readMark, readPending, readPendingIds } from '../../../../src/store/search/pending-rows.js'
import {
  insertBlocks,
  insertSegment,
  leaveSegments
} from '../../../../src/store/search/segment-rows.js'
import { systemClock } from '../../../../src/support/clock.js'
import {
  accountFolder,
  appendOne,
  makeMessage,
  rawHandle,
  scratchFolder
} from '../../../helpers/account-folder.js'
import { explaining } from '../../../helpers/explain.js'
import { makeOlder, pendingCount, searcher } from '../../../helpers/index-oracle.js'

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */

test('an empty list of what waits is not sought among all contents, whatever the statistics say', async (t) => {
  const { folder, key, create } = await accountFolder(t)
  const store = await create()
  for (let n = 0; n < 30; n++) await appendOne(store, 'INBOX', Buffer.from(`Subject: ${n}\r\n\r\n`))
  await store.indexSearch()
  const { db } = openEncryptedDatabase({ path: `${folder}/mail.db`, key, cipher: 'chacha20' })
  t.after(() => db.close())
  db.exec('ANALYZE')
  const statistics = db.prepare('SELECT DISTINCT tbl FROM sqlite_stat1').pluck().all()
  assert.ok(statistics.includes('contents') && !statistics.includes('search_listed'))

  /** @type {string[]} */
  const plans = []
  assert.deepEqual(readPending(explaining(db, plans), 0, 10), [])
  assert.match(plans[0] ?? '', /^(SCAN|SEARCH) p\b/)
  assert.match(plans[1] ?? '', /^SEARCH c USING INTEGER PRIMARY KEY \(rowid=\?\)/)
  assert.match(plans[2] ?? '', /^SEARCH contents USING INTEGER PRIMARY KEY \(rowid>\?\)/)
  assert.match(plans[3] ?? '', /^SCAN search_state/)
  assert.equal(plans.length, 4)
})

/**
 * @param {AccountStore} store
 * @param {string} value
 * @returns {Promise<number[]>} UIDs of INBOX that have it in their body
 */
async function find(store, value) {
  const { find } = await searcher(store, 'INBOX')
  return await find({ op: 'body', value })
}

/** @param {AccountStore} store */
const markOf = (store) => store.searchAccess.database.read(readMark)

test('what comes writes nothing on the list until the index has passed its id', async (t) => {
  const store = await (await accountFolder(t)).create()
  const rows = () =>
    store.searchAccess.database.read((db) =>
      db.prepare('SELECT count(*) FROM search_listed').pluck().get()
    )
  for (let n = 0; n < 5; n++) await appendOne(store, 'INBOX', makeMessage(`word${n}`))
  assert.deepEqual([await pendingCount(store), await rows()], [5, 0])
  await store.indexSearch()
  assert.deepEqual([await pendingCount(store), await rows()], [0, 0])
  await appendOne(store, 'INBOX', makeMessage('another'))
  assert.deepEqual([await pendingCount(store), await rows()], [1, 0])
  assert.deepEqual(await find(store, 'another'), [6])
  assert.deepEqual((await store.verify()).problems, [])
})

test('an id that a process has taken ahead is on the list although the mark is above it', async (t) => {
  const { create, open } = await accountFolder(t)
  const here = await create()
  // One id each is taken, and some dozens behind it for what comes next.
  await appendOne(here, 'INBOX', makeMessage('first'))
  await appendOne(here, 'INBOX', makeMessage('second'))
  const there = await open()
  await appendOne(there, 'INBOX', makeMessage('third'))
  await there.indexSearch()
  const mark = await markOf(there)
  await appendOne(here, 'INBOX', makeMessage('fourth'))
  const [pending] = await here.searchAccess.database.read((db) => readPending(db, 0, 10))
  assert.ok(pending && pending.id < mark, 'its id was taken before')
  assert.deepEqual(await find(here, 'fourth'), [4])
  await there.indexSearch()
  assert.equal(await pendingCount(there), 0)
  assert.equal(await markOf(there), mark)
  assert.deepEqual(await find(there, 'fourth'), [4])
  assert.deepEqual((await there.verify()).problems, [])
})

test('a message that arrives slowly is on the list once it is complete, not before', async (t) => {
  const store = await (await accountFolder(t)).create()
  const large = makeMessage('slow arrival', 700_000)
  const writer = await store.stageContent({ sizeHint: large.length })
  await writer.write(large.subarray(0, 600_000))
  await appendOne(store, 'INBOX', makeMessage('quick'))
  await store.indexSearch()
  assert.equal(await pendingCount(store), 0)
  await writer.write(large.subarray(600_000))
  const content = await writer.finish()
  await store.appendMessages('INBOX', [{ content, flags: [], internalDate: null }])
  assert.equal(await pendingCount(store), 1)
  assert.deepEqual(await find(store, 'slow arrival'), [2])
  await store.indexSearch()
  assert.equal(await pendingCount(store), 0)
  assert.deepEqual(await find(store, 'slow arrival'), [2])
  assert.deepEqual((await store.verify()).problems, [])
})

test('a batch that was read before others were complete leaves them on the list', async (t) => {
  const store = await (await accountFolder(t)).create()
  for (let n = 0; n < 5; n++) await appendOne(store, 'INBOX', makeMessage(`word${n}`))
  const { database } = store.searchAccess
  while (await database.write(resetStep));
  const ids = await database.read((db) => readPending(db, 0, 10).map(({ id }) => id))
  const batch = { segment: null, contents: [ids[1], ids[3]].map(withoutText) }
  await database.write((db) => writeBatch(db, batch))
  const left = await database.read((db) => readPending(db, 0, 10).map(({ id }) => id))
  assert.deepEqual(left, [ids[0], ids[2], ids[4]])
})

/**
 * @param {import('node:test').TestContext} t
 * @param {Parameters<typeof rawHandle>[0]} account
 * @returns {Promise<ReturnType<typeof rawHandle>>} the connection of a job that has done what a thread does for the index
 */
async function indexedByThread(t, account) {
  const db = rawHandle(account)
  t.after(() => db.close())
  const none = () => new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  const request = { isUrgent: false, newContents: 0, wish: none(), waiting: none() }
  await indexPending(db, request, { writers: none(), onBatch: () => {} })
  return db
}

test('what older code could not index is tried again', async (t) => {
  const store = await (await accountFolder(t)).create()
  for (let n = 0; n < 5; n++) await appendOne(store, 'INBOX', makeMessage(`needle ${n}`))
  await store.indexSearch()
  await store.searchAccess.database.write((db) => {
    db.exec('INSERT INTO search_listed (content_id, is_left_out) VALUES (2, 1)')
  })
  await store.indexSearch()
  assert.equal(await pendingCount(store), 1)
  await makeOlder(store)
  await store.indexSearch()
  assert.equal(await pendingCount(store), 0)
})

test('what a killed program was making of the index goes', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  await store.searchAccess.indexer.close()
  await store.searchAccess.database.write((db) => {
    const id = insertSegment(db, { base: 1, last: 9, contentCount: 0 })
    insertBlocks(db, id, [{ isPosting: false, number: 0, data: Buffer.alloc(100) }])
  })
  const db = await indexedByThread(t, account)
  for (const table of ['search_segments', 'search_blocks'])
    assert.equal(db.prepare(`SELECT count(*) FROM ${table}`).pluck().get(), 0, table)
})

test('what a merge has left, and the program of before did not come to delete, goes', async (t) => {
  const store = await (await accountFolder(t)).create()
  await store.indexSearch()
  await store.searchAccess.database.write((db) => {
    const id = insertSegment(db, { base: 1, last: 9, contentCount: 0 })
    insertBlocks(db, id, [{ isPosting: false, number: 0, data: Buffer.alloc(100) }])
    leaveSegments(db, [{ id }])
  })
  await store.indexSearch()
  assert.equal((await store.upkeep.readIndexNeeds()).hasRest, false)
})

test('what comes behind hundreds of contents that have just gone is indexed in the same run', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const { database, indexer } = store.searchAccess
  await indexer.close()
  await database.write((db) =>
    db.exec(`WITH RECURSIVE ids (id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM ids WHERE id < 300)
      INSERT INTO contents (id, hash, size, chunk_size) SELECT id, NULL, 10, 131072 FROM ids`)
  )
  await appendOne(store, 'INBOX', makeMessage('word'))
  // As it looks to a run that reads the list just before a sweep, and the texts just after it.
  await database.write((db) =>
    db.exec(`INSERT INTO search_listed (content_id) SELECT id FROM contents WHERE id <= 300;
      UPDATE search_state SET listed_through = 300`)
  )
  const db = await indexedByThread(t, account)
  assert.deepEqual(readPending(db, 300, 10), [])
  assert.equal(readIndexState(db).indexedCount, 1)
})

test('what is expunged goes from the list or from the index, on either side of the mark', async (t) => {
  const store = await (await accountFolder(t)).create()
  const { view } = await store.openView('INBOX')
  for (let n = 0; n < 4; n++) await appendOne(store, 'INBOX', makeMessage(`word${n}`))
  await store.indexSearch()
  for (let n = 4; n < 8; n++) await appendOne(store, 'INBOX', makeMessage(`word${n}`))
  await store.changeFlags({ view, uids: [2, 6], action: 'add', flags: ['\\Deleted'] })
  await store.expunge({ view, uids: [2, 6] })
  await store.upkeep.sweep()
  assert.equal(await pendingCount(store), 3)
  const { indexedCount, deletedCount } = await store.searchAccess.database.read(readIndexState)
  assert.deepEqual([indexedCount, deletedCount], [4, 1])
  for (const n of [0, 4]) assert.deepEqual(await find(store, `word${n}`), [n + 1])
  assert.deepEqual((await store.verify()).problems, [])
})

/**
 * @param {number | undefined} id
 * @returns {{ id: number, fields: null, hasBase64: false, madeMeta: null }} one that cannot be indexed
 */
const withoutText = (id = 0) => ({ id, fields: null, hasBase64: false, madeMeta: null })

test('a file of an older version keeps its list, and what comes later is on it', async (t) => {
  const folder = await scratchFolder(t)
  const { db } = openEncryptedDatabase({
    path: join(folder, 'mail.db'),
    key: Buffer.alloc(32, 7),
    cipher: 'chacha20',
    isNew: true
  })
  t.after(() => db.close())
  const migrations = new URL('../../../../migrations/account/', import.meta.url)
  const older = join(folder, 'migrations')
  mkdirSync(older)
  for (const name of readdirSync(migrations).filter((name) => name < '0009'))
    copyFileSync(new URL(name, migrations), join(older, name))
  migrate(db, readMigrations(pathToFileURL(older)), { clock: systemClock })

  const insert = db.prepare(
    'INSERT INTO contents (id, hash, size, chunk_size) VALUES (?, ?, 10, 131072)'
  )
  const pending = () => readPending(db, 0, 10).map(({ id }) => id)
  for (const id of [1, 2, 4, 5]) insert.run(id, Buffer.alloc(32, id))
  insert.run(6, null)
  db.exec('DELETE FROM search_pending WHERE content_id < 3')
  db.exec('UPDATE search_pending SET is_left_out = 1 WHERE content_id = 5')
  db.exec('UPDATE search_state SET indexed_count = 2')
  migrate(db, readMigrations(migrations), { clock: systemClock })
  assert.deepEqual(pending(), [4])
  assert.deepEqual(readPendingIds(db, readMark(db), 0, 10), [4, 5])

  insert.run(3, Buffer.alloc(32, 3))
  db.prepare('UPDATE contents SET hash = ? WHERE id = 6').run(Buffer.alloc(32, 6))
  insert.run(7, Buffer.alloc(32, 7))
  assert.deepEqual(pending(), [3, 4, 6, 7])
  db.exec('UPDATE contents SET hash = NULL WHERE id IN (1, 4, 7)')
  assert.deepEqual(pending(), [3, 6])
  assert.equal(readIndexState(db).deletedCount, 1)
})
