import { test } from 'node:test'
import assert from 'node:assert/strict'
import {
  MAX_ADDRESSES,
  MAX_CACHED_HEADER_BYTES,
  MAX_SHOWN_NESTING,
  MAX_STRUCTURE_ADDRESSES
} from '../../../src/mime/limits.js'
import { BUILDER_VERSION, buildMessageMeta } from '../../../src/mime/message-meta.js'
import { decodePartTree } from '../../../src/mime/part-tree.js'
import { parseMessage } from '../../../src/mime/parse-message.js'

/** @param {string} text */
const metaOf = (text) => buildMessageMeta(parseMessage(Buffer.from(text, 'latin1')))

const DATE = '"Thu, 15 Feb 2007 01:02:03 +0200"'
const HEAD = 'Date: Thu, 15 Feb 2007 01:02:03 +0200\r\n'
const USER = '((NIL NIL "user" "domain"))'

/** @type {[string, string, string][]} */
const ENVELOPES = [
  [
    'all fields',
    'Message-ID: <msg@id>\r\nIn-Reply-To: <reply@to.id>\r\n' +
      `${HEAD}Subject: subject header\r\nFrom: F R <f@f.org>\r\nTo: T R <t@t.org>\r\n` +
      'Cc: C R <c@c.org>\r\nBcc: B R <b@b.org>\r\nSender: S R <s@s.org>\r\nReply-To: R R <r@r.org>\r\n\r\n',
    `(${DATE} "subject header" (("F R" NIL "f" "f.org")) (("S R" NIL "s" "s.org")) (("R R" NIL "r" "r.org")) ` +
      '(("T R" NIL "t" "t.org")) (("C R" NIL "c" "c.org")) (("B R" NIL "b" "b.org")) "<reply@to.id>" "<msg@id>")'
  ],
  [
    'sender and reply-to that are missing are those of from',
    `${HEAD}From: user@domain\r\n\r\n`,
    `(${DATE} NIL ${USER} ${USER} ${USER} NIL NIL NIL NIL NIL)`
  ],
  [
    'sender and reply-to that are empty are those of from',
    `${HEAD}From: user@domain\r\nSender: \r\nReply-To:\r\n\r\n`,
    `(${DATE} NIL ${USER} ${USER} ${USER} NIL NIL NIL NIL NIL)`
  ],
  [
    'groups',
    `${HEAD}From: user@domain\r\nTo: g: g1@d1, g2@d2;, h: g3@d3;\r\nCc: g:;, h: (foo) ;\r\n\r\n`,
    `(${DATE} NIL ${USER} ${USER} ${USER} ((NIL NIL "g" NIL)(NIL NIL "g1" "d1")(NIL NIL "g2" "d2")(NIL NIL NIL NIL)` +
      '(NIL NIL "h" NIL)(NIL NIL "g3" "d3")(NIL NIL NIL NIL)) ' +
      '((NIL NIL "g" NIL)(NIL NIL NIL NIL)(NIL NIL "h" NIL)(NIL NIL NIL NIL)) NIL NIL NIL)'
  ],
  [
    'a byte order mark before the first field',
    `\xef\xbb\xbfFrom: user@domain\r\n${HEAD}\r\n`,
    `(${DATE} NIL ${USER} ${USER} ${USER} NIL NIL NIL NIL NIL)`
  ],
  ['nothing at all', '\r\n', '(NIL NIL NIL NIL NIL NIL NIL NIL NIL NIL)'],
  [
    'fields that are there but empty',
    'Date:\r\nSubject:\r\nFrom:\r\nTo: ,\r\nIn-Reply-To: \r\nMessage-ID:\r\n\r\n',
    '("" "" NIL NIL NIL NIL NIL NIL "" "")'
  ],
  [
    'quotes and backslashes',
    'Subject: a "b" \\c\r\n\r\n',
    '(NIL "a \\"b\\" \\\\c" NIL NIL NIL NIL NIL NIL NIL NIL)'
  ],
  [
    'eight-bit text is a literal, and encoded words stay encoded',
    'Subject: J\xf6rg\r\nFrom: =?utf-8?q?J=C3=B6rg?= <j@d>\r\n\r\n',
    '(NIL {4}\r\nJ\xf6rg ' + '(("=?utf-8?q?J=C3=B6rg?=" NIL "j" "d")) '.repeat(3) + 'NIL NIL NIL NIL NIL)' // prettier-ignore
  ],
  [
    'NUL is left out, since no IMAP string may hold it',
    'Subject: a\0b\r\n\r\n',
    '(NIL {2}\r\nab NIL NIL NIL NIL NIL NIL NIL NIL)'
  ],
  [
    'folds and bare CR within a field',
    'Subject: a\r\n b\rc\r\n\r\n',
    '(NIL "a b c" NIL NIL NIL NIL NIL NIL NIL NIL)'
  ],
  [
    'a bare CR within a field that has no fold',
    'Subject: b\rc\r\n\r\n',
    '(NIL "b c" NIL NIL NIL NIL NIL NIL NIL NIL)'
  ],
  [
    'two To fields are one list, of two Subject fields the first counts',
    'To: a@b\r\nSubject: x\r\nTo: c@d\r\nSubject: y\r\n\r\n',
    '(NIL "x" NIL NIL NIL ((NIL NIL "a" "b")(NIL NIL "c" "d")) NIL NIL NIL NIL)'
  ],
  [
    'a long subject is a literal',
    `Subject: ${'x'.repeat(2_000)}\r\n\r\n`,
    `(NIL {2000}\r\n${'x'.repeat(2_000)} NIL NIL NIL NIL NIL NIL NIL NIL)`
  ]
]

for (const [name, text, expected] of ENVELOPES)
  test(`ENVELOPE: ${name}`, () => assert.equal(metaOf(text).envelope.toString('latin1'), expected))

/**
 * Message, BODY, BODYSTRUCTURE.
 * @type {[string, string, string, string][]}
 */
const STRUCTURES = [
  [
    'no Content-Type',
    'A: 1\r\n\r\none\r\ntwo',
    '("text" "plain" ("charset" "us-ascii") NIL NIL "7bit" 8 1)',
    '("text" "plain" ("charset" "us-ascii") NIL NIL "7bit" 8 1 NIL NIL NIL NIL)'
  ],
  [
    'text without a charset',
    'Content-Type: TEXT/x-Own; format=flowed\r\n\r\n',
    '("TEXT" "x-Own" ("format" "flowed" "charset" "us-ascii") NIL NIL "7bit" 0 0)',
    '("TEXT" "x-Own" ("format" "flowed" "charset" "us-ascii") NIL NIL "7bit" 0 0 NIL NIL NIL NIL)'
  ],
  [
    'all fields of a single part',
    'Content-Type: image/png; name="a b"\r\nContent-ID: <i@d>\r\nContent-Description: de\r\n scr\r\n' +
      'Content-Transfer-Encoding: BASE64 (x)\r\nContent-MD5: Q2hlY2s=\r\n' +
      'Content-Disposition: attachment; filename=x; size=3\r\nContent-Language: en, fr\r\n' +
      'Content-Location: http://\r\n x/y\r\n\r\nQUJD\r\n',
    '("image" "png" ("name" "a b") "<i@d>" "de scr" "BASE64" 6)',
    '("image" "png" ("name" "a b") "<i@d>" "de scr" "BASE64" 6 "Q2hlY2s=" ' +
      '("attachment" ("filename" "x" "size" "3")) ("en" "fr") "http://x/y")'
  ],
  [
    'one language, a disposition without parameters',
    'Content-Type: a/b\r\nContent-Disposition: inline\r\nContent-Language: en\r\n\r\n',
    '("a" "b" NIL NIL NIL "7bit" 0)',
    '("a" "b" NIL NIL NIL "7bit" 0 NIL ("inline" NIL) "en" NIL)'
  ],
  [
    'a disposition in quotes',
    'Content-Type: a/b\r\nContent-Disposition: "attachment"; filename=x\r\n\r\n',
    '("a" "b" NIL NIL NIL "7bit" 0)',
    '("a" "b" NIL NIL NIL "7bit" 0 NIL ("attachment" ("filename" "x")) NIL NIL)'
  ],
  [
    'a multipart',
    'Content-Type: multipart/mixed; boundary="foo\r\n bar"\r\nContent-Language: de\r\n\r\n' +
      '--foo bar\r\nContent-Type: text/x-myown; charset=us-ascii\r\n\r\nhello\r\n\r\n--foo bar--\r\n',
    '(("text" "x-myown" ("charset" "us-ascii") NIL NIL "7bit" 7 1) "mixed")',
    '(("text" "x-myown" ("charset" "us-ascii") NIL NIL "7bit" 7 1 NIL NIL NIL NIL) "mixed" ' +
      '("boundary" "foo bar") NIL "de" NIL)'
  ],
  [
    'a message inside',
    'Content-Type: message/rfc822\r\n\r\nSubject: in\r\n\r\nhi\r\n',
    '("message" "rfc822" NIL NIL NIL "7bit" 19 (NIL "in" NIL NIL NIL NIL NIL NIL NIL NIL) ' +
      '("text" "plain" ("charset" "us-ascii") NIL NIL "7bit" 4 1) 3)',
    '("message" "rfc822" NIL NIL NIL "7bit" 19 (NIL "in" NIL NIL NIL NIL NIL NIL NIL NIL) ' +
      '("text" "plain" ("charset" "us-ascii") NIL NIL "7bit" 4 1 NIL NIL NIL NIL) 3 NIL NIL NIL NIL)'
  ],
  [
    'a message inside that begins with a byte order mark',
    'Content-Type: message/rfc822\r\n\r\n\xef\xbb\xbfSubject: in\r\nContent-Type: a/b\r\n\r\nhi\r\n',
    '("message" "rfc822" NIL NIL NIL "7bit" 41 (NIL "in" NIL NIL NIL NIL NIL NIL NIL NIL) ' +
      '("a" "b" NIL NIL NIL "7bit" 4) 4)',
    '("message" "rfc822" NIL NIL NIL "7bit" 41 (NIL "in" NIL NIL NIL NIL NIL NIL NIL NIL) ' +
      '("a" "b" NIL NIL NIL "7bit" 4 NIL NIL NIL NIL) 4 NIL NIL NIL NIL)'
  ],
  [
    'another kind of message is a single part',
    'Content-Type: message/delivery-status\r\n\r\nA: b\r\n',
    '("message" "delivery-status" NIL NIL NIL "7bit" 6)',
    '("message" "delivery-status" NIL NIL NIL "7bit" 6 NIL NIL NIL NIL)'
  ],
  [
    'message/global is a single part, as in RFC 3501',
    'Content-Type: message/global\r\n\r\nSubject: in\r\n\r\nhi\r\n',
    '("message" "global" NIL NIL NIL "7bit" 19)',
    '("message" "global" NIL NIL NIL "7bit" 19)'
  ],
  [
    'message/global with a disposition',
    'Content-Type: message/global\r\nContent-Disposition: attachment\r\n\r\nSubject: in\r\n\r\nhi\r\n',
    '("message" "global" NIL NIL NIL "7bit" 19)',
    '("message" "global" NIL NIL NIL "7bit" 19 NIL ("attachment" NIL) NIL NIL)'
  ],
  [
    'message/global with a location',
    'Content-Type: message/global\r\nContent-Location: x\r\n\r\n',
    '("message" "global" NIL NIL NIL "7bit" 0)',
    '("message" "global" NIL NIL NIL "7bit" 0 NIL NIL NIL "x")'
  ],
  [
    'a multipart without parts',
    'Content-Type: multipart/x\r\n\r\nhi\r\n',
    '(("text" "plain" ("charset" "us-ascii") NIL NIL "7bit" 4 1) "x")',
    '(("text" "plain" ("charset" "us-ascii") NIL NIL "7bit" 4 1 NIL NIL NIL NIL) "x" NIL NIL NIL NIL)'
  ],
  [
    'a type that cannot be read',
    'Content-Type: nonsense\r\nContent-Transfer-Encoding:\r\nContent-Disposition: ;\r\n\r\n',
    '("text" "plain" ("charset" "us-ascii") NIL NIL "7bit" 0 0)',
    '("text" "plain" ("charset" "us-ascii") NIL NIL "7bit" 0 0 NIL NIL NIL NIL)'
  ],
  [
    'eight-bit and RFC 2231 names',
    "Content-Type: a/b; name=\xf6; n*0*=utf-8''%C3; n*1*=%B6\r\n\r\n",
    '("a" "b" ("name" {1}\r\n\xf6 "n*" "utf-8\'\'%C3%B6") NIL NIL "7bit" 0)',
    '("a" "b" ("name" {1}\r\n\xf6 "n*" "utf-8\'\'%C3%B6") NIL NIL "7bit" 0 NIL NIL NIL NIL)'
  ]
]

for (const [name, text, body, bodyStructure] of STRUCTURES)
  test(`BODY and BODYSTRUCTURE: ${name}`, () => {
    const meta = metaOf(text)
    assert.equal(meta.body.toString('latin1'), body)
    assert.equal(meta.bodyStructure.toString('latin1'), bodyStructure)
  })

test('parts below the shown levels are one opaque part in the structure, and still parts in the tree', () => {
  const text = 'Content-Type: message/rfc822\r\n\r\n'.repeat(MAX_SHOWN_NESTING + 5)
  const { body, partTree } = metaOf(text)
  assert.equal(body.toString().match(/"rfc822"/g)?.length, MAX_SHOWN_NESTING - 1)
  assert.match(body.toString(), /\("application" "octet-stream" NIL NIL NIL "7bit" 160\)/)
  let depth = 1
  for (let [node] = decodePartTree(partTree).children; node; [node] = node.children) depth++
  assert.equal(depth, MAX_SHOWN_NESTING + 6)
})

test('multiparts below the shown levels are opaque too', () => {
  const levels = Array.from({ length: MAX_SHOWN_NESTING + 5 }, (_, level) => level)
  const text = levels.map(
    (level) => `Content-Type: multipart/x; boundary=${level}\r\n\r\n--${level}\r\n`
  )
  const body = metaOf(text.join('')).body.toString()
  assert.equal(body.match(/ "x"\)/g)?.length, MAX_SHOWN_NESTING - 1)
  assert.match(body, /^\(+"application" "octet-stream" /)
})

test('what threads and sorts is drawn from the header', () => {
  const meta = metaOf(
    'Message-ID: <"a"@b>\r\nIn-Reply-To: Yours <c@d> <e@f>\r\nReferences: <1@x>\r\n <2@x>\r\n' +
      'References: <3@x>\r\nSubject: =?utf-8?q?Re=3A_[x]_J=C3=B6rg?= (fwd)\r\n' +
      'Date: Thu, 1 Jan 1970 01:00:10 +0100\r\n\r\nbody'
  )
  assert.equal(meta.builderVersion, BUILDER_VERSION)
  assert.equal(meta.messageId, '<a@b>')
  assert.equal(meta.inReplyTo, '<c@d>')
  assert.deepEqual(meta.references, ['<1@x>', '<2@x>', '<3@x>'])
  assert.equal(meta.baseSubject, 'Jörg')
  assert.deepEqual(meta.sentDate, { epochSeconds: 10, zoneMinutes: 60 })
})

test('a message without a header has none of them', () => {
  const meta = metaOf('\r\nbody')
  assert.deepEqual(
    [meta.messageId, meta.inReplyTo, meta.references, meta.baseSubject, meta.sentDate],
    [null, null, [], '', null]
  )
})

test('the header block is kept with its blank line, byte for byte, unless it is large', () => {
  assert.equal(metaOf('A: 1\r\nrubbish\r\n\r\nx').header?.toString(), 'A: 1\r\nrubbish\r\n\r\n')
  assert.equal(metaOf('--\r\n--b\r\n\r\nx').header?.toString(), '--\r\n--b\r\n\r\n')
  assert.equal(metaOf('A: 1').header?.toString(), 'A: 1')
  const filler = 'x'.repeat(MAX_CACHED_HEADER_BYTES - 'A: \r\n\r\n'.length)
  assert.equal(metaOf(`A: ${filler}\r\n\r\n`).header?.length, MAX_CACHED_HEADER_BYTES)
  assert.equal(metaOf(`A: ${filler}x\r\n\r\n`).header, null)
})

test('more fields of addresses give an ENVELOPE no more of them, and a group that is cut is closed', () => {
  const { envelope } = metaOf(`${HEAD}${'To: a@b,c@d\r\n'.repeat(MAX_ADDRESSES)}\r\n`)
  assert.equal(envelope.toString('latin1').split('(NIL NIL ').length - 1, MAX_ADDRESSES)
  const group = metaOf(`${HEAD}${'To: g: a@b, c@d;\r\n'.repeat(MAX_ADDRESSES)}\r\n`).envelope
  const entries = group.toString('latin1').split('(NIL NIL ').slice(1)
  assert.match(entries.at(-1) ?? '', /^NIL NIL\)\)/)
})

test('a structure shows so many addresses of all the messages inside, however many these are', () => {
  const inside = `--b\r\n\r\nFrom: ${'a,'.repeat(MAX_ADDRESSES)}\r\nSubject: s\r\n\r\nx\r\n`
  const digest = `Content-Type: multipart/digest; boundary=b\r\n\r\n${inside.repeat(100)}--b--\r\n`
  const { body, bodyStructure } = metaOf(digest)
  for (const structure of [body.toString('latin1'), bodyStructure.toString('latin1')]) {
    // Those of From are shown as those of Sender and Reply-To too.
    assert.equal(structure.split('(NIL NIL "a" "")').length - 1, 3 * MAX_STRUCTURE_ADDRESSES)
    assert.equal(structure.split('(NIL "s" ').length - 1, 100)
    assert.match(structure, /\(NIL "s" NIL NIL NIL NIL NIL NIL NIL NIL\)/)
  }
})
