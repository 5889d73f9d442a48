import { test } from 'node:test'
import assert from 'node:assert/strict'
import { parseAppendStart } from '../../../../../src/imap/protocol/parse/index.js'
import { parseWire, receive, refuses } from '../../../../helpers/imap-wire.js'

/** @param {any} args */
const withText = (args) => ({ ...args, set: args.set.toString() })

test('COPY and MOVE take a set and a mailbox', () => {
  assert.deepEqual(withText(parseWire('COPY 1:3,* foo')), {
    isUid: false,
    set: '1:3,*',
    mailbox: 'foo'
  })
  assert.deepEqual(withText(parseWire('uid move 4294967295 "a b"')), {
    isUid: true,
    set: '4294967295',
    mailbox: 'a b'
  })
  assert.deepEqual(withText(parseWire('UID COPY $ foo')), { isUid: true, set: '$', mailbox: 'foo' })
  for (const wire of [
    'COPY',
    'COPY 1',
    'COPY 1 a b',
    'COPY 0 a',
    'COPY x a',
    'COPY "1" a',
    'COPY (1) a',
    'MOVE 4294967296 a',
    'COPY "" a',
    'COPY  a'
  ])
    refuses(wire)
})

test('UID commands take an empty set, as "" or as nothing between two spaces', () => {
  for (const wire of [
    'UID COPY "" foo',
    'UID COPY  foo',
    'UID MOVE  2024',
    'UID MOVE {0+}\r\n foo',
    'UID STORE "" +FLAGS (\\Seen)',
    'UID STORE  +FLAGS (\\Seen)',
    'UID FETCH "" (FLAGS)',
    'UID FETCH  (FLAGS)',
    'UID FETCH  FLAGS',
    'UID EXPUNGE ""',
    'UID SEARCH UID ""'
  ])
    assert.deepEqual((parseWire(wire).set ?? parseWire(wire).key.set).ranges, [], wire)
  assert.equal(parseWire('UID COPY  1:3 foo').set.toString(), '1:3')
  assert.equal(parseWire('UID COPY  * foo').set.toString(), '*')
  for (const wire of [
    'UID EXPUNGE  10',
    'UID COPY  10 foo',
    'UID STORE  10 FLAGS x',
    'UID FETCH  10 FLAGS'
  ])
    assert.equal(parseWire(wire).set.toString(), '10', wire)
  for (const wire of [
    'UID COPY foo',
    'UID COPY a b',
    'UID FETCH (FLAGS)',
    'UID STORE +FLAGS (\\Seen)',
    'UID COPY  0 a'
  ])
    refuses(wire)
  assert.equal(parseWire('UID SEARCH UID  5').key.set.toString(), '5')
  refuses('UID EXPUNGE ')
  refuses('UID EXPUNGE "1"')
  refuses('UID EXPUNGE 1 2')
  assert.equal(parseWire('UID EXPUNGE 1:*').set.toString(), '1:*')
})

test('STORE takes actions, silent or not, and flags with or without parentheses', () => {
  for (const [wire, expected] of /** @type {[string, object][]} */ ([
    ['STORE 1 FLAGS (\\Seen)', {}],
    ['STORE 1 flags \\seen', {}],
    ['STORE 1 FLAGS.SILENT ()', { isSilent: true, flags: [] }],
    ['STORE 1 +FLAGS \\Seen $Junk \\seen', { action: 'add', flags: ['\\Seen', '$Junk'] }],
    ['STORE 1 -FLAGS.SILENT (\\Seen)', { action: 'remove', isSilent: true }],
    ['STORE 1 +FLAGS.SILENT (\\Seen)', { action: 'add', isSilent: true }],
    ['STORE 1 -flags (\\Recent \\Seen)', { action: 'remove' }],
    ['STORE 1 (UNCHANGEDSINCE 320162338) FLAGS (\\Seen)', { unchangedSince: 320162338 }],
    ['UID STORE 1 (unchangedsince 0) FLAGS (\\Seen)', { isUid: true, unchangedSince: 0 }],
    [
      'STORE 1 (UNCHANGEDSINCE 9223372036854775807) FLAGS (\\Seen)',
      { unchangedSince: Number.MAX_SAFE_INTEGER }
    ]
  ]))
    assert.deepEqual(
      withText(parseWire(wire)),
      {
        isUid: false,
        set: '1',
        action: 'set',
        isSilent: false,
        flags: ['\\Seen'],
        unchangedSince: null,
        ...expected
      },
      wire
    )
})

test('STORE refuses other actions, modifiers and flags', () => {
  for (const wire of [
    'STORE 1',
    'STORE 1 FLAGS',
    'STORE 1 FOO (\\Seen)',
    'STORE 1 ++FLAGS (\\Seen)',
    'STORE 1 FLAGS.SILENTLY ()',
    'STORE 1 FLAGS (\\Seen) x',
    'STORE 1 FLAGS ((\\Seen))',
    'STORE 1 FLAGS "\\\\Seen"',
    'STORE 1 FLAGS (\\)',
    'STORE 1 FLAGS (\\*)',
    'STORE 1 FLAGS ("x")',
    'STORE 1 FLAGS x (y)',
    'STORE 1 () FLAGS x',
    'STORE 1 (UNCHANGEDSINCE) FLAGS x',
    'STORE 1 (UNCHANGEDSINCE 1 2) FLAGS x',
    'STORE 1 (FOO 1) FLAGS x',
    'STORE 1 (UNCHANGEDSINCE 9223372036854775808) FLAGS x',
    'STORE 1 FLAGS (x) (UNCHANGEDSINCE 1)'
  ])
    refuses(wire)
  refuses(`STORE 1 FLAGS ${'k'.repeat(129)}`, 'TOO_LONG')
})

test('APPEND takes flags and a date before each message', () => {
  const date = { epochSeconds: Date.parse('1996-07-17T09:44:25Z') / 1000, zoneMinutes: -420 }
  for (const [wire, messages] of /** @type {[string, object[]][]} */ ([
    ['APPEND x {3}\r\nabc', [{ flags: [], internalDate: null, size: 3 }]],
    ['APPEND x () {3}\r\nabc', [{ flags: [], internalDate: null, size: 3 }]],
    [
      'APPEND x (\\seen $F) "17-Jul-1996 02:44:25 -0700" {3}\r\nabc',
      [{ flags: ['\\Seen', '$F'], internalDate: date, size: 3 }]
    ],
    [
      'APPEND x "17-Jul-1996 02:44:25 -0700" ~{3+}\r\nabc',
      [{ flags: [], internalDate: date, size: 3 }]
    ],
    [
      'APPEND x (\\Draft) UTF8 (~{3}\r\nabc)',
      [{ flags: ['\\Draft'], internalDate: null, size: 3 }]
    ],
    [
      'APPEND x {3+}\r\nabc (\\Seen) {0+}\r\n',
      [
        { flags: [], internalDate: null, size: 3 },
        { flags: ['\\Seen'], internalDate: null, size: 0 }
      ]
    ]
  ]))
    assert.deepEqual(parseWire(wire), { mailbox: 'x', messages }, wire)
})

test('APPEND refuses other forms', () => {
  for (const wire of [
    'APPEND',
    'APPEND x',
    'APPEND x "abc"',
    'APPEND x abc',
    'APPEND x (\\*) {1}\r\na',
    'APPEND x \\Seen {1}\r\na',
    'APPEND x (\\Seen) (\\Seen) {1}\r\na',
    'APPEND x "bad date" {1}\r\na',
    'APPEND x {1}\r\na x',
    'APPEND x {1}\r\nax',
    'APPEND x {1}\r\na (\\Seen)',
    'APPEND x UTF8 {1}\r\na',
    'APPEND x UTF8 ({1}\r\na b)',
    'APPEND x UTF8 ()',
    'APPEND x UTF8 (a)',
    'APPEND x UTF9 ({1}\r\na)',
    'APPEND x{1}\r\na'
  ])
    refuses(wire)
})

/**
 * @param {string} wire
 * @returns {any[]} the starts of all messages
 */
function starts(wire) {
  /** @type {any[]} */
  const found = []
  for (const event of receive(`a ${wire}\r\n`))
    if (event.kind === 'message')
      found.push(parseAppendStart({ ...event.command, tokens: before(event.command.tokens) }))
  return found
}

/**
 * Undoes what the rest of the command has added to an open list meanwhile.
 * @param {import('../../../../../src/imap/protocol/token.js').Token[]} tokens
 */
function before(tokens) {
  const last = tokens.at(-1)
  if (last?.type !== 'list' || last.items[0]?.type !== 'streamed') return tokens
  return [...tokens.slice(0, -1), { ...last, items: [] }]
}

test('the start of each message is known before its bytes', () => {
  const wire =
    'APPEND "x y" (\\Seen) {1}\r\na "17-Jul-1996 02:44:25 -0700" {1+}\r\nb UTF8 (~{1}\r\nc)'
  const [first, second, third] = starts(wire)
  assert.deepEqual(first, { mailbox: 'x y', flags: ['\\Seen'], internalDate: null })
  assert.equal(second.internalDate.zoneMinutes, -420)
  assert.deepEqual(third, { mailbox: 'x y', flags: [], internalDate: null })
  assert.deepEqual(starts('APPEND x UTF8 ({1}\r\na) (\\Seen) {1}\r\nb')[1].flags, ['\\Seen'])
})

test('the mailbox of a start is decoded as the session has it', () => {
  const [event] = receive('a APPEND &APw- {1}\r\n')
  assert.ok(event?.kind === 'message')
  assert.equal(parseAppendStart(event.command).mailbox, 'ü')
  assert.equal(parseAppendStart(event.command, { isUtf8: true }).mailbox, '&APw-')
})

test('a start that is bad syntax is refused before the message', () => {
  for (const wire of [
    'APPEND "" {1}\r\na',
    'APPEND x foo {1}\r\na',
    'APPEND x (\\*) {1}\r\na',
    'APPEND x "date" {1}\r\na',
    'APPEND x () () {1}\r\na',
    'APPEND x UTF8 (a) {1}\r\na'
  ])
    assert.throws(() => starts(wire), { name: 'SyntaxFailure' }, wire)
})
