import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BlockCache } from '../../../../src/store/search/block-cache.js'

test('the blocks that were asked for last stay, as many as there is room for', () => {
  const cache = new BlockCache(30)
  for (const rowId of [1, 2, 3]) cache.set(rowId, Buffer.alloc(10, rowId))
  for (const rowId of [1, 1, 3]) assert.deepEqual(cache.get(rowId), Buffer.alloc(10, rowId))
  cache.set(4, Buffer.alloc(10, 4))
  assert.equal(cache.get(2), undefined)
  cache.set(5, Buffer.alloc(20, 5))
  assert.deepEqual(
    [1, 2, 3, 4, 5].filter((rowId) => cache.get(rowId)),
    [4, 5]
  )
})

test('a block that two searches have read at the same moment takes the room of one', () => {
  const cache = new BlockCache(30)
  for (let time = 0; time < 10; time++) cache.set(1, Buffer.alloc(10, 1))
  for (const rowId of [2, 3]) cache.set(rowId, Buffer.alloc(10, rowId))
  assert.deepEqual(
    [1, 2, 3].filter((rowId) => cache.get(rowId)),
    [1, 2, 3]
  )
})
