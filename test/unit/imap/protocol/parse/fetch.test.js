import { test } from 'node:test'
import assert from 'node:assert/strict'
import { parseWire, refuses } from '../../../../helpers/imap-wire.js'

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
