import { test } from 'node:test'
import assert from 'node:assert/strict'
import { parseAppendStart } from '../../../../../src/imap/protocol/parse/index.js'
import { failure, parseWire, receive } from '../../../../helpers/imap-wire.js'

/**
 * @param {string} wire
 * @param {string} [code]
 */
const refuses = (wire, code = 'BAD_SYNTAX') =>
  assert.throws(() => parseWire(wire), failure(code), wire)

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

test('FETCH takes plain items, macros and lists', () => {
  const kinds = (/** @type {string} */ wire) =>
    parseWire(`FETCH 1 ${wire}`).items.map((/** @type {any} */ item) => item.kind)
  for (const [wire, expected] of /** @type {[string, string[]][]} */ ([
    ['flags', ['FLAGS']],
    ['(FLAGS)', ['FLAGS']],
    ['( FLAGS  UID )', ['FLAGS', 'UID']],
    ['(FLAGS UID flags)', ['FLAGS', 'UID']],
    ['ALL', ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE', 'ENVELOPE']],
    ['fast', ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE']],
    ['Full', ['FLAGS', 'INTERNALDATE', 'RFC822.SIZE', 'ENVELOPE', 'BODY']],
    [
      '(BODY BODYSTRUCTURE MODSEQ INTERNALDATE RFC822.SIZE ENVELOPE)',
      ['BODY', 'BODYSTRUCTURE', 'MODSEQ', 'INTERNALDATE', 'RFC822.SIZE', 'ENVELOPE']
    ]
  ]))
    assert.deepEqual(kinds(wire), expected, wire)
})

test('FETCH takes sections, old and new', () => {
  /** @type {[string, object][]} */
  const table = [
    ['BODY[]', { isPeek: false, label: 'BODY[]' }],
    ['body.peek[]', { isPeek: true, label: 'BODY[]' }],
    ['BODY[]<0.100>', { isPeek: false, partial: { offset: 0, length: 100 }, label: 'BODY[]' }],
    [
      'BODY[]<65536.9007199254740993>',
      {
        partial: { offset: 65536, length: Number.MAX_SAFE_INTEGER },
        label: 'BODY[]',
        isPeek: false
      }
    ],
    [
      'BODY.PEEK[1.2.MIME]',
      { isPeek: true, section: { path: [1, 2], text: 'MIME', fields: [] }, label: 'BODY[1.2.MIME]' }
    ],
    [
      'BODY[HEADER.FIELDS (From To)]',
      {
        isPeek: false,
        section: { path: [], text: 'HEADER.FIELDS', fields: ['From', 'To'] },
        label: 'BODY[HEADER.FIELDS (FROM TO)]'
      }
    ],
    [
      'BODY.PEEK[HEADER.FIELDS ("From" To {2+}\r\nCc)]<0.5>',
      {
        isPeek: true,
        section: { path: [], text: 'HEADER.FIELDS', fields: ['From', 'To', 'Cc'] },
        partial: { offset: 0, length: 5 },
        label: 'BODY[HEADER.FIELDS (FROM TO CC)]'
      }
    ],
    [
      'BODY[HEADER.FIELDS(From)]',
      {
        isPeek: false,
        section: { path: [], text: 'HEADER.FIELDS', fields: ['From'] },
        label: 'BODY[HEADER.FIELDS (FROM)]'
      }
    ],
    [
      'BODY[1.HEADER.FIELDS.NOT ("a b\\\\")]',
      {
        isPeek: false,
        section: { path: [1], text: 'HEADER.FIELDS.NOT', fields: ['a b\\'] },
        label: 'BODY[1.HEADER.FIELDS.NOT ("A B\\\\")]'
      }
    ],
    // An astring may be empty.
    [
      'BODY[HEADER.FIELDS ("" To)]',
      {
        isPeek: false,
        section: { path: [], text: 'HEADER.FIELDS', fields: ['', 'To'] },
        label: 'BODY[HEADER.FIELDS ("" TO)]'
      }
    ],
    ['RFC822', { isPeek: false, label: 'RFC822' }],
    ['rfc822.peek', { isPeek: true, label: 'RFC822' }],
    [
      'RFC822.HEADER',
      { isPeek: true, section: { path: [], text: 'HEADER', fields: [] }, label: 'RFC822.HEADER' }
    ],
    [
      'RFC822.TEXT',
      { isPeek: false, section: { path: [], text: 'TEXT', fields: [] }, label: 'RFC822.TEXT' }
    ],
    [
      'RFC822.TEXT.PEEK',
      { isPeek: true, section: { path: [], text: 'TEXT', fields: [] }, label: 'RFC822.TEXT' }
    ]
  ]
  for (const [wire, expected] of table) {
    const item = {
      kind: 'SECTION',
      section: { path: [], text: null, fields: [] },
      partial: null,
      ...expected
    }
    assert.deepEqual(parseWire(`FETCH 1 ${wire}`).items, [item], wire)
    assert.deepEqual(
      parseWire(`FETCH 1 (UID ${wire} FLAGS)`).items,
      [{ kind: 'UID' }, item, { kind: 'FLAGS' }],
      wire
    )
  }
})

test('two sections of one label but another range or PEEK are two items', () => {
  assert.equal(
    parseWire('FETCH 1 (BODY[]<0.1> BODY[]<1.1> BODY.PEEK[]<0.1> BODY[]<0.1>)').items.length,
    3
  )
})

test('FETCH takes its modifiers', () => {
  const modifiers = (/** @type {string} */ wire) => {
    const { changedSince, isVanished } = parseWire(wire)
    return [changedSince, isVanished]
  }
  assert.deepEqual(modifiers('FETCH 1:* FLAGS'), [null, false])
  assert.deepEqual(modifiers('FETCH 1:* (FLAGS) (CHANGEDSINCE 12345)'), [12345, false])
  assert.deepEqual(modifiers('FETCH 1:* FLAGS (changedsince 0)'), [0, false])
  assert.deepEqual(modifiers('UID FETCH 1:* FLAGS (CHANGEDSINCE 9223372036854775807 VANISHED)'), [
    Number.MAX_SAFE_INTEGER,
    true
  ])
  assert.deepEqual(modifiers('UID FETCH 1:* FLAGS (VANISHED CHANGEDSINCE 1)'), [1, true])
})

test('FETCH refuses what is no item, section, range or modifier', () => {
  for (const items of [
    '',
    'FOO',
    '()',
    '(ALL)',
    '(FLAGS ALL)',
    'FLAGS UID',
    '(FLAGS (UID))',
    '"FLAGS"',
    'BODY[',
    'BODY[TEXT',
    'BODY[]x',
    'BODY[]<0>',
    'BODY[]<0.0>',
    'BODY[]<.5>',
    'BODY[]<-1.5>',
    'BODY[]<0.5',
    'BODY[]<0.5>x',
    'BODY[]<0.9223372036854775808>',
    'BODY[] <0.5>',
    'BODY []',
    'BODY.PEEK',
    'BODY[HEADER.FIELDS]',
    'BODY[HEADER.FIELDS ()]',
    'BODY[HEADER.FIELDS (a)',
    'BODY[HEADER.FIELDS (a) ]',
    'BODY[HEADER.FIELDS (a) b]',
    'BODY[HEADER.FIELDS (a)"]"',
    'BODY[HEADER.FIELDS ((a))]',
    'BODY[HEADER.FIELDS ({2+}\r\n\r\n)]',
    'BODY[HEADER (a)]',
    'BODY[HEADER.FIELDS a]',
    'BODYSTRUCTURE[1]',
    'FLAGS()',
    '(FLAGS)(UID)',
    'FLAGS (CHANGEDSINCE)',
    'FLAGS (CHANGEDSINCE x)',
    'FLAGS (CHANGEDSINCE 1 CHANGEDSINCE 2)',
    'FLAGS (CHANGEDSINCE 9223372036854775808)',
    'FLAGS ()',
    'FLAGS (FOO)',
    'FLAGS (CHANGEDSINCE 1) x',
    'FLAGS (CHANGEDSINCE 1 VANISHED)'
  ])
    refuses(`FETCH 1 ${items}`)
  for (const wire of [
    'UID FETCH 1 FLAGS (VANISHED)',
    'UID FETCH 1 FLAGS (VANISHED CHANGEDSINCE 1 VANISHED)',
    'FETCH',
    'FETCH 1',
    'FETCH 0 FLAGS',
    'FETCH "" FLAGS',
    'FETCH  (FLAGS)'
  ])
    refuses(wire)
  refuses('FETCH 1 BODY[HEADER.FIELDS ("é")]')
  refuses('FETCH 1 BODY[HEADER.FIELDS é]')
})

test('what FETCH asks for again is what it asked for, and nothing else for being like it', () => {
  for (const wire of [
    'FLAGS',
    '(FLAGS)',
    'BODY.PEEK[]',
    'ALL',
    'PREVIEW (LAZY)',
    '(UID RFC822.SIZE BODY.PEEK[]<0.10>)',
    '(UID BODY.PEEK[HEADER.FIELDS (From To)])',
    '(PREVIEW (LAZY) UID)'
  ]) {
    // With a modifier behind them, nothing is known of the items.
    const { items } = parseWire(`FETCH 1 ${wire} (CHANGEDSINCE 1)`)
    for (const set of ['1', '2:*']) {
      const again = parseWire(`FETCH ${set} ${wire}`)
      assert.deepEqual([again.items, again.set.toString()], [items, set], wire)
    }
    refuses(`FETCH 1${wire.startsWith('(') ? wire : `(${wire})`}`)
    refuses(`FETCH 1 ${wire})`)
    refuses(`FETCH 1 (${wire}`)
  }
  const fieldsOf = (/** @type {string} */ list) =>
    parseWire(`FETCH 1 (BODY[HEADER.FIELDS (${list})])`).items[0].section.fields
  assert.deepEqual(fieldsOf('{1+}\r\nA'), ['A'])
  assert.deepEqual(fieldsOf('{1+}\r\nB'), ['B'])
  assert.deepEqual(fieldsOf('C {1+}\r\nB'), ['C', 'B'])
  assert.deepEqual(fieldsOf('C {1+}\r\nA'), ['C', 'A'])
  assert.deepEqual(fieldsOf('"A"'), ['A'])
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
