import { test } from 'node:test'
import assert from 'node:assert/strict'
import { parseWire, refuses } from '../../../../helpers/imap-wire.js'

test('mailbox names come decoded from atoms, quoted strings and literals', () => {
  for (const [wire, mailbox] of /** @type {const} */ ([
    ['DELETE foo', 'foo'],
    ['SUBSCRIBE "foo bar"', 'foo bar'],
    ['UNSUBSCRIBE {3+}\r\nfoo', 'foo'],
    ['DELETE inbox', 'INBOX'],
    ['DELETE Entw&APw-rfe', 'Entwürfe'],
    ['DELETE Entwürfe', 'Entwürfe'],
    ['DELETE "Entwürfe"', 'Entwürfe'],
    ['DELETE foo]', 'foo]'],
    ['DELETE [Gmail]/Trash', '[Gmail]/Trash'],
    ['DELETE NIL', 'NIL']
  ]))
    assert.deepEqual(parseWire(wire), { mailbox }, wire)
  assert.deepEqual(parseWire('DELETE A&B', { isUtf8: true }), { mailbox: 'A&B' })
  assert.deepEqual(parseWire('RENAME inbox "old mail"'), { from: 'INBOX', to: 'old mail' })
})

test('mailbox commands refuse what is no name', () => {
  for (const wire of [
    'DELETE',
    'DELETE a b',
    'DELETE (a)',
    'DELETE a*',
    'DELETE a%',
    'DELETE a\\b',
    'RENAME a',
    'RENAME a b c'
  ])
    refuses(wire)
  for (const wire of [
    'DELETE ""',
    'DELETE A&B',
    'RENAME a ""',
    'CREATE ""',
    'SELECT "&"',
    'STATUS "" (UIDNEXT)',
    'LIST "" "&"'
  ])
    refuses(wire, 'BAD_MAILBOX_NAME')
})

test('CREATE leaves out the delimiter at the end, and takes special uses', () => {
  for (const [wire, mailbox, specialUse] of /** @type {[string, string, string[]][]} */ ([
    ['CREATE foo', 'foo', []],
    ['CREATE foo/', 'foo', []],
    ['CREATE a/', 'a', []],
    ['CREATE foo/bar/', 'foo/bar', []],
    ['CREATE /', '/', []],
    ['CREATE foo (USE (\\drafts \\SENT \\Sent))', 'foo', ['\\Drafts', '\\Sent']],
    ['CREATE foo (use (\\MyUse))', 'foo', ['\\MyUse']],
    ['CREATE foo (USE ())', 'foo', []]
  ]))
    assert.deepEqual(parseWire(wire), { mailbox, specialUse }, wire)
  for (const wire of [
    'CREATE',
    'CREATE foo ()',
    'CREATE foo (USE)',
    'CREATE foo (USE \\Drafts)',
    'CREATE foo (USE (Drafts))',
    'CREATE foo (USE (\\))',
    'CREATE foo (USE (\\%a))',
    'CREATE foo (FOO (\\Sent))',
    'CREATE foo (USE (\\Sent) x)',
    'CREATE foo USE',
    'CREATE foo (USE (\\Sent)) x'
  ])
    refuses(wire)
})

test('SELECT and EXAMINE take CONDSTORE and QRESYNC', () => {
  const plain = { mailbox: 'INBOX', condstore: false, qresync: null }
  assert.deepEqual(parseWire('SELECT inbox'), plain)
  assert.deepEqual(parseWire('EXAMINE "inbox"'), plain)
  assert.deepEqual(parseWire('SELECT inbox (condstore)'), { ...plain, condstore: true })
  const { qresync } = parseWire('SELECT inbox (QRESYNC (67890007 20050715194045000))')
  assert.deepEqual(qresync, {
    uidValidity: 67890007,
    modSeq: Number.MAX_SAFE_INTEGER,
    knownUids: null,
    seqMatch: null
  })
  const known = parseWire('SELECT x (CONDSTORE QRESYNC (1 9223372036854775807 41,43:211))')
  assert.equal(known.condstore, true)
  assert.equal(known.qresync.modSeq, Number.MAX_SAFE_INTEGER)
  assert.equal(known.qresync.knownUids.toString(), '41,43:211')
  const matched = parseWire('SELECT x (QRESYNC (1 2 3:4 (5,6 7,8)))').qresync
  assert.equal(matched.knownUids.toString(), '3:4')
  assert.equal(matched.seqMatch.sequences.toString(), '5,6')
  assert.equal(matched.seqMatch.uids.toString(), '7,8')
  const unknown = parseWire('SELECT x (QRESYNC (1 2 (5 7)))').qresync
  assert.equal(unknown.knownUids, null)
  assert.equal(unknown.seqMatch.uids.toString(), '7')
})

test('SELECT refuses other parameters', () => {
  for (const wire of [
    'SELECT',
    'SELECT x y',
    'SELECT x ()',
    'SELECT x (FOO)',
    'SELECT x (CONDSTORE FOO)',
    'SELECT x CONDSTORE',
    'SELECT x (CONDSTORE) y',
    'SELECT x (QRESYNC)',
    'SELECT x (QRESYNC (1))',
    'SELECT x (QRESYNC (0 1))',
    'SELECT x (QRESYNC (4294967296 1))',
    'SELECT x (QRESYNC (1 9223372036854775808))',
    'SELECT x (QRESYNC (1 2 *))',
    'SELECT x (QRESYNC (1 2 1:*))',
    'SELECT x (QRESYNC (1 2 $))',
    'SELECT x (QRESYNC (1 2 3 (4)))',
    'SELECT x (QRESYNC (1 2 3 (4 5 6)))',
    'SELECT x (QRESYNC (1 2 3 (4 *)))',
    'SELECT x (QRESYNC (1 2 3 (4 5)) QRESYNC (1 2))',
    'SELECT x (QRESYNC (1 2 3 (4 5) 6))',
    'SELECT x (QRESYNC (1 2 3 4))'
  ])
    refuses(wire)
})

test('STATUS takes its items, each once', () => {
  assert.deepEqual(parseWire('STATUS "x y" (uidnext MESSAGES UIDNEXT)'), {
    mailbox: 'x y',
    items: ['UIDNEXT', 'MESSAGES']
  })
  const all = 'MESSAGES RECENT UIDNEXT UIDVALIDITY UNSEEN DELETED SIZE HIGHESTMODSEQ'
  assert.deepEqual(parseWire(`STATUS x (${all})`).items, all.split(' '))
  for (const wire of [
    'STATUS x',
    'STATUS x ()',
    'STATUS x UIDNEXT',
    'STATUS x (FOO)',
    'STATUS x (UIDNEXT) y',
    'STATUS x ("UIDNEXT")',
    'STATUS x (UIDNEXT (MESSAGES))'
  ])
    refuses(wire)
})

test('LIST takes the base form and the extended ones', () => {
  const plain = {
    reference: '',
    patterns: ['*'],
    selection: [],
    returns: [],
    statusItems: null,
    isExtended: false
  }
  for (const [wire, expected] of /** @type {[string, object][]} */ ([
    ['LIST "" *', {}],
    ['LIST "" "*"', {}],
    ['LIST "" {1+}\r\n*', {}],
    ['LIST "" ""', { patterns: [''] }],
    ['LIST ref %/a%', { reference: 'ref', patterns: ['%/a%'] }],
    ['LIST "" inbox', { patterns: ['inbox'] }],
    ['LIST "" &APw-*', { patterns: ['ü*'] }],
    ['LIST "" ("a" b% {1+}\r\nc)', { patterns: ['a', 'b%', 'c'], isExtended: true }],
    ['LIST () "" *', { isExtended: true }],
    [
      'LIST (subscribed) "" "*" RETURN (special-use)',
      { selection: ['SUBSCRIBED'], returns: ['SPECIAL-USE'], isExtended: true }
    ],
    [
      'LIST (SUBSCRIBED RECURSIVEMATCH REMOTE) "" *',
      { selection: ['SUBSCRIBED', 'RECURSIVEMATCH', 'REMOTE'], isExtended: true }
    ],
    [
      'LIST (SPECIAL-USE RECURSIVEMATCH) "" *',
      { selection: ['SPECIAL-USE', 'RECURSIVEMATCH'], isExtended: true }
    ],
    ['LIST "" * RETURN ()', { isExtended: true }],
    [
      'LIST "" * RETURN (SUBSCRIBED CHILDREN STATUS (MESSAGES UNSEEN) CHILDREN)',
      { returns: ['SUBSCRIBED', 'CHILDREN'], statusItems: ['MESSAGES', 'UNSEEN'], isExtended: true }
    ]
  ]))
    assert.deepEqual(parseWire(wire), { ...plain, ...expected }, wire)
})

test('LIST refuses unknown options and missing parts', () => {
  for (const wire of [
    'LIST',
    'LIST ""',
    'LIST "" ()',
    'LIST "" * x',
    'LIST "" * RETURN',
    'LIST "" * RETURN CHILDREN',
    'LIST "" * RETURN (FOO)',
    'LIST "" * RETURN (STATUS)',
    'LIST "" * RETURN (STATUS ())',
    'LIST "" * RETURN (CHILDREN) x',
    'LIST (FOO) "" *',
    'LIST (RECURSIVEMATCH) "" *',
    'LIST (RECURSIVEMATCH REMOTE) "" *',
    'LIST a* *',
    'LIST "" a\\b',
    'LIST "" ((a))'
  ])
    refuses(wire)
})

test('LSUB takes a reference and one pattern', () => {
  assert.deepEqual(parseWire('LSUB "" "*"'), { reference: '', pattern: '*' })
  assert.deepEqual(parseWire('LSUB a %'), { reference: 'a', pattern: '%' })
  for (const wire of ['LSUB ""', 'LSUB "" * x', 'LSUB "" (a b)', 'LSUB () "" *']) refuses(wire)
})
