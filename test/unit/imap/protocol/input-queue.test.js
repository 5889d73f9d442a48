import { test } from 'node:test'
import assert from 'node:assert/strict'
import { InputQueue } from '../../../../src/imap/protocol/input-queue.js'

test('many small chunks come out in their order, whatever takes them', () => {
  const queue = new InputQueue()
  for (let index = 0; index < 5000; index += 1) queue.push(Buffer.of(index % 256))
  assert.equal(queue.unreadBytes, 5000)
  for (let index = 0; index < 2500; index += 1)
    assert.deepEqual(queue.take(9), Buffer.of(index % 256))
  assert.equal(queue.skip(100), 100)
  assert.equal(queue.unreadBytes, 2400)
  const rest = queue.takeAll()
  assert.deepEqual(
    [...rest],
    Array.from({ length: 2400 }, (_, index) => (2600 + index) % 256)
  )
  assert.deepEqual([queue.unreadBytes, queue.take(1), queue.skip(1)], [0, null, 0])
  queue.push(Buffer.from('x'))
  assert.equal(queue.take(1)?.toString(), 'x')
})

test('a line in one chunk is a view of it, and a line in several is not', () => {
  const queue = new InputQueue()
  const chunk = Buffer.from('abc\r\ndef')
  queue.push(chunk)
  const first = queue.takeLine(3)
  assert.ok(Buffer.isBuffer(first))
  assert.equal(first.buffer, chunk.buffer)
  assert.equal(queue.takeLine(3), null)
  assert.deepEqual([queue.unreadBytes, queue.partialBytes], [0, 3])
  queue.push(Buffer.from('\n'))
  const second = queue.takeLine(3)
  assert.equal(String(second), 'def')
  assert.ok(Buffer.isBuffer(second) && second.buffer !== chunk.buffer)
  assert.equal(queue.partialBytes, 0)
})

test('the rest after a used-up chunk has nothing of it', () => {
  const queue = new InputQueue()
  queue.push(Buffer.from('ab'))
  queue.push(Buffer.from('cd'))
  queue.push(Buffer.from('ef'))
  assert.equal(queue.take(3)?.toString(), 'ab')
  assert.equal(queue.take(1)?.toString(), 'c')
  assert.equal(queue.takeAll().toString(), 'def')
})
