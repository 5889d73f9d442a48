import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { KeywordTable, MAX_KEYWORDS, keywordBit } from '../../../src/store/flags.js'

/** @param {number} count */
function tableOf(count) {
  const table = new KeywordTable()
  table.load(Array.from({ length: count }, (_, number) => ({ number, name: `$K${number}` })))
  return table
}

test('59 keywords have 59 different bits, beside those of the five system flags', () => {
  const bits = Array.from({ length: MAX_KEYWORDS }, (_, number) => keywordBit(number))
  const names = new Set(bits.map(({ word, mask }) => `${word} ${mask}`))
  assert.equal(names.size, 59)
  assert.ok(bits.every(({ word, mask }) => mask > 0 && (word === 'keywords' || mask >= 32)))
})

test('any set of flags comes back as the same names', () => {
  const table = tableOf(MAX_KEYWORDS)
  const system = ['\\Seen', '\\Answered', '\\Flagged', '\\Deleted', '\\Draft']
  fc.assert(
    fc.property(fc.subarray([...system, ...table.names]), (names) => {
      const { flags, keywords } = table.wordsOf(names)
      assert.ok(flags >= 0 && keywords >= 0)
      assert.deepEqual(table.flagNames(flags, keywords).sort(), [...names].sort())
      assert.equal(
        table.flagsWire(flags, keywords).split(' ').filter(Boolean).sort().join(),
        [...names].sort().join()
      )
    })
  )
})

test('names are found in any case, and keep the first spelling', () => {
  const table = new KeywordTable()
  table.load([{ number: 0, name: '$Forwarded' }])
  assert.deepEqual(table.find('$FORWARDED'), { word: 'flags', mask: 32 })
  assert.deepEqual(table.find('\\sEEN'), { word: 'flags', mask: 1 })
  assert.equal(table.find('other'), null)
  assert.equal(table.flagsWire(33, 0), '\\Seen $Forwarded')
  assert.equal(table.flagsWire(33, 0, true), '\\Seen $Forwarded \\Recent')
  assert.equal(table.flagsWire(0, 0, true), '\\Recent')
  assert.equal(table.flagsWire(0, 0), '')
})

test('a table that is loaded again says what it is told then, and nothing else', () => {
  const table = new KeywordTable()
  table.load([{ number: 0, name: 'first' }])
  // The bit of a keyword that another process has just made.
  assert.equal(table.flagsWire(32 | 64, 0), 'first')
  table.load([{ number: 1, name: 'second' }])
  assert.equal(table.flagsWire(32 | 64, 0), 'second')
  assert.deepEqual([table.names, table.find('first')], [['second'], null])
})

test('new keywords are named once; what is no flag is refused', () => {
  const table = tableOf(2)
  assert.deepEqual(table.missing(['\\Seen', '$k1', 'New', 'NEW', 'other']), ['NEW', 'other'])
  assert.throws(() => table.missing(['\\Recent']), { code: 'CANNOT' })
  assert.throws(() => table.missing(['x'.repeat(256)]), { code: 'LIMIT' })
  assert.equal(tableOf(MAX_KEYWORDS).isFull, true)
  assert.equal(tableOf(MAX_KEYWORDS - 1).isFull, false)
})
