import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Permits } from '../../../src/delivery/permits.js'

test('who asks first gets first, and nobody overtakes', async () => {
  const permits = new Permits(3)
  /** @type {string[]} */
  const order = []
  const first = await permits.take(2)
  const large = permits.take(3).then((release) => {
    order.push('large')
    return release
  })
  const small = permits.take(1).then((release) => {
    order.push('small')
    return release
  })
  await new Promise((resolve) => setImmediate(resolve))
  assert.deepEqual(order, [])
  first()
  first()
  const release = await large
  assert.deepEqual(order, ['large'])
  release()
  await small
  assert.deepEqual(order, ['large', 'small'])
})

test('more than there is is refused at once', async () => {
  await assert.rejects(new Permits(3).take(4), RangeError)
})
