/**
 * Lists of postings, as bytes and as sets.
 */
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { ByteSink, decodeList } from '../../../../src/store/search/postings.js'
import { intersectPostings, PostingUnion } from '../../../../src/store/search/posting-set.js'

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
