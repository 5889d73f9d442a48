import { test } from 'node:test'
import assert from 'node:assert/strict'
import { parseWire, refuses } from '../../../../helpers/imap-wire.js'

const flag = (/** @type {string} */ name, isSet = true) => ({ op: 'flag', flag: name, isSet })

test('every key of RFC 3501 and RFC 9051 is read', () => {
  const day = { year: 1994, month: 2, day: 1 }
  /** @type {[string, object][]} */
  const table = [
    ['all', { op: 'all' }],
    ['ANSWERED', flag('\\Answered')],
    ['DELETED', flag('\\Deleted')],
    ['DRAFT', flag('\\Draft')],
    ['FLAGGED', flag('\\Flagged')],
    ['SEEN', flag('\\Seen')],
    ['UNANSWERED', flag('\\Answered', false)],
    ['UNDELETED', flag('\\Deleted', false)],
    ['UNDRAFT', flag('\\Draft', false)],
    ['UNFLAGGED', flag('\\Flagged', false)],
    ['UNSEEN', flag('\\Seen', false)],
    ['RECENT', { op: 'recent' }],
    ['NEW', { op: 'new' }],
    ['OLD', { op: 'old' }],
    ['KEYWORD $Junk', flag('$Junk')],
    ['KEYWORD "$Junk"', flag('$Junk')],
    ['UNKEYWORD $Junk', flag('$Junk', false)],
    ['FROM x', { op: 'header', field: 'FROM', value: 'x' }],
    ['TO "x y"', { op: 'header', field: 'TO', value: 'x y' }],
    ['CC {1+}\r\nx', { op: 'header', field: 'CC', value: 'x' }],
    ['BCC ""', { op: 'header', field: 'BCC', value: '' }],
    ['SUBJECT x]', { op: 'header', field: 'SUBJECT', value: 'x]' }],
    ['HEADER Message-ID <a@b>', { op: 'header', field: 'Message-ID', value: '<a@b>' }],
    ['BODY é', { op: 'body', value: 'é' }],
    ['TEXT NIL', { op: 'text', value: 'NIL' }],
    ['BEFORE 1-Feb-1994', { op: 'date', which: 'internal', comparison: 'before', date: day }],
    ['ON "1-Feb-1994"', { op: 'date', which: 'internal', comparison: 'on', date: day }],
    ['SINCE 01-Feb-1994', { op: 'date', which: 'internal', comparison: 'since', date: day }],
    ['SENTBEFORE 1-Feb-1994', { op: 'date', which: 'sent', comparison: 'before', date: day }],
    ['SENTON 1-Feb-1994', { op: 'date', which: 'sent', comparison: 'on', date: day }],
    ['SENTSINCE 1-Feb-1994', { op: 'date', which: 'sent', comparison: 'since', date: day }],
    ['SAVEDBEFORE 1-Feb-1994', { op: 'date', which: 'saved', comparison: 'before', date: day }],
    ['SAVEDON 1-Feb-1994', { op: 'date', which: 'saved', comparison: 'on', date: day }],
    ['SAVEDSINCE 1-Feb-1994', { op: 'date', which: 'saved', comparison: 'since', date: day }],
    ['SAVEDATESUPPORTED', { op: 'all' }],
    ['LARGER 0', { op: 'larger', size: 0 }],
    ['SMALLER 4294967296', { op: 'smaller', size: 4294967296 }],
    ['YOUNGER 60', { op: 'younger', seconds: 60 }],
    ['OLDER 4294967295', { op: 'older', seconds: 4294967295 }],
    ['MODSEQ 0', { op: 'modseq', value: 0, entry: null }],
    ['MODSEQ 9223372036854775807', { op: 'modseq', value: Number.MAX_SAFE_INTEGER, entry: null }],
    [
      'MODSEQ "/flags/\\\\draft" all 620162338',
      { op: 'modseq', value: 620162338, entry: { name: '/flags/\\draft', type: 'all' } }
    ],
    [
      'MODSEQ "/flags/x" PRIV 1',
      { op: 'modseq', value: 1, entry: { name: '/flags/x', type: 'private' } }
    ],
    [
      'MODSEQ "/flags/x" shared 1',
      { op: 'modseq', value: 1, entry: { name: '/flags/x', type: 'shared' } }
    ],
    ['EMAILID M5', { op: 'emailId', id: 'M5' }],
    ['threadid "T-_9"', { op: 'threadId', id: 'T-_9' }],
    ['NOT SEEN', { op: 'not', key: flag('\\Seen') }],
    [
      'OR SEEN NOT DRAFT',
      { op: 'or', left: flag('\\Seen'), right: { op: 'not', key: flag('\\Draft') } }
    ],
    ['(SEEN)', flag('\\Seen')],
    ['((SEEN DRAFT))', { op: 'and', keys: [flag('\\Seen'), flag('\\Draft')] }],
    [
      'SEEN (DRAFT OLD) ALL',
      {
        op: 'and',
        keys: [flag('\\Seen'), { op: 'and', keys: [flag('\\Draft'), { op: 'old' }] }, { op: 'all' }]
      }
    ],
    [
      'OR (SEEN DRAFT) ALL',
      {
        op: 'or',
        left: { op: 'and', keys: [flag('\\Seen'), flag('\\Draft')] },
        right: { op: 'all' }
      }
    ]
  ]
  for (const [wire, key] of table) {
    assert.deepEqual(
      parseWire(`SEARCH ${wire}`),
      { isUid: false, charset: null, key, returns: null },
      wire
    )
    assert.deepEqual(parseWire(`UID SEARCH ${wire}`).key, key, wire)
  }
})

test('sets of numbers and UIDs are keys', () => {
  for (const [wire, op, text] of /** @type {const} */ ([
    ['1:*,5', 'sequence', '1:*,5'],
    ['*', 'sequence', '*'],
    ['5', 'sequence', '5'],
    ['9', 'sequence', '9'],
    ['*:3', 'sequence', '*:3'],
    ['$', 'sequence', '$'],
    ['UID 2:4', 'uid', '2:4'],
    ['UID $', 'uid', '$']
  ])) {
    const { key } = parseWire(`SEARCH ${wire}`)
    assert.deepEqual([key.op, key.set.toString()], [op, text])
  }
})

test('RETURN and CHARSET come first', () => {
  const options = (/** @type {string} */ wire) => {
    const { returns, charset } = parseWire(wire)
    return [returns && returns.options, charset]
  }
  assert.deepEqual(options('SEARCH RETURN () ALL'), [[], null])
  assert.deepEqual(options('SEARCH return (min MAX count ALL save MIN) ALL'), [
    ['MIN', 'MAX', 'COUNT', 'ALL', 'SAVE'],
    null
  ])
  assert.deepEqual(options('UID SEARCH RETURN (ALL) CHARSET utf-8 SEEN'), [['ALL'], 'utf-8'])
  assert.deepEqual(options('SEARCH CHARSET "US-ASCII" SEEN'), [null, 'US-ASCII'])
})

test('PARTIAL brings its page, in the order of the count', () => {
  const page = (/** @type {string} */ range) =>
    parseWire(`SEARCH RETURN (partial ${range} COUNT) ALL`).returns
  const options = ['COUNT']
  assert.deepEqual(page('1:500'), {
    options,
    partial: { from: 1, to: 500, isFromEnd: false, isReversed: false }
  })
  assert.deepEqual(page('9:2'), {
    options,
    partial: { from: 2, to: 9, isFromEnd: false, isReversed: true }
  })
  assert.deepEqual(page('-100:-1'), {
    options,
    partial: { from: 1, to: 100, isFromEnd: true, isReversed: true }
  })
  for (const range of ['1', '1:*', '0:1', '-1:1', '1:-1', '1:4294967296', '1:2,3', '--1:--2'])
    refuses(`SEARCH RETURN (PARTIAL ${range}) ALL`)
  refuses('SEARCH RETURN (PARTIAL 1:2 ALL) ALL')
  refuses('SEARCH RETURN (PARTIAL 1:2 PARTIAL 3:4) ALL')
})

test('strings are decoded from their charset', () => {
  const search = (/** @type {string} */ charset, /** @type {Buffer} */ bytes) =>
    parseWire(
      Buffer.concat([
        Buffer.from(`SEARCH CHARSET ${charset} SUBJECT {${bytes.length}+}\r\n`),
        bytes
      ])
    ).key.value
  assert.equal(search('UTF-8', Buffer.from('grüße')), 'grüße')
  assert.equal(search('ISO-8859-1', Buffer.from('gr\xfc\xdfe', 'latin1')), 'grüße')
  assert.equal(search('windows-1251', Buffer.from([0xcf, 0xf0])), 'Пр')
  assert.equal(search('Shift_JIS', Buffer.from([0x93, 0xfa])), '日')
  assert.equal(search('koi8-r', Buffer.from([0xf0])), 'П')
  assert.equal(search('ISO-2022-JP', Buffer.from('\x1b$BF|K\\\x1b(B')), '日本')
})

test('an unknown charset is told as such', () => {
  for (const charset of [
    'FOO',
    'base64',
    'HEX',
    'binary',
    'utf7-imap',
    '""',
    '__proto__',
    'constructor',
    'x'.repeat(65),
    '"UTF 99"'
  ])
    refuses(`SEARCH CHARSET ${charset} SUBJECT x`, 'BAD_CHARSET')
})

test('keys that break the grammar are told before an unknown charset: SORT takes its first key for one that is left out', () => {
  for (const wire of [
    'SEARCH CHARSET FOO',
    'SEARCH CHARSET FOO BAR',
    'SORT (DATE) ALL',
    'SORT (DATE) FROM anna',
    'THREAD REFERENCES ALL',
    'UID THREAD REFERENCES SUBJECT "x" UNSEEN'
  ])
    refuses(wire)
  refuses('SORT (DATE) SUBJECT ALL', 'BAD_CHARSET')
})

test('bytes that are not of their charset are bad syntax', () => {
  const wire = (/** @type {string} */ charset) =>
    Buffer.concat([Buffer.from(`SEARCH ${charset}SUBJECT "`), Buffer.of(0xff), Buffer.from('"')])
  refuses(wire(''))
  refuses(wire('CHARSET UTF-8 '))
  assert.equal(parseWire(wire('CHARSET ISO-8859-1 ')).key.value, 'ÿ')
})

test('what is no search is refused', () => {
  for (const keys of [
    '',
    'FOO',
    '"ALL"',
    '()',
    '(SEEN',
    'NOT',
    'OR',
    'OR SEEN',
    'NOT ()',
    'FROM',
    'FROM (x)',
    'FROM x*',
    'HEADER x',
    'KEYWORD',
    'KEYWORD \\Seen',
    'KEYWORD "not one"',
    'KEYWORD "\\\\Seen"',
    'KEYWORD ""',
    'BEFORE',
    'BEFORE 30-Feb-2024',
    'BEFORE 2024-01-01',
    'LARGER',
    'LARGER x',
    'LARGER -1',
    'YOUNGER 0',
    'OLDER 4294967296',
    'UID',
    'UID x',
    'UID 0',
    '0',
    '4294967296',
    '1,',
    'MODSEQ',
    'MODSEQ x',
    'MODSEQ 9223372036854775808',
    'MODSEQ "/flags/x" 1',
    'MODSEQ "/flags/x" foo 1',
    'MODSEQ "flags" all 1',
    'RETURN',
    'RETURN MIN ALL',
    'RETURN (FOO) ALL',
    'RETURN (MIN)',
    'CHARSET',
    'CHARSET utf-8',
    'CHARSET utf-8 RETURN () ALL',
    '(CHARSET utf-8 ALL)',
    'SEEN(DRAFT)',
    'ALL 1x',
    '~{1+}\r\nx'
  ])
    refuses(`SEARCH ${keys}`)
})

test('OR and NOT may be chained 1,000 levels deep and not one more', () => {
  const limits = (/** @type {number} */ levels) => `SEARCH ${'NOT '.repeat(levels)}ALL`
  assert.equal(parseWire(limits(1000)).key.op, 'not')
  refuses(limits(1001), 'TOO_DEEP')
  assert.equal(parseWire(`SEARCH ${'OR ALL '.repeat(1000)}ALL`).key.op, 'or')
  refuses(`SEARCH ${'OR ALL '.repeat(1001)}ALL`, 'TOO_DEEP')
})
