import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BoundedMemo } from '../../../src/support/bounded-memo.js'

test('what was made of a text is made once; of ever new and of long ones nothing stays', () => {
  const memo = new BoundedMemo()
  /** @type {string[]} */
  const made = []
  const make = (/** @type {string} */ text) =>
    memo.get(text, () => {
      made.push(text)
      return { text }
    })
  assert.equal(make('a'), make('a'))
  assert.deepEqual(made, ['a'])
  const long = 'x'.repeat(1000)
  assert.notEqual(make(long), make(long))
  for (let number = 0; number < 1000; number++) make(`${number}`)
  made.length = 0
  for (let number = 0; number < 1000; number++) make(`${number}`)
  assert.equal(made.length, 1000)
  assert.deepEqual(make('999'), { text: '999' })
  assert.equal(made.length, 1000)
})

test('what cannot be made is tried again', () => {
  const memo = new BoundedMemo()
  const fail = () => {
    throw new Error('no')
  }
  assert.throws(() => memo.get('a', fail), /no/)
  assert.equal(
    memo.get('a', () => 1),
    1
  )
})
