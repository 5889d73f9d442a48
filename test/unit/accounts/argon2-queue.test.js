import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Argon2Queue } from '../../../src/accounts/argon2-queue.js'
import { ARGON2_FLOOR } from '../../../src/crypto/kdf.js'
import { isMailError } from '../../../src/errors.js'

/** @typedef {import('../../../src/accounts/argon2-queue.js').Standing} Standing */

const input = { password: Buffer.from('x'), salt: Buffer.alloc(16) }

test('no more derivations run at once than were allowed, and all are counted', async () => {
  const queue = new Argon2Queue({ params: ARGON2_FLOOR, concurrency: 2 })
  const all = Array.from({ length: 6 }, () => queue.stretch(input))
  assert.equal(queue.figures.running, 2)
  assert.equal(queue.figures.waiting, 4)
  await Promise.all(all)
  assert.deepEqual(queue.figures, { running: 0, waiting: 0, derivations: 6 })
})

test('what does not fit into the queue is told to come back, and costs nothing', async () => {
  const queue = new Argon2Queue({ params: ARGON2_FLOOR, concurrency: 1, queueLength: 2 })
  const all = Array.from({ length: 3 }, () => queue.stretch(input))
  await assert.rejects(queue.stretch(input), (error) => isMailError(error, 'THROTTLED'))
  await Promise.all(all)
  assert.equal(queue.figures.derivations, 3)
  using stretched = await queue.stretch(input)
  assert.equal(stretched.length, 32)
})

test('parameters below the floor stop the start', () => {
  assert.throws(() => new Argon2Queue({ params: { ...ARGON2_FLOOR, memoryKiB: 1024 } }), RangeError)
})

test('who is known goes before strangers that wait, and finds room where they have filled the queue; who guesses goes last', async () => {
  const queue = new Argon2Queue({ params: ARGON2_FLOOR, concurrency: 1, queueLength: 3 })
  /** @type {string[]} */
  const order = []
  const stretch = async (/** @type {string} */ who, /** @type {Standing} */ standing) => {
    ;(await queue.stretch({ ...input, standing })).dispose()
    order.push(who)
  }
  const all = ['g1', 'g2', 'g3', 'g4'].map((who) => stretch(who, 'guessing'))
  all.push(...['s1', 's2', 's3'].map((who) => stretch(who, 'stranger')))
  for (const standing of /** @type {const} */ (['guessing', 'stranger']))
    await assert.rejects(stretch('more', standing), (error) => isMailError(error, 'THROTTLED'))
  all.push(stretch('owner', 'known'))
  await Promise.all(all)
  assert.deepEqual(order, ['g1', 'owner', 's1', 's2', 's3', 'g2', 'g3', 'g4'])
})

test('who has gone before it was their turn costs no derivation and no place; one that has begun goes on', async () => {
  const queue = new Argon2Queue({ params: ARGON2_FLOOR, concurrency: 1, queueLength: 2 })
  const [staying, going] = [new AbortController(), new AbortController()]
  const stretchFor = (/** @type {AbortController} */ { signal }) =>
    queue.stretch({ ...input, asker: { isClosed: signal.aborted, closeSignal: signal } })
  const first = queue.stretch(input)
  const [stays, goes] = [stretchFor(staying), stretchFor(going)]
  going.abort(new Error('gone'))
  await assert.rejects(goes, { message: 'gone' })
  await assert.rejects(stretchFor(going), { message: 'gone' })
  assert.equal(queue.figures.waiting, 1)
  const last = queue.stretch(input)
  await first
  assert.equal(queue.figures.running, 1)
  staying.abort(new Error('gone too late'))
  assert.equal((await stays).length, 32)
  await last
  assert.deepEqual(queue.figures, { running: 0, waiting: 0, derivations: 3 })
})
