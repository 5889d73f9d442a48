import { test } from 'node:test'
import assert from 'node:assert/strict'
import { Receiver } from '../../../../src/imap/protocol/receiver.js'
import { readEvents, receive, sketchEvents, TEST_LIMITS } from '../../../helpers/imap-wire.js'

/**
 * @param {string} wire
 * @param {Partial<import('../../../helpers/imap-wire.js').ReceiverLimits>} [limits]
 */
function events(wire, limits) {
  const whole = sketchEvents(receive(wire, limits))
  const receiver = new Receiver({ ...TEST_LIMITS, ...limits })
  const pieces = Array.from(Buffer.from(wire), (byte) => {
    receiver.push(Buffer.of(byte))
    return readEvents(receiver)
  })
  assert.deepEqual(sketchEvents(pieces.flat()), whole, 'byte by byte')
  return whole
}

const NOOP = ['command', 'z', 'NOOP']

test('each wire gives its events, and the NOOP after it is understood', () => {
  /** @type {[string, any[]][]} */
  const table = [
    ['a noop\r\n', [['command', 'a', 'NOOP']]],
    ['a1.b:c=d NOOP\r\n', [['command', 'a1.b:c=d', 'NOOP']]],
    ['a NOOP\n', [['command', 'a', 'NOOP']]],
    ['a NOOP  \r\n', [['command', 'a', 'NOOP']]],
    ['a uid fetch 1 (UID)\r\n', [['command', 'a', 'UID FETCH', '1', ['UID']]]],
    ['a UID\r\n', [['command', 'a', 'UID']]],
    ['a UID \r\n', [['command', 'a', 'UID ']]],
    ['a LOGIN "x \\"y\\\\" p\r\n', [['command', 'a', 'LOGIN', 's:x "y\\', 'p']]],
    ['a X ((a) (b (c)))\r\n', [['command', 'a', 'X', [['a'], ['b', ['c']]]]]],
    ['a X ()\r\n', [['command', 'a', 'X', []]]],
    ['a X {3}\r\n"\r\n y\r\n', [['continue'], ['command', 'a', 'X', 's:"\r\n', 'y']]],
    ['a X {0}\r\n\r\n', [['continue'], ['command', 'a', 'X', 's:']]],
    ['a X {3+}\r\na b\r\n', [['command', 'a', 'X', 's:a b']]],
    ['a X ~{2+}\r\nab\r\n', [['command', 'a', 'X', 's:ab']]],
    ['a X ({1+}\r\na {1+}\r\nb)\r\n', [['command', 'a', 'X', ['s:a', 's:b']]]],
    ['a X ~x ~\r\n', [['command', 'a', 'X', '~x', '~']]],
    ['\r\n', [['error', null, 'BAD_SYNTAX', false]]],
    [' a NOOP\r\n', [['error', null, 'BAD_SYNTAX', false]]],
    ['+ NOOP\r\n', [['error', null, 'BAD_SYNTAX', false]]],
    ['a+b NOOP\r\n', [['error', null, 'BAD_SYNTAX', false]]],
    ['a\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a \r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a  NOOP\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a (X)\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X (\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X )\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X (a))\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X "abc\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X "abc\\\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X "a\\b"\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X "a\0b"\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X a\0b\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X a\rb\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X\tb\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X \x7f\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X {}\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X {1\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X {1} b\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X {-1}\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X {1++}\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X {1a}\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X {1:}\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X {1/}\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    // RFC 7888 §5: with LITERAL- as well it is `+` that stands there.
    ['a X {3-}\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X ) {3-}\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X {99999999999}\r\n', [['error', 'a', 'TOO_LONG', false]]],
    ['a X {2}\r\n\0a b\r\n', [['continue'], ['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X ) {3+}\r\nx Y {4+}\r\nb Zz\r\n', [['error', 'a', 'BAD_SYNTAX', false]]],
    ['a X ) {3}\r\n', [['error', 'a', 'BAD_SYNTAX', false]]]
  ]
  for (const [wire, expected] of table)
    assert.deepEqual(events(`${wire}z NOOP\r\n`), [...expected, NOOP], JSON.stringify(wire))
})

test('8-bit bytes are kept in words and in quoted strings', () => {
  const [command] = receive('a X Entwürfe "é"\r\n')
  assert.ok(command?.kind === 'command')
  const [word, quoted] = command.command.tokens
  assert.ok(word?.type === 'atom' && quoted?.type === 'string')
  assert.equal(word.bytes.toString(), 'Entwürfe')
  assert.equal(quoted.bytes.toString(), 'é')
})

test('a tag may have 128 bytes and not one more', () => {
  const tag = 't'.repeat(128)
  assert.deepEqual(events(`${tag} NOOP\r\n`), [['command', tag, 'NOOP']])
  assert.deepEqual(events(`${tag}t NOOP\r\n`), [['error', null, 'BAD_SYNTAX', false]])
})

test('a line may be as long as the limit and not one byte longer, with CRLF or LF', () => {
  const limits = { maxLineBytes: 20 }
  const longest = `a X ${'y'.repeat(16)}`
  for (const end of ['\r\n', '\n']) {
    const expected = [['command', 'a', 'X', 'y'.repeat(16)]]
    assert.deepEqual(events(longest + end, limits), expected)
    assert.deepEqual(events(`${longest}y${end}z NOOP\r\n`, limits), [
      ['error', 'a', 'TOO_LONG', true]
    ])
  }
  assert.deepEqual(events(`${longest}y`, limits), [['error', 'a', 'TOO_LONG', true]])
  assert.deepEqual(events(`${longest}\r\r\n`, limits), [['error', 'a', 'TOO_LONG', true]])
  assert.deepEqual(events(longest, limits), [])
})

test('a long line that comes byte by byte is whole', () => {
  const words = Array.from({ length: 1500 }, (_, index) => `w${index}`)
  assert.deepEqual(events(`a X ${words.join(' ')}\r\n`), [['command', 'a', 'X', ...words]])
})

test('the line limit counts all lines of a command, without its literals', () => {
  const limits = { maxLineBytes: 20 }
  const wire = 'a X {5+}\r\n01234 67890123456'
  assert.deepEqual(events(`${wire}\r\n`, limits), [['command', 'a', 'X', 's:01234', '67890123456']])
  assert.deepEqual(events(`${wire}7\r\n`, limits), [['error', 'a', 'TOO_LONG', true]])
})

test('the line limit starts afresh with each command, after an error too', () => {
  const limits = { maxLineBytes: 10 }
  assert.deepEqual(events('a X {1+}\r\n1\r\nb X 456789\r\nc )\r\nd X 456789\r\n', limits), [
    ['command', 'a', 'X', 's:1'],
    ['command', 'b', 'X', '456789'],
    ['error', 'c', 'BAD_SYNTAX', false],
    ['command', 'd', 'X', '456789']
  ])
})

test('a line over the limit has the tag in its error only if the tag is whole', () => {
  assert.deepEqual(events('x'.repeat(50), { maxLineBytes: 20 }), [
    ['error', null, 'TOO_LONG', true]
  ])
  assert.deepEqual(events('('.repeat(50), { maxLineBytes: 20 }), [
    ['error', null, 'TOO_LONG', true]
  ])
})

test('a dead receiver takes nothing more and holds nothing', () => {
  const receiver = new Receiver({ ...TEST_LIMITS, maxLineBytes: 20 })
  receiver.push(Buffer.alloc(1000, 120))
  assert.equal(readEvents(receiver).length, 1)
  receiver.push(Buffer.from('\r\na NOOP\r\n'))
  assert.equal(receiver.read(), null)
  assert.equal(receiver.bufferedBytes, 0)
  assert.equal(receiver.takeRest().length, 0)
})

test('a buffered literal may have the limit and not one byte more', () => {
  const limits = { maxLiteralBytes: 5, maxSkipBytes: 6 }
  assert.deepEqual(events('a X {5}\r\n12345\r\n', limits), [
    ['continue'],
    ['command', 'a', 'X', 's:12345']
  ])
  assert.deepEqual(events('a X {6}\r\nz NOOP\r\n', limits), [
    ['error', 'a', 'TOO_LONG', false],
    NOOP
  ])
  assert.deepEqual(events('a X {6+}\r\n123456 y\r\nz NOOP\r\n', limits), [
    ['error', 'a', 'TOO_LONG', false],
    NOOP
  ])
  assert.deepEqual(events('a X {7+}\r\n1234567\r\nz NOOP\r\n', limits), [
    ['error', 'a', 'TOO_LONG', true]
  ])
})

test('lines and buffered literals together may have the command limit and not one byte more', () => {
  const limits = { maxCommandBytes: 20 }
  assert.deepEqual(events('a X {2+}\r\n12 {3+}\r\n123\r\n', limits), [
    ['command', 'a', 'X', 's:12', 's:123']
  ])
  const room = 20 - 'a X {2+}'.length - 2 - ' {6+}'.length
  assert.equal(room, 5)
  assert.deepEqual(events('a X {2+}\r\n12 {5+}\r\n12345\r\nz NOOP\r\n', limits), [
    ['command', 'a', 'X', 's:12', 's:12345'],
    NOOP
  ])
  assert.deepEqual(events('a X {2+}\r\n12 {6+}\r\n123456\r\nz NOOP\r\n', limits), [
    ['error', 'a', 'TOO_LONG', false],
    NOOP
  ])
})

test('parentheses may be nested to the limit and not one level more', () => {
  const nested = (/** @type {number} */ depth) => `a X ${'('.repeat(depth)}${')'.repeat(depth)}\r\n`
  assert.equal(receive(nested(50))[0]?.kind, 'command')
  assert.deepEqual(events(`${nested(51)}z NOOP\r\n`), [['error', 'a', 'TOO_DEEP', false], NOOP])
  assert.deepEqual(events(`${nested(4000)}z NOOP\r\n`), [['error', 'a', 'TOO_DEEP', false], NOOP])
})

test('a command may have the limit of tokens and not one more, over all its lines', () => {
  const limits = { maxTokens: 5 }
  for (const wire of ['a X (1 2 3)\r\n', 'a X 1 "2" {1+}\r\n3 4 {1+}\r\n5\r\n']) {
    assert.equal(receive(wire, limits).at(-1)?.kind, 'command', wire)
  }
  for (const wire of [
    'a X 1 2 3 4 5 6\r\n',
    'a X ()()()\r\n',
    'a X 1 "2" {1+}\r\n3 4 {1+}\r\n5 {1}\r\n',
    'a X 1 "2" {1+}\r\n3 4 {1+}\r\n5 {9+}\r\nb NOOP 6\r\n'
  ]) {
    const events = sketchEvents(receive(`${wire}c NOOP\r\n`, limits))
    const expected = [
      ['error', 'a', 'TOO_LONG', false],
      ['command', 'c', 'NOOP']
    ]
    assert.deepEqual(events, expected, wire)
  }
})

test('a refused literal is skipped with the literals after it, and none of it is run', () => {
  const wire = 'a X ) {9+}\r\nb DELETE  {3}\r\nc NOOP\r\n'
  assert.deepEqual(events(wire), [
    ['error', 'a', 'BAD_SYNTAX', false],
    ['command', 'c', 'NOOP']
  ])
})

test('a literal too large to be skipped inside a refused command ends the connection', () => {
  const wire = 'a X ) {1+}\r\nx {9999999+}\r\nc NOOP\r\n'
  assert.deepEqual(events(wire), [
    ['error', 'a', 'BAD_SYNTAX', false],
    ['error', null, 'TOO_BIG', true]
  ])
})

test('what is skipped ends exactly where the literal and its line end', () => {
  const error = ['error', 'a', 'BAD_SYNTAX', false]
  assert.deepEqual(events('a X ) {2+}\r\nx\n\r\nz NOOP\r\n'), [error, NOOP])
  assert.deepEqual(events('a X {1+}\r\n\0\nz NOOP\r\n'), [error, NOOP])
})

test('a line that has used up the limit may be followed by an empty one after a literal', () => {
  const limits = { maxLineBytes: 'a X {1+}'.length }
  assert.deepEqual(events('a X {1+}\r\nx\r\n', limits), [['command', 'a', 'X', 's:x']])
  assert.deepEqual(events('a X {1+}\r\nx \r\n', limits), [['error', 'a', 'TOO_LONG', true]])
})

test('a literal of exactly the largest size is skipped inside a refused command', () => {
  const wire = 'a X ) {1+}\r\nx {5+}\r\n12345\r\nz NOOP\r\n'
  assert.deepEqual(events(wire, { maxSkipBytes: 5 }), [['error', 'a', 'BAD_SYNTAX', false], NOOP])
  assert.deepEqual(events(wire, { maxSkipBytes: 4 }), [
    ['error', 'a', 'BAD_SYNTAX', false],
    ['error', null, 'TOO_BIG', true]
  ])
})

test('an endless line inside a refused command ends the connection', () => {
  const wire = `a X ) {1+}\r\nx ${'y'.repeat(9000)}`
  assert.deepEqual(events(wire), [
    ['error', 'a', 'BAD_SYNTAX', false],
    ['error', null, 'TOO_LONG', true]
  ])
})

test('the default of what is skipped is four times the larger literal limit', () => {
  const limits = { maxLiteralBytes: 10, maxMessageBytes: 20 }
  const wire = (/** @type {number} */ size) => `a X {${size}+}\r\n${'x'.repeat(size)}\r\nz NOOP\r\n`
  assert.deepEqual(events(wire(80), limits), [['error', 'a', 'TOO_LONG', false], NOOP])
  assert.deepEqual(events(wire(81), limits), [['error', 'a', 'TOO_LONG', true]])
})

test('pipelined commands come one at a time, and new limits hold for the next', () => {
  const receiver = new Receiver({ ...TEST_LIMITS, maxLiteralBytes: 2, maxNesting: 1 })
  receiver.push(Buffer.from('a LOGIN x y\r\nb X {5+}\r\nhello ((a))\r\nc NOOP\r\n'))
  assert.equal(receiver.read()?.kind, 'command')
  receiver.setLimits({ maxLiteralBytes: 5, maxNesting: 2 })
  assert.deepEqual(sketchEvents(readEvents(receiver)), [
    ['command', 'b', 'X', 's:hello', [['a']]],
    ['command', 'c', 'NOOP']
  ])
  assert.equal(receiver.bufferedBytes, 0)
})

test('new limits leave the others as they were', () => {
  const receiver = new Receiver({ ...TEST_LIMITS, maxLiteralBytes: 5, maxSkipBytes: 9 })
  receiver.setLimits({ maxLiteralBytes: 6 })
  receiver.push(Buffer.from('a X {7+}\r\n1234567\r\nb X {10+}\r\n'))
  assert.deepEqual(sketchEvents(readEvents(receiver)), [
    ['error', 'a', 'TOO_LONG', false],
    ['error', 'b', 'TOO_LONG', true]
  ])
})

test('limits that shrink below a line in progress end it', () => {
  const receiver = new Receiver(TEST_LIMITS)
  receiver.push(Buffer.from('a X 0123456789'))
  assert.equal(receiver.read(), null)
  receiver.setLimits({ maxLineBytes: 5 })
  receiver.push(Buffer.from('1'))
  assert.deepEqual(sketchEvents(readEvents(receiver)), [['error', 'a', 'TOO_LONG', true]])
})

test('the rest after STARTTLS can be taken, and is then not read', () => {
  const receiver = new Receiver(TEST_LIMITS)
  receiver.push(Buffer.from('a STARTTLS\r\nb LOG'))
  assert.equal(receiver.read()?.kind, 'command')
  receiver.push(Buffer.from('IN x y\r\nc'))
  assert.equal(receiver.takeRest().toString(), 'b LOGIN x y\r\nc')
  assert.equal(receiver.read(), null)
  assert.equal(receiver.takeRest().length, 0)
})

test('the rest holds a line in progress too', () => {
  const receiver = new Receiver(TEST_LIMITS)
  receiver.push(Buffer.from('b LOG'))
  assert.equal(receiver.read(), null)
  assert.equal(receiver.bufferedBytes, 5)
  receiver.push(Buffer.from('IN'))
  assert.equal(receiver.bufferedBytes, 7)
  assert.equal(receiver.takeRest().toString(), 'b LOGIN')
  assert.equal(receiver.bufferedBytes, 0)
})

test('inside a command neither the rest nor a line can be had', () => {
  const receiver = new Receiver(TEST_LIMITS)
  receiver.push(Buffer.from('a X {3}\r\n'))
  assert.equal(receiver.read()?.kind, 'continue')
  assert.equal(receiver.isInCommand, true)
  assert.throws(() => receiver.takeRest(), /inside a command/)
  assert.throws(() => receiver.expectLine(), /inside a command/)
})

test('an expected line comes raw, once', () => {
  const receiver = new Receiver(TEST_LIMITS)
  receiver.expectLine()
  receiver.push(Buffer.from('AGEAYg== "(\0\r\nb NOOP\r\n'))
  assert.deepEqual(sketchEvents(readEvents(receiver)), [
    ['line', 'AGEAYg== "(\0'],
    ['command', 'b', 'NOOP']
  ])
})

test('an expected line that is too long has no tag', () => {
  const receiver = new Receiver({ ...TEST_LIMITS, maxLineBytes: 4 })
  receiver.expectLine()
  receiver.push(Buffer.from('a bcd\r\n'))
  assert.deepEqual(sketchEvents(readEvents(receiver)), [['error', null, 'TOO_LONG', true]])
})

test('held bytes count the unread, the line in progress, and the command so far', () => {
  const receiver = new Receiver(TEST_LIMITS)
  receiver.push(Buffer.from('a X {10}\r\n'))
  assert.equal(receiver.bufferedBytes, 10)
  assert.equal(receiver.read()?.kind, 'continue')
  assert.equal(receiver.bufferedBytes, 'a X {10}'.length + 10)
  receiver.push(Buffer.from('0123456789 x'))
  assert.equal(receiver.read(), null)
  assert.equal(receiver.bufferedBytes, 'a X {10}'.length + 10 + 2)
  receiver.push(Buffer.from('\r\n'))
  assert.equal(receiver.read()?.kind, 'command')
  assert.equal(receiver.bufferedBytes, 0)
})

test('an empty chunk is nothing', () => {
  const receiver = new Receiver(TEST_LIMITS)
  receiver.push(Buffer.alloc(0))
  assert.equal(receiver.read(), null)
})
