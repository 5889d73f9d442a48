import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BLOCK_BYTES, ReplyBlock } from '../../../../src/imap/session/reply-block.js'

test('what is copied in comes out in its order, up to a block at a time', () => {
  const block = new ReplyBlock()
  const bytes = Buffer.alloc(BLOCK_BYTES + 10, 'abc')
  assert.equal(block.copy(Buffer.from('xyz'), 1), 2)
  assert.equal(block.copy(bytes, 0), BLOCK_BYTES - 2)
  assert.equal(block.isFull, true)
  /** @type {Buffer[]} */
  const sent = []
  block.sendTo((piece) => sent.push(piece))
  assert.equal(block.length, 0)
  assert.equal(block.copy(bytes, BLOCK_BYTES - 2), 12)
  sent.push(block.takeCopy())
  assert.deepEqual(Buffer.concat(sent), Buffer.concat([Buffer.from('yz'), bytes]))
  block.sendTo(() => assert.fail('there is nothing to send'))
})

test('a block is used again only after it was sent', () => {
  const [one, other] = [new ReplyBlock(), new ReplyBlock()]
  one.copy(Buffer.from('first'), 0)
  /** @type {Buffer[]} */
  const pieces = []
  /** @type {(() => void)[]} */
  const done = []
  const send = (/** @type {Buffer} */ piece, /** @type {() => void} */ onSent) => {
    pieces.push(piece)
    done.push(onSent)
  }
  one.sendTo(send)
  other.copy(Buffer.from('other'), 0)
  assert.equal(String(pieces[0]), 'first')
  done[0]?.()
  one.copy(Buffer.from('third'), 0)
  assert.equal(String(pieces[0]), 'third', 'the memory is the same')
  other.sendTo(send)
  assert.equal(String(pieces[1]), 'other')
  one.clear()
  assert.equal(one.length, 0)
})

test('the blocks of two hundred clients who are answered at once serve the next two hundred answers', () => {
  /** @type {Set<ArrayBufferLike>} */
  const known = new Set()
  for (const isFirst of [true, false]) {
    const blocks = Array.from({ length: 200 }, () => new ReplyBlock())
    /** @type {(() => void)[]} */
    const done = []
    for (const block of blocks) {
      block.copy(Buffer.from('OK'), 0)
      block.sendTo((piece, onSent) => {
        if (isFirst) known.add(piece.buffer)
        else assert.ok(known.has(piece.buffer))
        done.push(onSent)
      })
    }
    assert.equal(known.size, 200)
    for (const onSent of done) onSent()
  }
})
