import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sharedWork } from '../../../src/admin/shared-work.js'

test('what many ask for at once is done once, and again for whoever asks later', async () => {
  let count = 0
  const ask = sharedWork(async () => ++count)
  assert.deepEqual(await Promise.all(Array.from({ length: 300 }, ask)), Array(300).fill(1))
  assert.equal(await ask(), 2)
})

test('whoever asks while it is being done gets its result, too', async () => {
  const begun = Promise.withResolvers()
  const done = Promise.withResolvers()
  let count = 0
  const ask = sharedWork(async () => {
    count++
    begun.resolve(undefined)
    return await done.promise
  })
  const first = ask()
  assert.equal(count, 0, 'it begins in the next turn')
  await begun.promise
  const second = ask()
  done.resolve('whole')
  assert.deepEqual([await first, await second, count], ['whole', 'whole', 1])
})

test('a failure is told to all who wait, and the next who asks begins anew', async () => {
  let isBroken = true
  const ask = sharedWork(async () => {
    if (isBroken) throw new Error('broken')
    return 'whole'
  })
  const told = await Promise.allSettled([ask(), ask()])
  assert.deepEqual(
    told.map(({ status }) => status),
    ['rejected', 'rejected']
  )
  isBroken = false
  assert.equal(await ask(), 'whole')
})
