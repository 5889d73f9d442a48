import assert from 'node:assert/strict'
import { join } from 'node:path'
import test from 'node:test'
import fc from 'fast-check'
import { INDEX_VERSION } from '../../../../src/store/search/index-text.js'
import { ByteSink, decodeList } from '../../../../src/store/search/postings.js'
import { intersectPostings, PostingUnion } from '../../../../src/store/search/posting-set.js'
import { SegmentBatch } from '../../../../src/store/search/segment-batch.js'
import { SegmentCursor } from '../../../../src/store/search/segment-cursor.js'
import {
  decodeDirectory,
  encodeDirectory,
  MAX_DIRECTORY_BYTES,
  TERM_CLASS,
  termRow,
  toBinary,
  unpackBlock
} from '../../../../src/store/search/segment-format.js'
import {
  chooseCompaction,
  chooseMerge,
  mergeSegments
} from '../../../../src/store/search/segment-merge.js'
import {
  completeSegment,
  insertBlocks,
  insertSegment,
  leaveUnfinished,
  readSegments
} from '../../../../src/store/search/segment-rows.js'
import { TextIndex } from '../../../../src/store/search/text-answers.js'
import { BlockCache } from '../../../../src/store/search/block-cache.js'
import { foldCase } from '../../../../src/store/search/fold.js'
import { TokenCollector } from '../../../../src/store/search/token-collector.js'
import { segmentProblems } from '../../../../src/store/search/verify-segments.js'
import { accountFolder } from '../../../helpers/account-folder.js'
import { damagePage, pagesOf } from '../../../helpers/damage-page.js'
import { temporaryStore } from '../../../helpers/temporary-store.js'

/** @typedef {import('../../../../src/store/account-store.js').AccountStore} AccountStore */

const postingList = fc
  .uniqueArray(fc.nat({ max: 2 ** 30 }), { maxLength: 50 })
  .map((list) => Int32Array.from(list).sort())

test('a list of postings comes back from its bytes', () => {
  fc.assert(
    fc.property(postingList, (list) => {
      const sink = new ByteSink(1)
      sink.pushList(list)
      assert.deepEqual(decodeList(sink.take()), list)
    })
  )
})

test('lists are united and intersected as sets are, whatever the highest of them', () => {
  const property = fc.property(postingList, postingList, (left, right) => {
    const union = new PostingUnion(2 ** 30 + 1)
    const sink = new ByteSink(16)
    sink.pushList(left)
    union.addBytes(sink.take())
    union.add(right)
    assert.deepEqual(
      [...union.toList()],
      [...new Set([...left, ...right])].sort((a, b) => a - b)
    )
    const others = new Set(right)
    assert.deepEqual(
      [...intersectPostings(left, right)],
      [...left].filter((posting) => others.has(posting))
    )
  })
  fc.assert(property)
})

test('a list that is united of thousands takes no more room than there are numbers', () => {
  const union = new PostingUnion(1000)
  const list = Int32Array.from({ length: 500 }, (_, index) => index * 2)
  for (let time = 0; time < 10_000; time++) union.add(list)
  assert.deepEqual(union.toList(), list)
  assert.ok(union.toList().buffer.byteLength <= 4000)
})

/**
 * @param {AccountStore} store
 * @param {Map<number, { body: string, header: string }>} texts - by content id, ascending
 */
async function addSegment(store, texts) {
  const batch = new SegmentBatch()
  for (const [id, { body, header }] of texts)
    batch.add(id, { body: tokensOf(batch, body), header: tokensOf(batch, header), ids: new Set() })
  await writeSegment(store, batch, [...texts.keys()])
}

/**
 * @param {AccountStore} store
 * @param {SegmentBatch} batch
 * @param {number[]} contentIds - that are in it
 */
async function writeSegment(store, batch, contentIds) {
  const segment = await batch.toSegment(async () => {})
  assert.ok(segment)
  await store.searchAccess.database.write((db) => {
    const id = insertSegment(db, segment)
    insertBlocks(db, id, segment.blocks)
    completeSegment(db, id, segment)
    const insert = db.prepare(
      'INSERT OR IGNORE INTO contents (id, hash, size, chunk_size) VALUES (?, randomblob(32), 0, 1)'
    )
    for (const contentId of contentIds) insert.run(contentId)
  })
}

/**
 * @param {SegmentBatch} batch
 * @param {string} text
 */
function tokensOf(batch, text) {
  const tokens = new TokenCollector(batch.tokens)
  tokens.add(text, false)
  tokens.end()
  return tokens
}

/**
 * @param {AccountStore} store
 * @param {string} term
 * @param {'body' | 'text' | 'header'} side
 */
async function ask(store, term, side) {
  const options = { maxBlocks: Infinity, breathe: async () => {} }
  const { index } = await TextIndex.open(store.searchAccess.database, options)
  return await index.ask(term, side)
}

/** @param {import('better-sqlite3-multiple-ciphers').Database} db */
const countBlocks = (db) => Number(db.prepare('SELECT count(*) FROM search_blocks').pluck().get())

const SYLLABLES = 'ka lo mi ne ru ta sha 漢字 é 1 22 - , / . \n'.split(' ')
const sentence = fc
  .array(fc.tuple(fc.constantFrom(...SYLLABLES), fc.constantFrom('', '', ' ')), { maxLength: 60 })
  .map((parts) => foldCase(parts.flat().join('')))

test('of any texts in any segments the index names those that contain a term, before and after a merge', async (t) => {
  const property = fc.asyncProperty(
    fc.array(fc.record({ body: sentence, header: sentence }), { minLength: 6, maxLength: 30 }),
    fc.array(fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 9 })), { minLength: 8 }),
    fc.array(fc.nat({ max: 40 }), { maxLength: 6 }),
    async (all, places, gone) => {
      const store = await temporaryStore(t)
      const { database } = store.searchAccess
      const texts = new Map(all.map((each, index) => [(index + 1) * 3, each]))
      for (const part of [0, 1, 2, 3])
        await addSegment(store, new Map([...texts].filter(([id]) => (id / 3) % 4 === part)))
      const terms = places.map(([which, start, length]) => {
        const { body, header } = /** @type {{ body: string, header: string }} */ (
          all[which % all.length]
        )
        const letters = [...(which % 3 === 0 ? header : body)]
        const from = start % (letters.length || 1)
        return letters.slice(from, from + length).join('')
      })
      const check = async () => {
        for (const term of terms.filter((each) => each !== ''))
          for (const side of /** @type {const} */ (['body', 'text', 'header'])) {
            const { possible, certain } = await ask(store, term, side)
            const found = [...texts].filter(
              ([, { body, header }]) =>
                (side !== 'header' && body.includes(term)) ||
                (side !== 'body' && header.includes(term))
            )
            const ids = found.map(([id]) => id)
            assert.ok(
              ids.every((id) => possible.includes(id)),
              `${side} ${JSON.stringify(term)}: missed`
            )
            const known = [...certain].filter((id) => texts.has(id))
            assert.ok(
              known.every((id) => ids.includes(id)),
              `${side} ${JSON.stringify(term)}: wrong`
            )
          }
      }
      await check()
      for (const id of gone) {
        texts.delete(id * 3)
        await database.write((db) => db.prepare('DELETE FROM contents WHERE id = ?').run(id * 3))
      }
      await mergeSegments(
        { read: (work) => database.readSettled(work), write: (work) => database.write(work) },
        { maxContents: Infinity, all: true }
      )
      assert.ok((await database.readSettled(readSegments)).length <= 1)
      await check()
      await store.close()
    }
  )
  await fc.assert(property, { numRuns: 25 })
})

test('a segment of many words is asked through the parts of its words, and all of it can be read', async (t) => {
  const store = await temporaryStore(t)
  // It would take these contents for mail that waits, and make the index anew.
  await store.searchAccess.indexer.close()
  const word = (/** @type {number} */ index) =>
    (index * 2_654_435_761)
      .toString(26)
      .replace(/\d/g, (digit) => 'qrstuvwxyz'.charAt(Number(digit)))
  const texts = new Map()
  for (let id = 1; id <= 400; id++) {
    const words = Array.from({ length: 60 }, (_, index) => word(id * 60 + index))
    texts.set(id, { body: words.join(' '), header: `common ${id % 7}` })
  }
  await addSegment(store, texts)
  const [row] = await store.searchAccess.database.readSettled(readSegments)
  assert.ok(row)
  await store.searchAccess.database.readSettled((db) => {
    const cursor = new SegmentCursor(db, row)
    let last = ''
    for (; cursor.termClass !== -1; cursor.advance(db)) {
      const here = `${cursor.termClass}${cursor.term}`
      assert.ok(here > last, here)
      assert.ok(cursor.postings(db).length > 0)
      last = here
    }
  })
  for (const id of [1, 199, 400]) {
    const term = word(id * 60 + 30)
    for (const part of [term, term.slice(1), term.slice(0, -1), term.slice(1, -1)]) {
      const expected = [...texts]
        .filter(([, { body }]) => body.includes(part))
        .map(([each]) => each)
      assert.deepEqual([...(await ask(store, part, 'text')).certain], expected, part)
    }
  }
  assert.equal((await ask(store, 'common', 'text')).certain.length, 400)
  assert.equal((await ask(store, 'common', 'body')).possible.length, 0)
  assert.equal(toBinary('é').length, 2)
  assert.equal(TERM_CLASS.CONTENTS, 0)
})

test('of a term as long as a command may have only a few pieces are asked for', async (t) => {
  const store = await temporaryStore(t)
  const words = Array.from({ length: 9000 }, (_, number) => `w${number.toString(36)}`)
  const run = Array.from({ length: 30_000 }, (_, number) =>
    String.fromCharCode(97 + ((number * number * 7 + (number >> 3)) % 26))
  ).join('')
  const clef = '\u{1d11e}'.repeat(20_000)
  await addSegment(
    store,
    new Map([
      [1, { body: words.join(' '), header: '' }],
      [2, { body: `${run} ${clef}`, header: '' }],
      [3, { body: words.slice(1).join(' '), header: '' }]
    ])
  )
  let reads = 0
  class CountedCache extends BlockCache {
    /**
     * @override
     * @param {number} rowId
     */
    get(rowId) {
      reads++
      return super.get(rowId)
    }
  }
  const options = { maxBlocks: Infinity, breathe: async () => {}, cache: new CountedCache() }
  const { index } = await TextIndex.open(store.searchAccess.database, options)
  for (const [term, found] of /** @type {[string, number[]][]} */ ([
    [words.join(' '), [1]],
    [words.slice(4000).join(' '), [1, 3]],
    ['w1 '.repeat(9000), [1, 3]],
    [run, [2]],
    [`x${clef}`, [2]],
    [`${run}%`, []]
  ])) {
    reads = 0
    const { possible, certain } = await index.ask(term, 'body')
    for (const id of found) assert.ok(possible.includes(id), term.slice(0, 20))
    assert.equal(certain.length, 0)
    assert.ok(reads < 500, `${reads} blocks`)
  }
})

test('term blocks of a segment that stand in each other’s place are found by a check', async (t) => {
  const store = await temporaryStore(t)
  const { database } = store.searchAccess
  const body = Array.from({ length: 20_000 }, (_, number) => `w${number.toString(36)}`).join(' ')
  await addSegment(store, new Map([[1, { body, header: 'head' }]]))
  await database.write((db) =>
    db.prepare('UPDATE search_state SET text_version = ?, listed_through = 1').run(INDEX_VERSION)
  )
  assert.deepEqual(await database.readSettled(segmentProblems), [])
  await database.write((db) => {
    const [first, second] = [2, 3].map((number) => termRow(1, number))
    const move = db.prepare('UPDATE search_blocks SET id = ? WHERE id = ?')
    move.run(-1, first)
    move.run(first, second)
    move.run(second, -1)
  })
  assert.deepEqual(await database.readSettled(segmentProblems), [
    'segment of the search index out of order, number 1'
  ])
})

test('a segment with thousands of the longest values of Message-ID can be read and merged', async (t) => {
  const store = await temporaryStore(t)
  const { database } = store.searchAccess
  for (const contentId of [1, 2]) {
    const batch = new SegmentBatch()
    const ids = Array.from({ length: 10_000 }, (_, number) => {
      const letters = [contentId, number >> 7, number & 127].map((digit) => 0x4e00 + digit)
      return String.fromCodePoint(...letters).padEnd(256, '長')
    })
    const none = () => tokensOf(batch, '')
    batch.add(contentId, { body: none(), header: none(), ids: new Set(ids) })
    await writeSegment(store, batch, [contentId])
  }
  await mergeSegments(
    { read: (work) => database.readSettled(work), write: (work) => database.write(work) },
    { maxContents: Infinity, all: true }
  )
  await database.write((db) =>
    db.prepare('UPDATE search_state SET text_version = ?, listed_through = 2').run(INDEX_VERSION)
  )
  assert.deepEqual(await database.readSettled(segmentProblems), [])
  const { index } = await TextIndex.open(database, { maxBlocks: Infinity, breathe: async () => {} })
  for (const [term, found] of /** @type {const} */ ([
    ['\u4e01\u4e05\u4e7f', [1]],
    ['\u4e02\u4e00\u4e00長', [2]],
    ['長長長', [1, 2]]
  ]))
    assert.deepEqual([...(await index.askIds(term)).certain], found)
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

test('others have their turn while a segment of many words is made', async () => {
  const batch = new SegmentBatch()
  const text = Array.from({ length: 20_000 }, (_, number) => `w${number.toString(36)}z`).join(' ')
  batch.add(1, { body: tokensOf(batch, text), header: tokensOf(batch, ''), ids: new Set() })
  let breaths = 0
  const segment = await batch.toSegment(async () => {
    breaths++
  })
  assert.ok(segment && segment.blocks.length > 10)
  assert.ok(breaths > 100, `${breaths}`)
})

test('a directory of as many blocks as a very large mailbox has comes back', () => {
  const count = 100_000
  const directory = {
    classes: Array.from({ length: count }, () => TERM_CLASS.WHOLE),
    firsts: Array.from({ length: count }, (_, number) => `beginning of block ${number}`)
  }
  const raw = unpackBlock(encodeDirectory(directory), MAX_DIRECTORY_BYTES)
  assert.deepEqual(decodeDirectory(raw), directory)
})

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

test('a merge whose segments another process merges meanwhile gives up without an alarm, wherever that happens', async (t) => {
  for (let at = 2; at < 6; at++) {
    /** @type {string[]} */
    const alerts = []
    const store = await temporaryStore(t, { onAlert: ({ code }) => alerts.push(code) })
    const { database } = store.searchAccess
    for (const id of [1, 2, 3])
      await addSegment(store, new Map([[id, { body: `word${id} same`, header: 'head' }]]))
    const other = {
      read: database.readSettled.bind(database),
      write: database.write.bind(database)
    }
    let steps = 0
    const otherWorks = async () => {
      if (++steps === at) await mergeSegments(other, { maxContents: Infinity, all: true })
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
      [3],
      `${at}: each content is in one segment`
    )
    assert.deepEqual([...(await ask(store, 'same', 'text')).certain], [1, 2, 3])
  }
})

/** @returns {never} */
function never() {
  throw new Error('four were made')
}
