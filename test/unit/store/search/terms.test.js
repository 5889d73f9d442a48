import assert from 'node:assert/strict'
import test from 'node:test'
import Database from 'better-sqlite3-multiple-ciphers'
import fc from 'fast-check'
import { foldCase } from '../../../../src/store/search/fold.js'
import {
  hasTrigram,
  phraseQuery,
  trigramRange,
  withEnd
} from '../../../../src/store/search/terms.js'
import { isAskable } from '../../../../src/store/search/tokens.js'

/** Few letters, so that one text is often part of another; of one to four bytes, with what FTS5 treats specially. */
const letter = fc.constantFrom(...'aab "*+-:{}()^\'1é漢😀𞤢\n')
const textOf = (/** @type {number} */ maxLength) =>
  fc.string({ unit: letter, maxLength }).map(foldCase)

/** @type {[string, string, boolean][]} */
const ASKED = [
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

for (const [name, term, expected] of ASKED) {
  test(`${name}: ${expected ? 'asked as a phrase' : 'not asked as a phrase'}`, () => {
    assert.equal(isAskable(term) && hasTrigram(term), expected)
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

test('a phrase of trigrams finds the texts that contain the term, and no others', () => {
  const find = ftsWith("detail = 'full', tokenize = 'trigram case_sensitive 1'")
  fc.assert(
    fc.property(fc.array(textOf(30), { maxLength: 12 }), textOf(8), (all, term) => {
      fc.pre(isAskable(term) && hasTrigram(term))
      const { query, isExact } = phraseQuery(term, 'text')
      assert.ok(isExact)
      const expected = [...all.keys()].filter((index) => all[index]?.includes(term))
      assert.deepEqual(find(all, query), expected)
    }),
    { numRuns: 300 }
  )
})

test('a term without a trigram is what some trigram of the texts that contain it begins with, and of no others', () => {
  const db = new Database(':memory:')
  db.exec(
    `CREATE VIRTUAL TABLE t USING fts5 (text, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1');
     CREATE VIRTUAL TABLE places USING fts5vocab (t, instance)`
  )
  const insert = db.prepare('INSERT INTO t (rowid, text) VALUES (?, ?)')
  const find = db
    .prepare('SELECT DISTINCT doc FROM places WHERE term BETWEEN ? AND ? ORDER BY doc')
    .pluck()
  fc.assert(
    fc.property(fc.array(textOf(12), { maxLength: 12 }), textOf(2), (all, term) => {
      fc.pre(isAskable(term) && !hasTrigram(term))
      db.exec('DELETE FROM t')
      all.forEach((text, index) => insert.run(index, withEnd(text)))
      const expected = [...all.keys()].filter((index) => all[index]?.includes(term))
      assert.deepEqual(find.all(...trigramRange(term)), expected)
    }),
    { numRuns: 300 }
  )
})

test('a term of any length becomes a query of bounded length', () => {
  const term = Array.from({ length: 5000 }, (_, index) => String.fromCharCode(0x4e00 + index)).join(
    ''
  )
  const { query, isExact } = phraseQuery(term, 'subject')
  assert.ok(query.length < 200)
  assert.equal(isExact, false)
})
