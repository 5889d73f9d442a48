import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  ByteSink,
  decodeList,
  NumberReader,
  PostingList
} from '../../../../src/store/search/postings.js'

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

test('a list is read as it was written, however far apart its numbers are, and so is one of several', () => {
  const steps = [0, 1, ...Array.from({ length: 28 }, (_, bit) => [2 ** bit, 2 ** bit + 1])].flat()
  let sum = 0
  const list = steps.map((step, index) => (sum += index === 0 ? step : Math.max(step, 1)))
  const sink = new ByteSink(1)
  const bytes = sink.pushList(list)
  const range = { from: 7, to: 40 }
  const bytesOfRange = sink.pushList(list, range)
  const written = sink.take()
  assert.equal(bytes + bytesOfRange, written.length)
  assert.deepEqual([...decodeList(written.subarray(0, bytes))], list)
  assert.deepEqual([...decodeList(written.subarray(bytes))], list.slice(range.from, range.to))
})

test('lists of more messages than there is room for at first are gathered whole', () => {
  const lists = [0, 1, 2].map((part) =>
    Array.from({ length: 3000 }, (_, index) => index * 300 + part)
  )
  const gathered = new PostingList()
  for (const [part, list] of lists.entries()) {
    const sink = new ByteSink(16)
    sink.pushList(list)
    gathered.pushEncoded(sink.take(), part * 1_000_000)
  }
  const expected = lists.flatMap((list, part) => list.map((number) => number + part * 1_000_000))
  assert.deepEqual([...gathered.numbers], expected)
})
