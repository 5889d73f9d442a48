import assert from 'node:assert/strict'
import test from 'node:test'
import { TokenTable, hashOf } from '../../../../src/store/search/token-table.js'

/** @param {string} text */
const whole = (text) => /** @type {const} */ ([text, 0, text.length, hashOf(text, 0, text.length)])

test('tokens keep their numbers and texts while the table grows', () => {
  const table = new TokenTable()
  const texts = Array.from({ length: 50_000 }, (_, number) => `wort-${number}-漢😀`)
  texts.forEach((text, number) => {
    assert.equal(table.find(...whole(text)), -1)
    assert.equal(table.add(...whole(text)), number)
  })
  assert.equal(table.size, texts.length)
  for (const [number, text] of texts.entries()) {
    const inside = `<${text}>`
    assert.equal(table.add(inside, 1, inside.length - 1, hashOf(text, 0, text.length)), number)
    assert.equal(table.textOf(number), text)
  }
  assert.equal(table.size, texts.length)
})

test('tokens with one hash are told apart, also one that begins like another', () => {
  const table = new TokenTable()
  const texts = ['a', 'ab', 'abc', 'b', 'ba', '', 'abd']
  const add = (/** @type {string} */ text) => table.add(text, 0, text.length, 7)
  assert.deepEqual(texts.map(add), [0, 1, 2, 3, 4, 5, 6])
  assert.deepEqual(texts.map(add), [0, 1, 2, 3, 4, 5, 6])
  assert.deepEqual(
    texts.map((_, token) => table.textOf(token)),
    texts
  )
})

test('each of many tokens is claimed once with a mark, also while more come', () => {
  const table = new TokenTable()
  const tokens = Array.from({ length: 5000 }, (_, number) => `token${number}`)
  for (const mark of [table.takeMark(), table.takeMark()]) {
    for (const text of tokens) assert.equal(table.claim(table.add(...whole(text)), mark), true)
    for (const text of tokens) assert.equal(table.claim(table.add(...whole(text)), mark), false)
  }
})
