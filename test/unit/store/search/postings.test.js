import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ByteSink, NumberReader } from '../../../../src/store/search/postings.js'

test('numbers of any size up to 35 bits are read as they were written', () => {
  const bits = Array.from({ length: 35 }, (_, bit) => 2 ** bit)
  const numbers = [0, ...bits.flatMap((power) => [power - 1, power, power + 1]), 2 ** 35 - 1]
  const sink = new ByteSink(1)
  for (const number of numbers) sink.pushNumber(number)
  const reader = new NumberReader(sink.take())
  assert.deepEqual(
    numbers.map(() => reader.next()),
    numbers
  )
  assert.throws(() => reader.next(), RangeError)
})
