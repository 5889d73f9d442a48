import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inPages } from '../../../src/store/in-pages.js'

const UIDS = Array.from({ length: 10 }, (_, index) => index + 1)

test('pages are worked through in order, four of them under way at most', async () => {
  let underWay = 0
  let most = 0
  const pages = await inPages(UIDS, { pageSize: 2 }, async (page) => {
    most = Math.max(most, ++underWay)
    await new Promise((resolve) => setTimeout(resolve, 20))
    underWay--
    return [...page]
  })
  assert.deepEqual(pages, [
    [1, 2],
    [3, 4],
    [5, 6],
    [7, 8],
    [9, 10]
  ])
  assert.equal(most, 4)
})

test('a page that fails at once is heard of by whoever waits for all, and by nobody else', async (t) => {
  /** @type {unknown[]} */
  const unawaited = []
  const listener = (/** @type {unknown} */ error) => unawaited.push(error)
  process.on('unhandledRejection', listener)
  t.after(() => process.off('unhandledRejection', listener))
  const begun = /** @type {number[]} */ ([])
  const first = new Error('the first page')
  await assert.rejects(
    inPages(UIDS, { pageSize: 4 }, async ([uid = 0]) => {
      begun.push(uid)
      throw uid === 1 ? first : new Error(`page from ${uid}`)
    }),
    first
  )
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(begun, [1, 5, 9])
  assert.deepEqual(unawaited, [])
})
