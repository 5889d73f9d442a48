import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import test from 'node:test'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { openAccountStore } from '../../../../src/store/account-store.js'
import { readIndexState, resetStep, writeBatch } from '../../../../src/store/search/index-rows.js'
import { INDEX_VERSION } from '../../../../src/store/search/index-text.js'
import { readPending } from '../../../../src/store/search/pending-rows.js'
import { readSegments } from '../../../../src/store/search/segment-rows.js'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'
import { systemClock as clock } from '../../../../src/support/clock.js'
import {
  check,
  expungeAll,
  keysAbout,
  knownOf,
  makeOlder,
  pendingCount,
  searcher,
  smallMail
} from '../../../helpers/index-oracle.js'

/** @import { AccountStore } from '../../../../src/store/account-store.js' */
/** @import { SearchKey } from '../../../../src/imap/protocol/values/search-key.js' */

/**
 * @param {AccountStore} store
 * @param {{ numRuns: number, seed: number }} sample
 * @returns {Promise<Buffer[]>} what is in INBOX now, and in the index
 */
async function indexedMails(store, sample) {
  const mails = fc.sample(smallMail, sample)
  await appendAll(
    store,
    'INBOX',
    mails.map((bytes) => ({ bytes }))
  )
  await store.indexSearch()
  return mails
}

const CHILD = fileURLToPath(new URL('../../../helpers/index-child.js', import.meta.url))

test('kill -9 in the middle of indexing loses nothing, and it goes on at the next open', async (t) => {
  const key = Buffer.alloc(32, 9)
  let store = await temporaryStore(t, { key })
  const { folder } = store
  const mails = fc.sample(smallMail, { numRuns: 1500, seed: 11 })
  const unique = mails.map((bytes, index) =>
    Buffer.concat([bytes, Buffer.from(`number${index}\r\n`)])
  )
  await appendAll(
    store,
    'INBOX',
    unique.map((bytes) => ({ bytes }))
  )
  const known = new Map(unique.map((bytes, index) => [index + 1, knownOf(bytes)]))
  const keys = fc.sample(keysAbout([...known.values()]), 10)
  const progress = []
  for (let round = 0; round < 3; round++) {
    await store.close()
    const child = fork(CHILD, [folder, key.toString('hex')])
    // Listened for at once: it may have come to its end before it is killed.
    const exited = once(child, 'exit')
    await once(child, 'message')
    await sleep(round * 20)
    child.kill('SIGKILL')
    await exited
    store = await openAccountStore({ folder, key, clock })
    progress.push(await pendingCount(store))
    const searching = await searcher(store, 'INBOX')
    for (const searchKey of keys) await check(searching, known, searchKey)
    assert.deepEqual((await store.verify()).problems, [])
  }
  assert.ok(Number(progress[0]) < mails.length, `left to index after each kill: ${progress}`)
  await store.indexSearch()
  assert.equal(await pendingCount(store), 0)
  const searching = await searcher(store, 'INBOX')
  for (const searchKey of keys) await check(searching, known, searchKey)
  await store.close()
})

test('what has come is indexed a while later, without being asked; what goes is taken out', async (t) => {
  const store = await temporaryStore(t)
  const mails = fc.sample(smallMail, { numRuns: 8, seed: 3 }).map((bytes) => ({ bytes }))
  await appendAll(store, 'INBOX', mails)
  assert.ok((await pendingCount(store)) > 0)
  while ((await pendingCount(store)) > 0) await sleep(50)
  const { view } = await store.openView('INBOX')
  await expungeAll(store, view, [...view.uids.subarray(0, view.length)])
  await store.upkeep.sweep()
  const left = await store.searchAccess.database.read((db) =>
    db.prepare('SELECT count(*) FROM search_header_docsize').pluck().get()
  )
  assert.equal(left, 0)
  assert.deepEqual((await store.verify()).problems, [])
})

test('closing in the middle of indexing ends it, and the next open finishes it', async (t) => {
  const key = Buffer.alloc(32, 5)
  const store = await temporaryStore(t, { key })
  const mails = fc.sample(smallMail, { numRuns: 400, seed: 5 })
  await appendAll(
    store,
    'INBOX',
    mails.map((bytes, index) => ({ bytes: Buffer.concat([bytes, Buffer.from(`${index}`)]) }))
  )
  const indexing = store.indexSearch()
  await sleep(30)
  await Promise.all([
    store.close(),
    indexing.catch((error) => assert.equal(error.code, 'SHUTTING_DOWN'))
  ])
  const again = await openAccountStore({ folder: store.folder, key, clock })
  await again.indexSearch()
  assert.equal(await pendingCount(again), 0)
  assert.deepEqual((await again.verify()).problems, [])
  await again.close()
})

test('an index that a newer program has made is neither asked nor changed', async (t) => {
  const store = await temporaryStore(t)
  const mails = await indexedMails(store, { numRuns: 200, seed: 13 })
  await store.searchAccess.database.write((db) => {
    db.prepare('UPDATE search_state SET text_version = 999999999').run()
    db.prepare('DELETE FROM search_blocks').run()
    db.prepare("INSERT INTO search_header (search_header) VALUES ('delete-all')").run()
  })
  await store.indexSearch()
  const known = new Map(mails.map((bytes, index) => [index + 1, knownOf(bytes)]))
  const searching = await searcher(store, 'INBOX')
  for (const value of ['meeting', 'Grüße', 'the'])
    for (const op of /** @type {const} */ (['body', 'text']))
      await check(searching, known, { op, value })
  const left = await store.searchAccess.database.read((db) =>
    db
      .prepare('SELECT text_version, (SELECT count(*) FROM search_blocks) FROM search_state')
      .raw()
      .get()
  )
  assert.deepEqual(left, [999999999, 0])
})

test('an index that older code has made is emptied in steps, and not asked until it is made anew', async (t) => {
  const key = Buffer.alloc(32, 9)
  const store = await temporaryStore(t, { key })
  const { database, indexer } = store.searchAccess
  const mails = Array.from({ length: 1200 }, (_, index) => ({
    bytes: Buffer.from(`Subject: s${index}\r\n\r\ntext of number${index}\r\n`)
  }))
  await appendAll(store, 'INBOX', mails)
  await store.indexSearch()
  const known = new Map(mails.map(({ bytes }, index) => [index + 1, knownOf(bytes)]))
  const searching = await searcher(store, 'INBOX')
  const keys = /** @type {SearchKey[]} */ ([
    { op: 'text', value: 'mber77' },
    { op: 'header', field: 'subject', value: 's11' }
  ])
  // It would take in what the steps below have just put on the list.
  await indexer.close()
  await makeOlder(store)
  const stateOf = ({ searchAccess } = store) => searchAccess.database.readSettled(readIndexState)
  const pending = []
  const versions = []
  for (let isMore = true; isMore;) {
    isMore = await database.write(resetStep)
    pending.push(await pendingCount(store))
    versions.push((await stateOf()).textVersion)
    for (const key of keys) await check(searching, known, key)
  }
  assert.deepEqual(pending, [500, 1000, 1200, 1200])
  // A process that still runs the older code must not take what is left for its index.
  assert.deepEqual(versions, [-INDEX_VERSION, -INDEX_VERSION, -INDEX_VERSION, INDEX_VERSION])
  await store.close()
  const again = await openAccountStore({ folder: store.folder, key, clock })
  await again.indexSearch()
  assert.equal(await pendingCount(again), 0)
  const { indexedCount, deletedCount } = await stateOf(again)
  assert.equal(indexedCount - deletedCount, mails.length, 'what it is weighed by for merges')
  const searchingAgain = await searcher(again, 'INBOX')
  for (const key of keys) await check(searchingAgain, known, key)
  assert.deepEqual((await again.verify()).problems, [])
  await again.close()
})

test('what older code was about to write goes into no index that newer code has made its own', async (t) => {
  const store = await temporaryStore(t)
  const { database, indexer } = store.searchAccess
  const mails = Array.from({ length: 40 }, (_, index) => ({
    bytes: Buffer.from(`Subject: s${index}\r\n\r\ntext of number${index}\r\n`)
  }))
  await appendAll(store, 'INBOX', mails)
  await indexer.close()
  const setVersion = (/** @type {number} */ version) =>
    database.write((db) => db.prepare('UPDATE search_state SET text_version = ?').run(version))
  while (await database.write(resetStep));
  const pending = await database.readSettled((db) => readPending(db, 0, mails.length))
  const contents = pending.map(({ id }) => ({
    id,
    fields: ['s', 'a', 'b', ''],
    hasBase64: false,
    madeMeta: null
  }))
  for (const version of [-INDEX_VERSION - 1, INDEX_VERSION + 1]) {
    await setVersion(version)
    assert.equal(await database.write((db) => writeBatch(db, { segment: null, contents })), false)
    assert.equal(await database.write(resetStep), false, 'nor is it emptied')
    assert.equal(await pendingCount(store), mails.length)
    const { textVersion, indexedCount } = await database.readSettled(readIndexState)
    assert.deepEqual([textVersion, indexedCount], [version, 0])
  }
  await setVersion(INDEX_VERSION)
  assert.equal(await database.write((db) => writeBatch(db, { segment: null, contents })), true)
  assert.equal(await pendingCount(store), 0)
})

test('an indexer at work ends when newer code takes the index over, in a thread as on the event loop', async (t) => {
  for (const count of [10, 400]) {
    const store = await temporaryStore(t)
    const { database } = store.searchAccess
    const mails = Array.from({ length: count }, (_, index) => ({
      bytes: Buffer.from(`Subject: s${index}\r\n\r\ntext of number${index}\r\n`)
    }))
    await appendAll(store, 'INBOX', mails)
    while (await database.write(resetStep));
    const countTaken = (/** @type {import('better-sqlite3-multiple-ciphers').Database} */ db) =>
      Number(db.prepare('SELECT count(*) FROM search_header_docsize').pluck().get())
    const indexing = store.indexSearch()
    const taken = await database.write((db) => {
      db.prepare('UPDATE search_state SET text_version = ?').run(-INDEX_VERSION - 1)
      return countTaken(db)
    })
    assert.ok(taken < count, 'it is at work')
    await indexing
    assert.equal(await database.readSettled(countTaken), taken)
    assert.equal(await pendingCount(store), count - taken)
  }
})

test('an index that is made anew has what it lacked, though it was neither in it nor on the list', async (t) => {
  const store = await temporaryStore(t)
  const { database } = store.searchAccess
  const mailOf = (/** @type {number} */ index) => ({
    bytes: Buffer.from(`Subject: s${index}\r\n\r\ntext of number${index}\r\n`)
  })
  const mails = Array.from({ length: 600 }, (_, index) => mailOf(index))
  await appendAll(store, 'INBOX', mails.slice(0, 300))
  await store.indexSearch()
  await appendAll(store, 'INBOX', mails.slice(300))
  await database.write((db) =>
    db.prepare('UPDATE search_state SET listed_through = (SELECT max(id) FROM contents)').run()
  )
  assert.notDeepEqual((await store.verify()).problems, [])
  await store.upkeep.emptyIndex()
  await store.indexSearch()
  const known = new Map(mails.map(({ bytes }, index) => [index + 1, knownOf(bytes)]))
  const searching = await searcher(store, 'INBOX')
  for (const value of ['number177', 'number477'])
    await check(searching, known, /** @type {SearchKey} */ ({ op: 'text', value }))
  assert.deepEqual((await store.verify()).problems, [])
})

test('an index is made anew when that is asked for, and the messages are read meanwhile', async (t) => {
  const store = await temporaryStore(t)
  const { database } = store.searchAccess
  const mails = Array.from({ length: 300 }, (_, index) => ({
    bytes: Buffer.from(`Subject: s${index}\r\n\r\ntext of number${index}\r\n`)
  }))
  await appendAll(store, 'INBOX', mails)
  await store.indexSearch()
  const before = await database.readSettled(readSegments)
  const known = new Map(mails.map(({ bytes }, index) => [index + 1, knownOf(bytes)]))
  const searching = await searcher(store, 'INBOX')
  const key = /** @type {SearchKey} */ ({ op: 'text', value: 'number77' })
  await store.upkeep.emptyIndex()
  assert.equal(await pendingCount(store), mails.length)
  assert.deepEqual(await database.readSettled(readSegments), [])
  await check(searching, known, key)
  await store.indexSearch()
  assert.equal(await pendingCount(store), 0)
  const after = await database.readSettled(readSegments)
  assert.ok(after.length > 0 && after.every(({ id }) => before.every((old) => old.id !== id)))
  await check(searching, known, key)
  assert.deepEqual((await store.verify()).problems, [])
})

test('after a large expunge the index gives its room back', async (t) => {
  const store = await temporaryStore(t)
  const mails = Array.from({ length: 1300 }, (_, index) => ({
    bytes: Buffer.from(`Subject: ${index}\r\n\r\n${(index * 2_654_435_761).toString(36)} same\r\n`)
  }))
  await appendAll(store, 'INBOX', mails)
  await store.indexSearch()
  const postingBytes = () =>
    store.searchAccess.database.read((db) =>
      Number(db.prepare('SELECT sum(length(data)) FROM search_blocks').pluck().get())
    )
  const before = await postingBytes()
  const { view } = await store.openView('INBOX')
  const uids = [...view.uids.subarray(0, view.length)].filter((uid) => uid > 60)
  await expungeAll(store, view, uids)
  await store.upkeep.sweep()
  await store.indexSearch()
  const after = await postingBytes()
  assert.ok(after < before / 5, `${before} bytes before, ${after} after`)
  const { find } = await searcher(store, 'INBOX')
  assert.equal((await find({ op: 'body', value: 'same' })).length, 60)
  assert.deepEqual((await store.verify()).problems, [])
})

test('a damaged index is told to the operator, and the mail is searched without it', async (t) => {
  /** @type {string[]} */
  const alerts = []
  const store = await temporaryStore(t, { onAlert: ({ code }) => alerts.push(code) })
  const mails = await indexedMails(store, { numRuns: 300, seed: 19 })
  await store.searchAccess.database.write((db) => {
    // Else SQLite keeps the tables of FTS5 from being written to.
    const { unsafeMode } = /** @type {{ unsafeMode: (isUnsafe: boolean) => unknown }} */ (
      /** @type {unknown} */ (db)
    )
    unsafeMode.call(db, true)
    db.prepare("UPDATE search_header_data SET block = x'00112233445566778899'").run()
    db.prepare("UPDATE search_blocks SET data = x'00112233445566778899'").run()
  })
  const known = new Map(mails.map((bytes, index) => [index + 1, knownOf(bytes)]))
  const searching = await searcher(store, 'INBOX')
  for (const op of /** @type {const} */ (['body', 'text']))
    await check(searching, known, { op, value: 'meeting' })
  await check(searching, known, { op: 'header', field: 'from', value: 'bob' })
  assert.ok(alerts.includes('ACCOUNT_DAMAGED'))
})

test('a store that has searched in the thread leaves no -wal behind', async (t) => {
  const store = await temporaryStore(t)
  const mails = Array.from({ length: 300 }, (_, index) => ({
    bytes: Buffer.from(`Subject: ${index}\r\n\r\nno ${index}\r\n`)
  }))
  await appendAll(store, 'INBOX', mails)
  const { find } = await searcher(store, 'INBOX')
  assert.equal((await find({ op: 'body', value: 'no' })).length, 300)
  await store.close()
  assert.equal(existsSync(join(store.folder, 'mail.db-wal')), false)
})
