import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { limitsAfterLogin } from '../../../../src/imap/protocol/limits.js'
import { parseCommand } from '../../../../src/imap/protocol/parse/index.js'
import { Receiver } from '../../../../src/imap/protocol/receiver.js'
import { SyntaxFailure } from '../../../../src/imap/protocol/syntax-failure.js'
import { readEvents, sketchEvents, TEST_LIMITS } from '../../../helpers/imap-wire.js'

const SMALL_LIMITS = {
  maxLineBytes: 60,
  maxLiteralBytes: 12,
  maxCommandBytes: 70,
  maxNesting: 3,
  maxMessageBytes: 20
}

/** What clients send, and what they should not: seeds for mutation. */
const SEEDS = [
  'a1 LOGIN "al\\"ice" {6+}\r\nsecret\r\n',
  'a2 LOGIN {5}\r\nalice {6}\r\nsecret\r\n',
  'a3 AUTHENTICATE PLAIN AGEAYg==\r\n',
  'a4 ID ("name" "x" "version" NIL)\r\n',
  'a5 ENABLE UTF8=ACCEPT CONDSTORE\r\n',
  'a6 SELECT "Entw&APw-rfe" (QRESYNC (67890007 20050715194045000 41,43:211 (1 2)))\r\n',
  'a7 LIST (SUBSCRIBED) "" ("*" "%") RETURN (CHILDREN STATUS (MESSAGES))\r\n',
  'a8 STATUS INBOX (UIDNEXT MESSAGES)\r\n',
  'a9 APPEND "Sent" (\\Seen) "17-Jul-1996 02:44:25 -0700" {10}\r\n0123456789\r\n',
  'b1 APPEND x {5+}\r\nhello (\\Draft) {3+}\r\nabc\r\n',
  'b2 UID FETCH 1:*,5 (UID BODY.PEEK[HEADER.FIELDS ("From" To)]<0.100>) (CHANGEDSINCE 5)\r\n',
  'b3 UID STORE 1:4 (UNCHANGEDSINCE 7) +FLAGS.SILENT (\\Seen $Junk)\r\n',
  'b4 SEARCH CHARSET UTF-8 OR (FROM {3+}\r\nabc SINCE 1-Feb-1994) NOT KEYWORD x 1:*\r\n',
  'b5 UID MOVE 1:3 "Trash"\r\n',
  'b6 RENAME a b\r\nb7 NOOP\r\n',
  'b8 CREATE Foo (USE (\\Drafts))\r\n',
  'b9 X (((( {2+}\r\nab\r\n'
]

const pieces = fc.oneof(
  fc.constantFrom(...SEEDS),
  fc.constantFrom(
    '{',
    '}',
    '{5}\r\n',
    '{3+}\r\n',
    '~{2}\r\n',
    '(',
    ')',
    '"',
    '\\',
    ' ',
    '\r\n',
    '\n',
    '\0'
  ),
  fc.string({ maxLength: 8 }),
  fc.constantFrom('{99999999999}\r\n', '{99999999999+}\r\n', 'x'.repeat(59), '('.repeat(5))
)

/** Seeds with bytes put in, left out and changed. */
const wires = fc.oneof(
  fc.array(pieces, { maxLength: 8 }).map((texts) => Buffer.from(texts.join(''))),
  fc
    .tuple(
      fc.array(fc.constantFrom(...SEEDS), { minLength: 1, maxLength: 4 }),
      fc.array(fc.tuple(fc.nat(), fc.nat(255), fc.nat(2)), { maxLength: 5 })
    )
    .map(([seeds, edits]) => mutate(seeds.join(''), edits))
)

/**
 * @param {string} text
 * @param {[number, number, number][]} edits - where, which byte, how
 */
function mutate(text, edits) {
  const bytes = [...Buffer.from(text, 'latin1')]
  for (const [where, byte, how] of edits) {
    const at = where % (bytes.length + 1)
    if (how === 0) bytes.splice(at, 1)
    else bytes.splice(at, how - 1, byte)
  }
  return Buffer.from(bytes)
}

/**
 * @param {Buffer} wire
 * @param {number[]} cuts
 * @returns {Buffer[]}
 */
function cutAt(wire, cuts) {
  const places = [...new Set(cuts.map((cut) => cut % (wire.length + 1)))].sort((a, b) => a - b)
  return [0, ...places].map((start, index) => wire.subarray(start, places[index] ?? wire.length))
}

/**
 * @param {Buffer[]} chunks
 * @param {import('../../../../src/imap/protocol/receiver-limits.js').ReceiverLimits} limits
 * @param {boolean} isEager - whether events are read after each chunk, or all at the end
 * @param {'accept' | 'reject'} onMessage
 */
function eventsOf(chunks, limits, isEager, onMessage) {
  const receiver = new Receiver(limits)
  const events = []
  for (const chunk of chunks) {
    receiver.push(Buffer.from(chunk))
    if (isEager) events.push(...readEvents(receiver, { onMessage }))
  }
  events.push(...readEvents(receiver, { onMessage }))
  return sketchEvents(events)
}

test('the same bytes give the same events in any chunking, and byte by byte', () => {
  const property = fc.property(
    wires,
    fc.array(fc.nat(), { maxLength: 6 }),
    fc.constantFrom(SMALL_LIMITS, TEST_LIMITS),
    fc.constantFrom(/** @type {const} */ ('accept'), /** @type {const} */ ('reject')),
    (wire, cuts, limits, onMessage) => {
      const expected = eventsOf([wire], limits, true, onMessage)
      assert.deepEqual(eventsOf(cutAt(wire, cuts), limits, true, onMessage), expected)
      assert.deepEqual(eventsOf(cutAt(wire, cuts), limits, false, onMessage), expected)
      const bytes = Array.from(wire, (byte) => Buffer.of(byte))
      assert.deepEqual(eventsOf(bytes, limits, true, onMessage), expected)
    }
  )
  fc.assert(property, { numRuns: 2000 })
})

test('no bytes make it throw, hold more than its bound, or forget the next command', () => {
  const bound = SMALL_LIMITS.maxLineBytes + SMALL_LIMITS.maxCommandBytes + 1
  const property = fc.property(wires, (wire) => {
    const receiver = new Receiver(SMALL_LIMITS)
    let isDead = false
    for (const byte of wire) {
      receiver.push(Buffer.of(byte))
      for (const event of readEvents(receiver)) {
        if (event.kind === 'error') {
          assert.equal(event.failure instanceof SyntaxFailure, true)
          isDead ||= event.isFatal
        }
        if (event.kind === 'command') assertParses(event.command)
      }
      assert.ok(receiver.bufferedBytes <= bound, String(receiver.bufferedBytes))
    }
    if (isDead) assert.equal(receiver.read(), null)
    else assertRecovers(receiver)
  })
  fc.assert(property, { numRuns: 3000 })
})

test('mutated command lines parse or fail with a SyntaxFailure, and nothing else', () => {
  const limits = limitsAfterLogin(1000)
  const property = fc.property(wires, fc.boolean(), (wire, isUtf8) => {
    const receiver = new Receiver(limits)
    receiver.push(Buffer.from(wire))
    for (const event of readEvents(receiver))
      if (event.kind === 'command') assertParses(event.command, isUtf8)
  })
  fc.assert(property, { numRuns: 5000 })
})

/**
 * @param {import('../../../../src/imap/protocol/token.js').RawCommand} command
 * @param {boolean} [isUtf8]
 */
function assertParses(command, isUtf8 = false) {
  try {
    const { args } = parseCommand(command, { isUtf8 })
    assert.equal(typeof args, 'object')
  } catch (error) {
    if (!(error instanceof SyntaxFailure)) throw error
    assert.match(error.text, /^[\x20-\x7e]+$/)
  }
}

/**
 * Whatever came before, a client that ends its line (and any literal) is understood again.
 * @param {Receiver} receiver
 */
function assertRecovers(receiver) {
  for (let round = 0; round < 200; round += 1) {
    receiver.push(Buffer.from('\r\nzz9 NOOP\r\n'))
    const events = readEvents(receiver)
    if (events.some((event) => event.kind === 'command' && event.command.tag === 'zz9')) return
    if (events.some((event) => event.kind === 'error' && event.isFatal)) return
  }
  assert.fail('the receiver never came back')
}
