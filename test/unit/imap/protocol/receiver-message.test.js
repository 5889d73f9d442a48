import { test } from 'node:test'
import assert from 'node:assert/strict'
import { Receiver } from '../../../../src/imap/protocol/receiver.js'
import { readEvents, receive, sketchEvents, TEST_LIMITS } from '../../../helpers/imap-wire.js'

const sync = (/** @type {number} */ size) => ({ size, isNonSync: false, isLiteral8: false })
const nonSync = (/** @type {number} */ size) => ({ size, isNonSync: true, isLiteral8: false })
const NOOP = ['command', 'z', 'NOOP']

/**
 * @param {string} wire
 * @param {{ onMessage?: 'accept' | 'reject' | 'leave' }} [options]
 */
function events(wire, options) {
  const receiver = new Receiver(TEST_LIMITS)
  receiver.push(Buffer.from(wire))
  return sketchEvents(readEvents(receiver, options))
}

test('an accepted message passes through, and the command goes on after it', () => {
  assert.deepEqual(events('a APPEND x (\\Seen) {5}\r\nhello\r\nz NOOP\r\n'), [
    ['message', sync(5), 'x', ['\\Seen']],
    ['data', 'hello', true],
    ['command', 'a', 'APPEND', 'x', ['\\Seen'], 'm:5'],
    NOOP
  ])
})

test('several messages come one after the other', () => {
  assert.deepEqual(events('a APPEND x {2+}\r\nab () {3+}\r\ncde\r\n'), [
    ['message', nonSync(2), 'x'],
    ['data', 'ab', true],
    ['message', nonSync(3), 'x', 'm:2', []],
    ['data', 'cde', true],
    ['command', 'a', 'APPEND', 'x', 'm:2', [], 'm:3']
  ])
})

test('a mailbox name in a literal is buffered, the message after it is not', () => {
  assert.deepEqual(events('a APPEND {1}\r\nx {2}\r\nab\r\n'), [
    ['continue'],
    ['message', sync(2), 's:x'],
    ['data', 'ab', true],
    ['command', 'a', 'APPEND', 's:x', 'm:2']
  ])
})

test('UTF8 (~{n} … ) is a message, a literal in another list is not', () => {
  assert.deepEqual(events('a APPEND x utf8 (~{2+}\r\nab)\r\n'), [
    ['message', { size: 2, isNonSync: true, isLiteral8: true }, 'x', 'utf8', ['m:2']],
    ['data', 'ab', true],
    ['command', 'a', 'APPEND', 'x', 'utf8', ['m:2']]
  ])
  assert.deepEqual(events('a APPEND x ({2+}\r\nab)\r\n'), [
    ['command', 'a', 'APPEND', 'x', ['s:ab']]
  ])
  assert.deepEqual(events('a APPEND x UTF8 (a {2+}\r\nab)\r\n'), [
    ['command', 'a', 'APPEND', 'x', 'UTF8', ['a', 's:ab']]
  ])
  assert.deepEqual(events('a APPEND x "UTF8" ({2+}\r\nab)\r\n'), [
    ['command', 'a', 'APPEND', 'x', 's:UTF8', ['s:ab']]
  ])
  assert.deepEqual(events('a APPEND x UTF8 (({2+}\r\nab))\r\n'), [
    ['command', 'a', 'APPEND', 'x', 'UTF8', [['s:ab']]]
  ])
})

test('other commands have no message literals', () => {
  assert.deepEqual(events('a SEARCH x {2+}\r\nab\r\n'), [['command', 'a', 'SEARCH', 'x', 's:ab']])
})

test('an empty message is told with one empty piece', () => {
  assert.deepEqual(events('a APPEND x {0}\r\n\r\n'), [
    ['message', sync(0), 'x'],
    ['data', '', true],
    ['command', 'a', 'APPEND', 'x', 'm:0']
  ])
})

test('a message may have the limit and not one byte more', () => {
  const limits = { maxMessageBytes: 5, maxLiteralBytes: 1, maxSkipBytes: 6 }
  const wire = (/** @type {string} */ header, /** @type {string} */ body) =>
    sketchEvents(receive(`a APPEND x ${header}\r\n${body}z NOOP\r\n`, limits))
  assert.equal(wire('{5}', '12345\r\n')[0][0], 'message')
  assert.deepEqual(wire('{6}', ''), [['error', 'a', 'TOO_BIG', false], NOOP])
  assert.deepEqual(wire('{6+}', '123456\r\n'), [['error', 'a', 'TOO_BIG', false], NOOP])
  assert.deepEqual(wire('{7+}', '1234567\r\n'), [['error', 'a', 'TOO_BIG', true]])
})

test('a refused synchronising message is over at once', () => {
  assert.deepEqual(events('a APPEND x {5}\r\nz NOOP\r\n', { onMessage: 'reject' }), [
    ['message', sync(5), 'x'],
    NOOP
  ])
})

test('a refused non-synchronising message is dropped with the rest of its command', () => {
  const wire = 'a APPEND x {9+}\r\nb NOOP\r\n\r (\\Seen) {3+}\r\nabc\r\nz NOOP\r\n'
  assert.deepEqual(events(wire, { onMessage: 'reject' }), [['message', nonSync(9), 'x'], NOOP])
})

test('a message that is refused in the middle is dropped to its end', () => {
  const receiver = new Receiver(TEST_LIMITS)
  receiver.push(Buffer.from('a APPEND x {8}\r\nb N'))
  assert.equal(receiver.read()?.kind, 'message')
  receiver.acceptMessage()
  assert.equal(receiver.read()?.kind, 'messageData')
  receiver.rejectMessage()
  receiver.rejectMessage()
  receiver.push(Buffer.from('OOP\r\n {3}\r\nz NOOP\r\n'))
  assert.deepEqual(sketchEvents(readEvents(receiver)), [NOOP])
})

test('the rest of a command after a message can be refused', () => {
  const receiver = new Receiver(TEST_LIMITS)
  receiver.push(Buffer.from('a APPEND x {2}\r\nab'))
  assert.equal(receiver.read()?.kind, 'message')
  receiver.acceptMessage()
  assert.equal(receiver.read()?.kind, 'messageData')
  receiver.rejectMessage()
  receiver.push(Buffer.from(' {3+}\r\nb N\r\nz NOOP\r\n'))
  assert.deepEqual(sketchEvents(readEvents(receiver)), [NOOP])
})

test('a buffered literal in progress can be refused', () => {
  const receiver = new Receiver(TEST_LIMITS)
  receiver.push(Buffer.from('a APPEND x ({5+}\r\nb N'))
  assert.equal(receiver.read(), null)
  receiver.rejectMessage()
  receiver.push(Buffer.from('OO)\r\nz NOOP\r\n'))
  assert.deepEqual(sketchEvents(readEvents(receiver)), [NOOP])
})

test('nothing is read before a message literal is answered', () => {
  const receiver = new Receiver(TEST_LIMITS)
  receiver.push(Buffer.from('a APPEND x {5}\r\n'))
  assert.equal(receiver.read()?.kind, 'message')
  assert.equal(receiver.read(), null)
  receiver.push(Buffer.from('hello'))
  assert.equal(receiver.read(), null)
  receiver.acceptMessage()
  assert.equal(receiver.read()?.kind, 'messageData')
})

test('an answer without a question is a programming error', () => {
  const receiver = new Receiver(TEST_LIMITS)
  assert.throws(() => receiver.acceptMessage(), /No literal/)
  assert.throws(() => receiver.rejectMessage(), /No command/)
  receiver.push(Buffer.from('a APPEND x {5}\r\n12'))
  receiver.read()
  receiver.acceptMessage()
  assert.throws(() => receiver.acceptMessage(), /No message literal/)
})

test('an empty accepted message is read without any more bytes', () => {
  const receiver = new Receiver(TEST_LIMITS)
  receiver.push(Buffer.from('a APPEND x {0}\r\n'))
  receiver.read()
  receiver.acceptMessage()
  assert.equal(receiver.read()?.kind, 'messageData')
})

test("a message's bytes are views of the chunks, and never held", () => {
  const receiver = new Receiver({ ...TEST_LIMITS, maxMessageBytes: 1e9 })
  receiver.push(Buffer.from('a APPEND x {100000000}\r\n'))
  assert.equal(receiver.read()?.kind, 'message')
  receiver.acceptMessage()
  const chunk = Buffer.alloc(1_000_000, 7)
  for (let round = 0; round < 100; round += 1) {
    receiver.push(chunk)
    const event = receiver.read()
    assert.ok(event?.kind === 'messageData')
    assert.equal(event.chunk.buffer, chunk.buffer)
    assert.equal(event.chunk.length, chunk.length)
    assert.equal(event.isLast, round === 99)
    assert.equal(receiver.bufferedBytes, 'a APPEND x {100000000}'.length)
  }
  receiver.push(Buffer.from('\r\n'))
  assert.equal(receiver.read()?.kind, 'command')
})

test('bad syntax after a message is one error, with the tag', () => {
  assert.deepEqual(events('a APPEND x {2}\r\nab )\r\nz NOOP\r\n').slice(2), [
    ['error', 'a', 'BAD_SYNTAX', false],
    NOOP
  ])
})
