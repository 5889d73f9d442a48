import assert from 'node:assert/strict'
import test from 'node:test'
import Database from 'better-sqlite3-multiple-ciphers'
import fc from 'fast-check'
import { foldCase } from '../../../../src/store/search/fold.js'
import {
  isIndexable,
  phraseQuery,
  trigramQuery,
  wordQuery,
  wordsOf
} from '../../../../src/store/search/terms.js'

/** Few letters, so that one text is often part of another; of one to four bytes, with what FTS5 treats specially. */
const letter = fc.constantFrom(...'aab "*+-:{}()^\'1é漢😀𞤢\n')
const textOf = (/** @type {number} */ maxLength) =>
  fc.string({ unit: letter, maxLength }).map(foldCase)

/** @type {[string, string, boolean][]} */
const INDEXABLE = [
  ['three letters', 'abc', true],
  ['two letters', 'ab', false],
  ['nothing', '', false],
  ['two letters of four bytes each', '😀😁', false],
  ['three letters of four bytes each', '😀😁😂', true],
  ['a NUL', 'ab\0c', false],
  ['the replacement character', 'abc\ufffd', false],
  ['a noncharacter', 'abc\uffff', false],
  ['half of a pair', 'abc\ud83d', false]
]

for (const [name, term, expected] of INDEXABLE) {
  test(`${name}: ${expected ? 'asked of the index' : 'scanned'}`, () => {
    assert.equal(isIndexable(term), expected)
  })
}

/** @type {[string, string | null][]} */
const WORDS = [
  ['meeting', '"meeting" *'],
  ['öl', '"öl" *'],
  ['2024', '"2024" *'],
  ['a', null],
  ['two words', null],
  ['abc123', null],
  ['123456789', null],
  ['abcdefghijklmnopqrstuvwxyz', null]
]

for (const [term, expected] of WORDS) {
  test(`${term} is ${expected ? 'asked of' : 'nothing for'} the word index`, () => {
    assert.equal(wordQuery(term), expected)
  })
}

/**
 * @param {string} columns - of fts5
 * @returns {(texts: string[], query: string) => number[]} indexes of the texts that FTS5 finds
 */
function ftsWith(columns) {
  const db = new Database(':memory:')
  return (texts, query) => {
    db.exec(
      `DROP TABLE IF EXISTS t; CREATE VIRTUAL TABLE t USING fts5 (text, content = '', ${columns})`
    )
    const insert = db.prepare('INSERT INTO t (rowid, text) VALUES (?, ?)')
    texts.forEach((text, index) => insert.run(index, text))
    return /** @type {number[]} */ (
      db.prepare('SELECT rowid FROM t WHERE t MATCH ? ORDER BY rowid').pluck().all(query)
    )
  }
}

test('trigrams miss no text that contains the term, and one trigram finds no other', () => {
  const find = ftsWith("detail = 'none', tokenize = 'trigram case_sensitive 1'")
  fc.assert(
    fc.property(fc.array(textOf(30), { maxLength: 12 }), textOf(8), (all, term) => {
      fc.pre(isIndexable(term))
      const { query, isExact } = trigramQuery(term)
      const found = find(all, query)
      const expected = [...all.keys()].filter((index) => all[index]?.includes(term))
      if (isExact) assert.deepEqual(found, expected)
      else for (const index of expected) assert.ok(found.includes(index), `${term}: ${all[index]}`)
    }),
    { numRuns: 300 }
  )
})

test('a phrase of trigrams finds the texts that contain the term, and no others', () => {
  const find = ftsWith("detail = 'full', tokenize = 'trigram case_sensitive 1'")
  fc.assert(
    fc.property(fc.array(textOf(30), { maxLength: 12 }), textOf(8), (all, term) => {
      fc.pre(isIndexable(term))
      const { query, isExact } = phraseQuery(term, 'text')
      assert.ok(isExact)
      const expected = [...all.keys()].filter((index) => all[index]?.includes(term))
      assert.deepEqual(find(all, query), expected)
    }),
    { numRuns: 300 }
  )
})

test('a word hit is a text that contains the term', () => {
  const find = ftsWith("detail = 'none', tokenize = 'ascii'")
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme', maxLength: 30 }).map(foldCase), { maxLength: 8 }),
      fc.nat(),
      fc.integer({ min: 2, max: 6 }),
      (all, place, length) => {
        const whole = all.join(' ')
        const term = whole.slice(place % (whole.length + 1)).slice(0, length)
        const query = wordQuery(term)
        fc.pre(query !== null)
        for (const index of find(all.map(wordsOf), query)) assert.ok(all[index]?.includes(term))
      }
    ),
    { numRuns: 300 }
  )
})

test('a term of any length becomes a query of bounded length', () => {
  const term = Array.from({ length: 5000 }, (_, index) => String.fromCharCode(0x4e00 + index)).join(
    ''
  )
  assert.ok(trigramQuery(term).query.length < 1000)
  const { query, isExact } = phraseQuery(term, 'subject')
  assert.ok(query.length < 200)
  assert.equal(isExact, false)
})
