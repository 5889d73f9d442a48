import assert from 'node:assert/strict'
import { Duplex } from 'node:stream'
import { test } from 'node:test'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ReplyOutput } from '../../../../src/imap/session/reply-output.js'

/** @import { Socket } from 'node:net' */

/**
 * @param {{ isSlow?: boolean }} [options] - `isSlow`: takes what it gets and never asks for more
 * @returns {{ output: ReplyOutput, sent: string[][], told: number[], socket: Duplex }} `sent`: what went out together
 */
function outputTo({ isSlow = false } = {}) {
  /** @type {string[][]} */
  const sent = []
  /** @type {number[]} */
  const told = []
  const textOf = (/** @type {Buffer} */ bytes) =>
    bytes.length > 40 ? `${bytes.length}` : bytes.toString('latin1')
  const socket = new Duplex({
    read() {},
    write(chunk, _, done) {
      sent.push([textOf(chunk)])
      if (!isSlow) done()
    },
    writev(chunks, done) {
      sent.push(chunks.map(({ chunk }) => textOf(chunk)))
      if (!isSlow) done()
    }
  })
  const output = new ReplyOutput(/** @type {Socket} */ (/** @type {unknown} */ (socket)), (bytes) =>
    told.push(bytes)
  )
  return { output, sent, told, socket }
}

test('small replies of one turn of the loop go out together', async () => {
  const { output, sent, told } = outputTo()
  output.write('* 1 EXISTS\r\n')
  output.writeCopied(Buffer.from('a1 OK\r\n'))
  assert.deepEqual(sent, [])
  await nextTurn()
  assert.deepEqual(sent, [['* 1 EXISTS\r\na1 OK\r\n']])
  assert.deepEqual(told, [12, 7])
})

test('a large piece goes out with what stands before and behind it', async () => {
  for (const method of /** @type {const} */ (['write', 'writeOwned'])) {
    const { output, sent } = outputTo()
    const piece = Buffer.alloc(70_000)
    output.write('* 1 FETCH (BODY[]<0> {70000}\r\n')
    output[method](piece)
    output.write(')\r\na1 OK\r\n')
    await nextTurn()
    assert.deepEqual(
      sent,
      [['* 1 FETCH (BODY[]<0> {70000}\r\n', '70000', ')\r\na1 OK\r\n']],
      method
    )
    assert.equal(piece.length, method === 'write' ? 70_000 : 0, 'what is owned is given back')
  }
})

test('what is flushed goes out at once, in order', async () => {
  const { output, sent } = outputTo()
  output.write('* 1 FETCH (BODY[] {131072}\r\n')
  output.writeOwned(Buffer.alloc(65_536))
  output.flush()
  output.writeOwned(Buffer.alloc(65_535))
  output.write(')\r\n')
  await nextTurn()
  assert.deepEqual(sent, [
    ['* 1 FETCH (BODY[] {131072}\r\n', '65536'],
    ['65535', ')\r\n']
  ])
})

test('what one turn of the loop makes goes out together, up to a bound', async () => {
  const { output, sent } = outputTo()
  for (let count = 0; count < 7; count++) output.writeCopied(Buffer.alloc(40_000))
  assert.deepEqual(sent, [['65536', '65536', '65536']])
  await nextTurn()
  assert.deepEqual(sent.slice(1), [['65536', '17856']])
  for (let count = 0; count < 7; count++) output.writeOwned(Buffer.alloc(40_000))
  assert.deepEqual(sent.slice(2), [['40000', '40000', '40000', '40000', '40000']])
  await nextTurn()
  assert.deepEqual(sent.slice(3), [['40000', '40000']])
})

test('a reply of more than a block goes out as far as it is copied', async () => {
  const { output, sent } = outputTo()
  output.writeCopied(Buffer.alloc(140_000))
  assert.deepEqual(sent, [['65536'], ['65536']])
  await nextTurn()
  assert.deepEqual(sent.slice(2), [['8928']])
})

test('a client that does not read is noticed', () => {
  const { output } = outputTo({ isSlow: true })
  for (let count = 0; count < 5; count++) {
    assert.equal(output.hasUnsent, false)
    output.writeOwned(Buffer.alloc(65_536))
    output.flush()
  }
  assert.equal(output.hasUnsent, true)
  assert.equal(output.mustWait, true)
})

test('once stopped it sends nothing more', async () => {
  const { output, sent, told } = outputTo()
  output.write('* BYE\r\n')
  output.flush()
  output.write('lost')
  output.stop()
  output.write('lost')
  output.writeOwned(Buffer.alloc(65_536))
  output.flush()
  await nextTurn()
  assert.deepEqual(sent, [['* BYE\r\n']])
  assert.deepEqual(told, [7, 4])
})
