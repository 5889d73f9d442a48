/**
 * Segments as they are written, asked and checked.
 */
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { BlockCache } from '../../../../src/store/search/block-cache.js'
import { foldCase } from '../../../../src/store/search/fold.js'
import { INDEX_VERSION } from '../../../../src/store/search/index-text.js'
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
import { mergeSegments } from '../../../../src/store/search/segment-merge.js'
import { SegmentReader } from '../../../../src/store/search/segment-reader.js'
import { readDirectory, readSegments } from '../../../../src/store/search/segment-rows.js'
import { TextIndex } from '../../../../src/store/search/text-answers.js'
import { segmentProblems } from '../../../../src/store/search/verify-segments.js'
import { addSegment, ask, tokensOf, writeSegment } from '../../../helpers/segments.js'
import { temporaryStore } from '../../../helpers/temporary-store.js'

const SYLLABLES = 'ka lo mi ne ru ta sha 漢字 é 1 22 - , / . \n'.split(' ')
const sentence = fc
  .array(fc.tuple(fc.constantFrom(...SYLLABLES), fc.constantFrom('', '', ' ')), { maxLength: 60 })
  .map((parts) => foldCase(parts.flat().join('')))

test('of any texts in any segments the index names those that contain a term, before and after a merge', async (t) => {
  const property = fc.asyncProperty(
    fc.array(fc.record({ body: sentence, header: sentence }), { minLength: 6, maxLength: 30 }),
    fc.array(fc.tuple(fc.nat(), fc.nat(), fc.integer({ min: 1, max: 9 })), { minLength: 8 }),
    fc.array(fc.nat({ max: 40 }), { maxLength: 6 }),
    fc.integer({ min: 1, max: 25 }),
    async (all, places, gone, parts) => {
      const store = await temporaryStore(t)
      const { database } = store.searchAccess
      const texts = new Map(all.map((each, index) => [(index + 1) * 3, each]))
      for (let part = 0; part < Math.min(parts, all.length); part++)
        await addSegment(store, new Map([...texts].filter(([id]) => (id / 3 - 1) % parts === part)))
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
    for (; !cursor.isAtEnd; cursor.advance(db)) {
      const here = `${cursor.termClass}${cursor.term}`
      assert.ok(here > last, here)
      assert.ok(cursor.postings(db).length > 0)
      last = here
    }
  })
  for (const id of [1, 199, 400]) {
    const term = word(id * 60 + 30)
    for (const part of [
      term,
      term.slice(1),
      term.slice(0, -1),
      term.slice(1, -1),
      term.slice(1, 4)
    ]) {
      const expected = [...texts]
        .filter(([, { body }]) => body.includes(part))
        .map(([each]) => each)
      assert.deepEqual([...(await ask(store, part, 'text')).certain], expected, part)
    }
  }
  const { classes, firsts } = await store.searchAccess.database.readSettled((db) =>
    decodeDirectory(readDirectory(db, row.id))
  )
  const reader = new SegmentReader(row, {
    read: (_, work) => store.searchAccess.database.readSettled(work)
  })
  for (const [block, first] of firsts.entries())
    assert.ok((await reader.get(classes[block] ?? 0, first)).length > 0, `first of block ${block}`)
  // Too short for parts: the letters around a space, in whatever words they are.
  const around = `${word(60).slice(-1)} ${word(61).slice(0, 1)}`
  const { possible } = await ask(store, around, 'body')
  for (const [id, { body }] of texts) if (body.includes(around)) assert.ok(possible.includes(id))
  assert.equal((await ask(store, 'common', 'text')).certain.length, 400)
  assert.equal((await ask(store, 'common', 'body')).possible.length, 0)
  assert.equal(toBinary('é').length, 2)
  assert.equal(TERM_CLASS.CONTENTS, 0)
})

test('a letter many times is no certain hit where a long run has it three times', async (t) => {
  const store = await temporaryStore(t)
  const bodies = ['aaa1b2c3', 'aaaa1b2c3', 'aaaab', 'aab']
  await addSegment(store, new Map(bodies.map((body, index) => [index + 1, { body, header: '' }])))
  for (const [term, certain, possible] of /** @type {const} */ ([
    ['aaa', [1, 2, 3], [1, 2, 3]],
    ['aaaa', [3], [1, 2, 3]]
  ])) {
    const answer = await ask(store, term, 'body')
    assert.deepEqual([...answer.certain], certain, term)
    assert.deepEqual([...answer.possible], possible, term)
  }
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
    batch.add(contentId, { body: none(), header: none(), ids: new Set(ids.reverse()) })
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
