import { test } from 'node:test'
import assert from 'node:assert/strict'
import { parseMessage } from '../../../src/mime/parse-message.js'
import { toPartTree } from '../../helpers/part-tree.js'
import { filterHeader, resolvePart, resolveSection } from '../../../src/mime/section.js'

/** @param {string} text - with bare LF */
const message = (text) => Buffer.from(text.replaceAll('\n', '\r\n'))

/**
 * What BODY[section] would send, with bare LF; null for a section that is not there.
 * @param {Buffer} bytes
 * @param {string} written - as between the brackets
 */
const fetch = (bytes, written) => {
  const [, path = '', text = '', fields = ''] =
    /^([\d.]*?)\.?(HEADER\.FIELDS\.NOT|HEADER\.FIELDS|HEADER|TEXT|MIME)?(?: \((.*)\))?$/.exec(
      written
    ) ?? []
  const found = resolveSection(toPartTree(parseMessage(bytes).root), {
    path: path === '' ? [] : path.split('.').map(Number),
    text: /** @type {import('../../../src/mime/section.js').Section['text']} */ (text || null),
    fields: fields.split(' ')
  })
  if (!found) return null
  const range = bytes.subarray(found.start, found.end)
  const sent = found.kind === 'range' ? range : filterHeader(range, found)
  return sent.toString('latin1').replaceAll('\r\n', '\n')
}

const INNER =
  'From: sub@d\nSubject: submsg\nContent-Type: multipart/alternative; boundary="sub1"\n\n'
const INNER_BODY =
  'Sub prologue\n--sub1\nContent-Type: text/html\n\n<p>Hello</p>\n\n--sub1\nContent-Type: text/plain\n\n' +
  'Hello another\n\n--sub1--\nSub epilogue\n'
const MIXED_HEADER = 'From: user@d\nContent-Type: multipart/mixed; boundary="foo\n bar"\n\n'
const MIXED_BODY =
  'Root prologue\n\n--foo bar\nContent-Type: text/x-own\n\nhello\n\n--foo bar\nContent-Type: message/rfc822\n\n' +
  `${INNER}${INNER_BODY}\n--foo bar--\nRoot epilogue\n`
const MIXED = MIXED_HEADER + MIXED_BODY

const UNENDED_HEADER = 'From: a@b\nContent-Type: multipart/mixed; boundary=b\n'
const UNENDED_BODY = '--b\nX-Part: 1\n\none\n--b--\n'

const PLAIN = 'From: a@b\nSubject: s\n\nHello world\n'
const FORWARD = `From: u2@d\nContent-Type: message/rfc822\n\n${PLAIN}`
const DOUBLE = `From: u@d\nContent-Type: message/rfc822\n\n${FORWARD}`
const DIGEST_BODY =
  'prologue\n\n--foo \n\nFrom: m1@e\n\nm1 body\n\n--foo \nX-Mime: m2 header\n\nFrom: m2@e\n\nm2 body\n\n--foo--\n\nepi\n'
const DIGEST_HEADER = 'From: sub@d\nContent-Type: multipart/digest; boundary="foo"\n\n'
const DIGEST = `From: u@d\nContent-Type: message/rfc822\n\n${DIGEST_HEADER}${DIGEST_BODY}`

/** @type {[string, string, [string, string | null][]][]} */
const MESSAGES = [
  [
    'a plain message',
    PLAIN,
    [
      ['', PLAIN],
      ['HEADER', 'From: a@b\nSubject: s\n\n'],
      ['TEXT', 'Hello world\n'],
      ['MIME', null],
      ['1', 'Hello world\n'],
      ['1.MIME', 'From: a@b\nSubject: s\n\n'],
      ['1.HEADER', null],
      ['1.TEXT', null],
      ['2', null],
      ['0', null],
      ['1.1', null],
      ['HEADER.FIELDS (subject x)', 'Subject: s\n\n'],
      ['HEADER.FIELDS.NOT (subject x)', 'From: a@b\n\n']
    ]
  ],
  [
    'a multipart without an empty line before its first delimiter',
    `${UNENDED_HEADER}${UNENDED_BODY}`,
    [
      ['', `${UNENDED_HEADER}${UNENDED_BODY}`],
      ['HEADER', UNENDED_HEADER],
      ['TEXT', UNENDED_BODY],
      ['1', 'one'],
      ['1.MIME', 'X-Part: 1\n\n'],
      ['HEADER.FIELDS (from x-part)', 'From: a@b\n\n'],
      ['HEADER.FIELDS.NOT (content-type)', 'From: a@b\n\n']
    ]
  ],
  [
    'a multipart with a message inside',
    MIXED,
    [
      ['', MIXED],
      ['HEADER', MIXED_HEADER],
      ['TEXT', MIXED_BODY],
      ['1', 'hello\n'],
      ['1.MIME', 'Content-Type: text/x-own\n\n'],
      ['1.1', null],
      ['1.HEADER', null],
      ['2', INNER + INNER_BODY],
      ['2.MIME', 'Content-Type: message/rfc822\n\n'],
      ['2.HEADER', INNER],
      ['2.HEADER.FIELDS (from subject X-foo)', 'From: sub@d\nSubject: submsg\n\n'],
      ['2.HEADER.FIELDS.NOT (from subject X-foo)', INNER.slice(INNER.indexOf('Content-Type'))],
      ['2.TEXT', INNER_BODY],
      ['2.1', '<p>Hello</p>\n'],
      ['2.1.MIME', 'Content-Type: text/html\n\n'],
      ['2.2', 'Hello another\n'],
      ['2.2.MIME', 'Content-Type: text/plain\n\n'],
      ['2.3', null],
      ['3', null]
    ]
  ],
  [
    'a message that is a message',
    FORWARD,
    [
      ['TEXT', PLAIN],
      ['1', PLAIN],
      ['1.HEADER', 'From: a@b\nSubject: s\n\n'],
      ['1.TEXT', 'Hello world\n'],
      ['1.1', 'Hello world\n'],
      ['1.2', null],
      ['2', null]
    ]
  ],
  [
    'a message that begins with a byte order mark inside another',
    `Content-Type: message/rfc822\n\n\ufeff${PLAIN}`,
    [
      ['1.HEADER', '\xef\xbb\xbfFrom: a@b\nSubject: s\n\n'],
      ['1.HEADER.FIELDS (from)', 'From: a@b\n\n'],
      ['1.HEADER.FIELDS.NOT (from)', 'Subject: s\n\n'],
      ['1.TEXT', 'Hello world\n']
    ]
  ],
  [
    'a message in a message in a message',
    DOUBLE,
    [
      ['1', FORWARD],
      ['1.HEADER', 'From: u2@d\nContent-Type: message/rfc822\n\n'],
      ['1.TEXT', PLAIN],
      ['1.1', PLAIN],
      ['1.1.HEADER', 'From: a@b\nSubject: s\n\n'],
      ['1.1.TEXT', 'Hello world\n'],
      ['1.1.1', 'Hello world\n'],
      ['1.1.1.1', null]
    ]
  ],
  [
    'a forwarded digest',
    DIGEST,
    [
      ['1.HEADER', DIGEST_HEADER],
      ['1.TEXT', DIGEST_BODY],
      ['1.1', 'From: m1@e\n\nm1 body\n'],
      ['1.1.MIME', '\n'],
      ['1.1.HEADER', 'From: m1@e\n\n'],
      ['1.1.TEXT', 'm1 body\n'],
      ['1.1.1', 'm1 body\n'],
      ['1.2.MIME', 'X-Mime: m2 header\n\n'],
      ['1.2.TEXT', 'm2 body\n']
    ]
  ],
  [
    'a multipart without parts',
    'Content-Type: multipart/mixed\n\ntext\n',
    [
      ['1', 'text\n'],
      ['1.MIME', ''],
      ['2', null]
    ]
  ]
]

for (const [name, text, sections] of MESSAGES)
  for (const [section, expected] of sections)
    test(`BODY[${section}] of ${name}`, () => assert.equal(fetch(message(text), section), expected))

test('a part is found by its path', () => {
  const tree = toPartTree(parseMessage(message(MIXED)).root)
  assert.equal(resolvePart(tree, []), tree)
  assert.equal(resolvePart(tree, [2, 1])?.subtype, 'html')
  assert.equal(resolvePart(tree, [4]), null)
})
