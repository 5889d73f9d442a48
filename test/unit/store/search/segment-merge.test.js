/**
 * Which segments are merged, what a merge reads and writes, and what it does beside another process.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import { openEncryptedDatabase } from '../../../../src/database/open.js'
import { indexPending } from '../../../../src/store/search/index-job.js'
import { INDEX_VERSION } from '../../../../src/store/search/index-text.js'
import {
  chooseCompaction,
  chooseMerge,
  mergeSegments
} from '../../../../src/store/search/segment-merge.js'
import { SegmentCursor } from '../../../../src/store/search/segment-cursor.js'
import { termRow } from '../../../../src/store/search/segment-format.js'
import {
  areWhole,
  deleteSomeBlocks,
  hasLeftSegments,
  leaveSegments,
  leaveUnfinished,
  readSegments
} from '../../../../src/store/search/segment-rows.js'
import { OvertakenError, TextIndex } from '../../../../src/store/search/text-answers.js'
import { segmentProblems } from '../../../../src/store/search/verify-segments.js'
import { accountFolder } from '../../../helpers/account-folder.js'
import { damagePage, pagesOf } from '../../../helpers/damage-page.js'
import { addSegment, ask } from '../../../helpers/segments.js'
import { appendAll, temporaryStore } from '../../../helpers/temporary-store.js'

test('segments of one size are merged when there are enough of them, small ones first', () => {
  const row = (/** @type {number} */ id, /** @type {number} */ contentCount) => ({
    id,
    base: id,
    last: id,
    contentCount
  })
  assert.deepEqual(chooseMerge([]), [])
  assert.deepEqual(chooseMerge([row(1, 100), row(2, 1), row(3, 20)]), [])
  const small = [10, 11, 12, 13].map((id) => row(id, 2))
  const large = [20, 21, 22, 23].map((id) => row(id, 5000))
  assert.deepEqual(chooseMerge([...large, ...small, row(1, 300)]), small)
  assert.deepEqual(chooseMerge(large), large)
})

const COMPACTIONS = [
  { title: 'few new contents are left to the merges', sizes: [9, 80, 400], isNew: 489, chosen: [] },
  { title: 'what has all just come', sizes: [600, 500, 700], isNew: 1800, chosen: [500, 600, 700] },
  {
    title: 'no more than eight times what has come, the small ones first',
    sizes: [90_000, 3000, 1000, 2500, 3000],
    isNew: 1000,
    chosen: [1000, 2500, 3000]
  },
  {
    title: 'what is most of it already is left',
    sizes: [90_000, 6000, 4000],
    isNew: 20_000,
    chosen: [4000, 6000]
  },
  { title: 'one segment is not written anew', sizes: [90_000, 1000], isNew: 1000, chosen: [] }
]

for (const { title, sizes, isNew, chosen } of COMPACTIONS)
  test(`a compaction after ${isNew} new contents: ${title}`, () => {
    const rows = sizes.map((contentCount, index) => ({
      id: index,
      base: index,
      last: index,
      contentCount
    }))
    const taken = chooseCompaction(/** @type {any} */ (rows), isNew)
    assert.deepEqual(
      taken.map(({ contentCount }) => contentCount),
      chosen
    )
  })

test('segments that are too far apart for one are not merged with each other', () => {
  const row = (/** @type {number} */ id) => ({ id, base: id, last: id, contentCount: 1000 })
  const far = 2 ** 26
  const near = [row(1), row(2), row(3), row(far)]
  assert.deepEqual(chooseMerge([...near, row(far + 1)]), near)
  assert.deepEqual(chooseMerge([row(1), row(2), row(3), row(far + 1)]), [])
  assert.deepEqual(chooseCompaction(near, 4000), near)
  assert.deepEqual(chooseCompaction([row(1), row(2), row(3), row(far + 1)], 4000), [])
})

test('segments of many messages that come at once become one when all of them have come', async (t) => {
  const key = Buffer.alloc(32, 7)
  const store = await temporaryStore(t, { key })
  const { folder } = store.searchAccess.database
  const mails = Array.from({ length: 1100 }, (_, number) =>
    Buffer.from(`Subject: ${number}\r\n\r\n`)
  )
  await appendAll(
    store,
    'INBOX',
    mails.map((bytes) => ({ bytes }))
  )
  await store.close()
  const path = join(folder, 'mail.db')
  const { db } = openEncryptedDatabase({ path, key, cipher: 'chacha20', isBlocking: true })
  t.after(() => db.close())
  // Whatever the store has indexed by now.
  db.exec('UPDATE search_state SET text_version = 0')
  const none = () => new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  let most = 0
  await indexPending(
    db,
    { isUrgent: false, newContents: 0, wish: none(), waiting: none() },
    { writers: none(), onBatch: () => (most = Math.max(most, readSegments(db).length)) }
  )
  assert.equal(most, Math.ceil(mails.length / 256))
  assert.deepEqual(
    readSegments(db).map(({ contentCount }) => contentCount),
    [mails.length]
  )
})

test('a merge of a few contents reads nothing of the many that lie between them', async (t) => {
  const account = await accountFolder(t)
  const store = await account.create()
  const { database, indexer } = store.searchAccess
  await indexer.close()
  const texts = new Map()
  for (const id of [1, 2, 3, 10_000]) {
    texts.set(id, { body: `word${id} same`, header: 'head' })
    await addSegment(store, new Map([[id, texts.get(id)]]))
  }
  await database.write((db) =>
    db.exec(`WITH RECURSIVE others (id) AS (SELECT 4 UNION ALL SELECT id + 1 FROM others WHERE id < 9999)
      INSERT INTO contents (id, hash, size, chunk_size) SELECT id, randomblob(32), 0, 1 FROM others`)
  )
  await store.checkpoint()
  // Whoever reads them all finds out.
  const path = join(account.folder, 'mail.db')
  for (const page of pagesOf(path, account.key, 'contents', 'leaf').slice(1, -1))
    damagePage(path, page)
  database.db.pragma('shrink_memory')
  await mergeSegments(
    { read: (work) => database.readSettled(work), write: (work) => database.write(work) },
    { maxContents: texts.size }
  )
  const rows = await database.readSettled(readSegments)
  assert.deepEqual(
    rows.map(({ base, last, contentCount }) => [base, last, contentCount]),
    [[1, 10_000, 4]]
  )
  assert.deepEqual([...(await ask(store, 'same', 'body')).certain], [...texts.keys()])
})

test('when much has gone every segment is written anew, those that are too far apart for one by themselves', async (t) => {
  const store = await temporaryStore(t)
  const { database } = store.searchAccess
  const far = 2 ** 27
  const texts = [1, 2, 3, 4].map((id) => ({ body: `word${id} same`, header: 'head' }))
  const [one = never(), two = never(), three = never(), four = never()] = texts
  await addSegment(store, new Map([[1, one]]))
  await addSegment(store, new Map([[2, two]]))
  await addSegment(store, new Map([[far, three]]))
  await addSegment(store, new Map([[far * 2, four]]))
  await database.write((db) => db.prepare('DELETE FROM contents WHERE id IN (2, ?)').run(far * 2))
  await mergeSegments(
    { read: (work) => database.readSettled(work), write: (work) => database.write(work) },
    { maxContents: Infinity, all: true }
  )
  const rows = await database.readSettled(readSegments)
  assert.deepEqual(
    rows.map(({ base, contentCount }) => [base, contentCount]),
    [
      [1, 1],
      [far, 1]
    ]
  )
  assert.deepEqual([...(await ask(store, 'same', 'text')).certain], [1, far])
  await database.readSettled((db) => {
    // The word of the one that has gone takes no room.
    const cursor = new SegmentCursor(db, rows[0] ?? never())
    for (; !cursor.isAtEnd; cursor.advance(db))
      assert.ok(cursor.postings(db).length > 0, cursor.term)
  })
})

test('a merge that another process has taken for left gives up, and the index stays whole', async (t) => {
  const store = await temporaryStore(t)
  const { database } = store.searchAccess
  for (const id of [1, 2, 3])
    await addSegment(store, new Map([[id, { body: `word${id} same`, header: 'head' }]]))
  let writes = 0
  const port = {
    read: database.readSettled.bind(database),
    write: async (/** @type {(db: any) => any} */ work) => {
      const result = await database.write(work)
      // The new segment has been begun: here another indexer starts.
      if (++writes === 1) await database.write(leaveUnfinished)
      return result
    }
  }
  await assert.rejects(mergeSegments(port, { maxContents: Infinity, all: true }), { code: 'BUSY' })
  assert.deepEqual([...(await ask(store, 'same', 'text')).certain], [1, 2, 3])
  assert.equal((await store.upkeep.readIndexNeeds()).hasRest, true)
  await database.write((db) =>
    db.prepare('UPDATE search_state SET text_version = ?').run(INDEX_VERSION)
  )
  await store.indexSearch()
  assert.equal((await store.upkeep.readIndexNeeds()).hasRest, false)
  assert.deepEqual([...(await ask(store, 'same', 'text')).certain], [1, 2, 3])
})

for (const { all, expected } of [
  { all: true, expected: [9] },
  { all: false, expected: [5, 4] }
]) {
  const which = all ? 'whose segments' : 'of whose segments some'
  test(`a merge ${which} another process merges meanwhile gives up without an alarm, wherever that happens`, async (t) => {
    for (let at = 2; at < 6; at++) {
      /** @type {string[]} */
      const alerts = []
      const store = await temporaryStore(t, { onAlert: ({ code }) => alerts.push(code) })
      const { database } = store.searchAccess
      const groups = [[1], [2], [3], [4], [5, 6, 7, 8, 9]]
      const text = (/** @type {number} */ id) => ({ body: `word${id} same`, header: 'head' })
      for (const ids of groups) await addSegment(store, new Map(ids.map((id) => [id, text(id)])))
      const other = {
        read: database.readSettled.bind(database),
        write: database.write.bind(database)
      }
      let steps = 0
      const otherWorks = async () => {
        if (++steps === at) await mergeSegments(other, { maxContents: Infinity, all })
      }
      /** @type {import('../../../../src/store/search/segment-merge.js').StepPort} */
      const port = {
        read: async (work) => {
          await otherWorks()
          return await database.readSettled(work)
        },
        write: async (work) => {
          await otherWorks()
          return await database.write(work)
        }
      }
      await mergeSegments(port, { maxContents: Infinity, all: true }).catch((error) =>
        assert.equal(error.code, 'BUSY', `${at}: ${error.message}`)
      )
      assert.deepEqual(alerts, [], `${at}`)
      const rows = await database.readSettled(readSegments)
      assert.deepEqual(
        rows.map(({ contentCount }) => contentCount),
        expected,
        `${at}: each content is in one segment`
      )
      await mergeSegments(other, { maxContents: Infinity })
      assert.equal(await database.readSettled(countSegments), rows.length, `${at}: half-made`)
      assert.deepEqual([...(await ask(store, 'same', 'text')).certain], groups.flat())
    }
  })
}

/** @param {import('better-sqlite3-multiple-ciphers').Database} db */
const countSegments = (db) =>
  Number(db.prepare('SELECT count(*) FROM search_segments').pluck().get())

test('a merge that meets a segment without one of its blocks says so, and leaves the index as it is', async (t) => {
  const store = await temporaryStore(t)
  await store.searchAccess.indexer.close()
  const { database } = store.searchAccess
  for (const id of [1, 2])
    await addSegment(store, new Map([[id, { body: `word${id} same`, header: 'head' }]]))
  const rows = await database.readSettled(readSegments)
  await database.write((db) =>
    db.prepare('DELETE FROM search_blocks WHERE id = ?').run(termRow(rows[1]?.id ?? 0, 1))
  )
  const port = { read: database.readSettled.bind(database), write: database.write.bind(database) }
  await assert.rejects(mergeSegments(port, { maxContents: Infinity, all: true }), {
    code: 'ACCOUNT_DAMAGED'
  })
  assert.deepEqual(await database.readSettled(readSegments), rows)
})

test('a merge keeps a word apart from the same three letters within a long run', async (t) => {
  const store = await temporaryStore(t)
  const { database } = store.searchAccess
  for (const [id, body] of /** @type {const} */ ([
    [1, 'zz1'],
    [2, 'zzz1']
  ]))
    await addSegment(store, new Map([[id, { body, header: '' }]]))
  await mergeSegments(
    { read: (work) => database.readSettled(work), write: (work) => database.write(work) },
    { maxContents: Infinity, all: true }
  )
  assert.deepEqual([...(await ask(store, 'zzz1', 'body')).possible], [2])
  assert.deepEqual([...(await ask(store, 'zz1', 'body')).certain], [1, 2])
})

/** @param {import('better-sqlite3-multiple-ciphers').Database} db */
const countBlocks = (db) => Number(db.prepare('SELECT count(*) FROM search_blocks').pluck().get())

test('a segment that is left can be read until its blocks begin to go, and all of them go', async (t) => {
  const store = await temporaryStore(t)
  const { database, indexer } = store.searchAccess
  await indexer.close()
  await addSegment(store, new Map([[1, { body: 'word same', header: 'head' }]]))
  const options = { maxBlocks: Infinity, breathe: async () => {} }
  const [before, after] = [
    await TextIndex.open(database, options),
    await TextIndex.open(database, options)
  ]
  await database.write((db) => {
    // More than go in one step.
    const insert = db.prepare('INSERT INTO search_blocks (id, data) VALUES (?, zeroblob(1))')
    for (let number = 100; number < 400; number++)
      insert.run(termRow(before.rows[0]?.id ?? 0, number))
    leaveSegments(db, before.rows)
  })
  assert.equal(await database.readSettled((db) => areWhole(db, before.rows)), true)
  assert.deepEqual([...(await before.index.ask('same', 'text')).certain], [1])
  await database.write(deleteSomeBlocks)
  assert.ok((await database.readSettled(countBlocks)) > 0)
  assert.equal(await database.readSettled((db) => areWhole(db, before.rows)), false)
  await assert.rejects(after.index.ask('same', 'text'), OvertakenError)
  while (await database.readSettled(hasLeftSegments)) await database.write(deleteSomeBlocks)
  assert.equal(await database.readSettled(countBlocks), 0)
  assert.equal(await database.readSettled(countSegments), 0)
})

test('a merge that ends with many blocks of the parts of words writes them all', async (t) => {
  const store = await temporaryStore(t)
  await store.searchAccess.indexer.close()
  const { database } = store.searchAccess
  // Of tens of thousands of runs of three bytes.
  const letters = [
    ...'abcdefghijklmnopqrstuvwxyzαβγδεζηθικλμνξοπρτυφχψωабвгдежзиклмнопрстуфхцчшщыэюя'
  ]
  const word = (/** @type {number} */ index) => {
    let rest = (index * 2_654_435_761) % 2 ** 42
    return Array.from({ length: 6 }, () => {
      const letter = letters[rest % letters.length]
      rest = Math.floor(rest / letters.length)
      return letter
    }).join('')
  }
  const texts = Array.from({ length: 400 }, (_, id) =>
    Array.from({ length: 600 }, (_word, index) => word(id * 600 + index)).join(' ')
  )
  for (const part of [0, 1]) {
    const half = texts.map(
      (body, id) => /** @type {const} */ ([id + 1, { body, header: 'common' }])
    )
    await addSegment(store, new Map(half.filter(([id]) => id % 2 === part)))
  }
  /** @type {number[]} */
  const written = []
  await mergeSegments(
    {
      read: (work) => database.readSettled(work),
      write: (work) =>
        database.write((db) => {
          const before = countBlocks(db)
          const result = work(db)
          written.push(countBlocks(db) - before)
          return result
        })
    },
    { maxContents: Infinity, all: true }
  )
  const blocks = written.filter((count) => count > 0)
  assert.ok(blocks.length > 3 && blocks.every((count) => count <= 128), `${blocks}`)
  await database.write((db) =>
    db.prepare('UPDATE search_state SET text_version = ?, listed_through = 400').run(INDEX_VERSION)
  )
  assert.deepEqual(await database.readSettled(segmentProblems), [])
  for (const index of [0, 12_345, 239_999]) {
    const part = word(index).slice(1, 5)
    const expected = texts.flatMap((body, id) => (body.includes(part) ? [id + 1] : []))
    assert.deepEqual([...(await ask(store, part, 'text')).certain], expected, part)
  }
})

/** @returns {never} */
function never() {
  throw new Error('four were made')
}
