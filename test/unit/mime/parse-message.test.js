import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { MAX_HEADER_BYTES, MAX_NESTING, MAX_PARTS } from '../../../src/mime/limits.js'
import { buildMessageMeta } from '../../../src/mime/message-meta.js'
import { MessageParser, parseMessage } from '../../../src/mime/parse-message.js'

/** @typedef {import('../../../src/mime/part.js').Part} Part */

/**
 * A readable picture of a tree: type, header and body text of each part, children in brackets.
 * @param {Part} part
 * @param {Buffer} bytes
 * @returns {unknown[]}
 */
const picture = (part, bytes) => [
  `${part.type}/${part.subtype}`,
  bytes.toString('latin1', part.headerStart, part.headerEnd),
  bytes.toString('latin1', part.headerEnd, part.bodyEnd),
  ...part.children.map((child) => picture(child, bytes))
]

/** @param {string} text */
const parsed = (text) => {
  const bytes = Buffer.from(text, 'latin1')
  return picture(parseMessage(bytes).root, bytes)
}

const BARE = 'Content-Type: multipart/mixed; boundary=b\r\n'
const MIXED = `${BARE}\r\n`

/** @type {[string, string, unknown[]][]} */
const MESSAGES = [
  ['plain text', 'A: 1\r\n\r\nhi\r\n', ['text/plain', 'A: 1\r\n\r\n', 'hi\r\n']],
  ['nothing', '', ['text/plain', '', '']],
  ['a header alone', 'A: 1\r\n', ['text/plain', 'A: 1\r\n', '']],
  ['a header cut off', 'A: 1', ['text/plain', 'A: 1', '']],
  ['no header', '\r\nhi', ['text/plain', '\r\n', 'hi']],
  ['bare LF', 'A: 1\n\nhi\n', ['text/plain', 'A: 1\n\n', 'hi\n']],
  ['bare CR throughout', 'A: 1\r\rhi\r', ['text/plain', 'A: 1\r\r', 'hi\r']],
  ['a bare CR among LF', 'A: 1\r2\n\nhi\r\n', ['text/plain', 'A: 1\r2\n\n', 'hi\r\n']],
  ['doubled CR', 'A: 1\r\r\n\r\r\nhi', ['text/plain', 'A: 1\r\r\n\r\r\n', 'hi']],
  [
    'two parts, preamble and epilogue',
    `${MIXED}pre\r\n--b\r\n\r\none\r\n--b\r\nContent-Type: text/html\r\n\r\ntwo\r\n--b--\r\nepi\r\n`,
    [
      'multipart/mixed',
      MIXED,
      'pre\r\n--b\r\n\r\none\r\n--b\r\nContent-Type: text/html\r\n\r\ntwo\r\n--b--\r\nepi\r\n',
      ['text/plain', '\r\n', 'one'],
      ['text/html', 'Content-Type: text/html\r\n\r\n', 'two']
    ]
  ],
  ['bare LF delimiters', `${MIXED}--b\n\none\n--b\n\ntwo\n--b--`, ['multipart/mixed', MIXED, '--b\n\none\n--b\n\ntwo\n--b--', ['text/plain', '\n', 'one'], ['text/plain', '\n', 'two']]], // prettier-ignore
  ['a part that never ends', `${MIXED}--b\r\n\r\none\r\n`, ['multipart/mixed', MIXED, '--b\r\n\r\none\r\n', ['text/plain', '\r\n', 'one\r\n']]], // prettier-ignore
  ['empty bodies', `${MIXED}--b\r\n\r\n--b\r\n\r\n\r\n--b--`, ['multipart/mixed', MIXED, '--b\r\n\r\n--b\r\n\r\n\r\n--b--', ['text/plain', '\r\n', ''], ['text/plain', '\r\n', '']]], // prettier-ignore
  ['a part without header or body', `${MIXED}--b\r\n--b\r\n--b--`, ['multipart/mixed', MIXED, '--b\r\n--b\r\n--b--', ['text/plain', '', ''], ['text/plain', '', '']]], // prettier-ignore
  ['a delimiter inside a header', `${MIXED}--b\r\nContent-Type: text/html\r\n--b--`, ['multipart/mixed', MIXED, '--b\r\nContent-Type: text/html\r\n--b--', ['text/html', 'Content-Type: text/html\r\n', '']]], // prettier-ignore
  ['padding after a delimiter', `${MIXED}--b \t\r\n\r\none\r\n--b-- \r\n`, ['multipart/mixed', MIXED, '--b \t\r\n\r\none\r\n--b-- \r\n', ['text/plain', '\r\n', 'one']]], // prettier-ignore
  ['padding without measure after what would be a delimiter', `${MIXED}--b${' '.repeat(1_200)}\r\n\r\none`, ['multipart/mixed', MIXED, `--b${' '.repeat(1_200)}\r\n\r\none`, ['text/plain', '', `--b${' '.repeat(1_200)}\r\n\r\none`]]], // prettier-ignore
  ['a delimiter that ends the message', `${MIXED}--b\r\n\r\none\r\n--b`, ['multipart/mixed', MIXED, '--b\r\n\r\none\r\n--b', ['text/plain', '\r\n', 'one'], ['text/plain', '', '']]], // prettier-ignore
  ['longer lines are no delimiters', `${MIXED}--b\r\n\r\n--bb\r\n--b-\r\n--b x\r\n--b--`, ['multipart/mixed', MIXED, '--b\r\n\r\n--bb\r\n--b-\r\n--b x\r\n--b--', ['text/plain', '\r\n', '--bb\r\n--b-\r\n--b x']]], // prettier-ignore
  ['delimiters after the last one', `${MIXED}--b\r\n\r\none\r\n--b--\r\n--b\r\n\r\ntwo`, ['multipart/mixed', MIXED, '--b\r\n\r\none\r\n--b--\r\n--b\r\n\r\ntwo', ['text/plain', '\r\n', 'one']]], // prettier-ignore
  ['a multipart without a part shows its body', `${MIXED}text\r\n`, ['multipart/mixed', MIXED, 'text\r\n', ['text/plain', '', 'text\r\n']]], // prettier-ignore
  ['a multipart without a boundary', 'Content-Type: multipart/mixed\r\n\r\n--b\r\n', ['multipart/mixed', 'Content-Type: multipart/mixed\r\n\r\n', '--b\r\n', ['text/plain', '', '--b\r\n']]], // prettier-ignore
  ['a multipart that ends at once', `${MIXED}--b--\r\n`, ['multipart/mixed', MIXED, '--b--\r\n', ['text/plain', '', '--b--\r\n']]], // prettier-ignore
  ['a boundary that ends in dashes', 'Content-Type: multipart/x; boundary="b--"\r\n\r\n--b--\r\n\r\none\r\n--b----', ['multipart/x', 'Content-Type: multipart/x; boundary="b--"\r\n\r\n', '--b--\r\n\r\none\r\n--b----', ['text/plain', '\r\n', 'one']]], // prettier-ignore
  ['a first delimiter without an empty line before it', `${BARE}--b\r\nContent-Type: text/html\r\n\r\none\r\n--b--`, ['multipart/mixed', BARE, '--b\r\nContent-Type: text/html\r\n\r\none\r\n--b--', ['text/html', 'Content-Type: text/html\r\n\r\n', 'one']]], // prettier-ignore
  ['a line of one space before the first delimiter', `${BARE} \r\n--b\r\n\r\none\r\n--b--`, ['multipart/mixed', `${BARE} \r\n`, '--b\r\n\r\none\r\n--b--', ['text/plain', '\r\n', 'one']]], // prettier-ignore
  ['a first delimiter behind other lines with dashes', `--a\r\n--b\r\n${BARE}--\r\n--bb\r\n--b--\r\nX: 1\r\n--b\r\n\r\none`, ['multipart/mixed', `--a\r\n--b\r\n${BARE}--\r\n--bb\r\n--b--\r\nX: 1\r\n`, '--b\r\n\r\none', ['text/plain', '\r\n', 'one']]], // prettier-ignore
  ['the same with a byte order mark, and lines that end by CR', `\xef\xbb\xbf${BARE}--b\r\n\r\none`.replaceAll('\r\n', '\r'), ['multipart/mixed', '\xef\xbb\xbfContent-Type: multipart/mixed; boundary=b\r', '--b\r\rone', ['text/plain', '\r', 'one']]], // prettier-ignore
  ['the boundary of a second Content-Type, or of no multipart, ends no header', `Content-Type: text/x; boundary=b\r\n${BARE}--b\r\n\r\none`, ['text/x', `Content-Type: text/x; boundary=b\r\n${BARE}--b\r\n\r\n`, 'one']], // prettier-ignore
  [
    'a multipart in a multipart, both without an empty line before the first delimiter',
    `${BARE}--b\r\n${BARE.replace('=b', '=c')}--c\r\n\r\nin\r\n--c--\r\n--b--`,
    [
      'multipart/mixed',
      BARE,
      `--b\r\n${BARE.replace('=b', '=c')}--c\r\n\r\nin\r\n--c--\r\n--b--`,
      [
        'multipart/mixed',
        BARE.replace('=b', '=c'),
        '--c\r\n\r\nin\r\n--c--',
        ['text/plain', '\r\n', 'in']
      ]
    ]
  ],
  [
    'an outer delimiter ends inner parts, and the same boundary belongs to the innermost',
    `${MIXED}--b\r\n${MIXED}--b\r\n\r\nin\r\n--b--\r\n--b--\r\nout`,
    [
      'multipart/mixed',
      MIXED,
      `--b\r\n${MIXED}--b\r\n\r\nin\r\n--b--\r\n--b--\r\nout`,
      ['multipart/mixed', MIXED, '--b\r\n\r\nin\r\n--b--', ['text/plain', '\r\n', 'in']]
    ]
  ],
  [
    'a message inside',
    `${MIXED}--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: in\r\n\r\nhi\r\n--b--`,
    [
      'multipart/mixed',
      MIXED,
      '--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: in\r\n\r\nhi\r\n--b--',
      [
        'message/rfc822',
        'Content-Type: message/rfc822\r\n\r\n',
        'Subject: in\r\n\r\nhi',
        ['text/plain', 'Subject: in\r\n\r\n', 'hi']
      ]
    ]
  ],
  [
    'a digest, whose parts are messages by default',
    'Content-Type: multipart/digest; boundary=b\r\n\r\n--b\r\n\r\nSubject: in\r\n\r\nhi\r\n--b--',
    [
      'multipart/digest',
      'Content-Type: multipart/digest; boundary=b\r\n\r\n',
      '--b\r\n\r\nSubject: in\r\n\r\nhi\r\n--b--',
      [
        'message/rfc822',
        '\r\n',
        'Subject: in\r\n\r\nhi',
        ['text/plain', 'Subject: in\r\n\r\n', 'hi']
      ]
    ]
  ],
  [
    'an empty message inside',
    'Content-Type: message/rfc822\r\n\r\n',
    ['message/rfc822', 'Content-Type: message/rfc822\r\n\r\n', '', ['text/plain', '', '']]
  ]
]

for (const [name, text, expected] of MESSAGES)
  test(`parts of ${name}`, () => assert.deepEqual(parsed(text), expected))

test('the first of two Content-Type fields counts', () =>
  assert.equal(parsed('Content-Type: text/a\r\nContent-Type: text/b\r\n\r\n')[0], 'text/a'))

/**
 * @param {Buffer} bytes
 * @param {number[]} cuts - places
 */
const inPieces = (bytes, cuts) => {
  const parser = new MessageParser()
  const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b)]
  for (const [index, from] of places.entries()) {
    // A copy that is spoilt afterwards: the parser may keep nothing of a piece.
    const piece = Buffer.from(bytes.subarray(from, places[index + 1]))
    parser.push(piece)
    piece.fill(0x2d)
  }
  return parser.end()
}

/**
 * What must hold for any tree.
 * @param {Part} part
 * @param {Buffer} bytes
 */
const checkTree = (part, bytes) => {
  assert.ok(part.headerStart <= part.headerEnd && part.headerEnd <= part.bodyEnd)
  assert.ok(part.bodyEnd <= bytes.length)
  const isCrOnly = !bytes.includes(10)
  let lines = 0
  for (let at = part.headerEnd; at < part.bodyEnd; at++)
    if (bytes[at] === (isCrOnly ? 13 : 10)) lines++
  assert.equal(part.lines, lines)
  if (part.type === 'multipart') assert.ok(part.children.length > 0)
  if (part.isMessage) assert.equal(part.children.length, 1)
  let from = part.headerEnd
  for (const child of part.children) {
    assert.ok(child.headerStart >= from && child.bodyEnd <= part.bodyEnd)
    from = child.bodyEnd
    checkTree(child, bytes)
  }
}

const line = fc.constantFrom(
  '', '', ' ', '--', '-', '--a', '--a--', '--b', '--b--', '--b --', '---', 'x', 'From x', 'Subject: s', '\r', '\r\r',
  'Content-Type: multipart/mixed; boundary=a', 'Content-Type: multipart/digest; boundary=b',
  'Content-Type: multipart/x; boundary="a', 'Content-Type: message/rfc822', 'Content-Type: text/html',
  'Content-Type: multipart/x', ' boundary=b', '\0', '\xff'
) // prettier-ignore
const mail = fc
  .array(fc.tuple(line, fc.constantFrom('\r\n', '\r\n', '\n', '\r')), { maxLength: 40 })
  .map((lines) => Buffer.from(lines.flat().join(''), 'latin1'))

test('any chunking of the same bytes gives the same tree, and the tree is sound', () => {
  fc.assert(
    fc.property(mail, fc.array(fc.nat(400), { maxLength: 8 }), (bytes, cuts) => {
      const whole = parseMessage(bytes)
      checkTree(whole.root, bytes)
      assert.deepEqual(inPieces(bytes, cuts), whole)
    }),
    { numRuns: 3_000 }
  )
})

test('byte at a time gives the same tree', () => {
  fc.assert(
    fc.property(mail, (bytes) => {
      assert.deepEqual(inPieces(bytes, [...bytes.keys()]), parseMessage(bytes))
    }),
    { numRuns: 500 }
  )
})

test('the line end of a message is found within the same bytes under any chunking', () => {
  const late = Buffer.concat([
    Buffer.from('A: 1\r'),
    Buffer.alloc(70_000, 'x'),
    Buffer.from('\n\nb')
  ])
  const whole = parseMessage(late)
  for (const size of [1_000, 65_535, 65_536, 65_537])
    assert.deepEqual(inPieces(late, cutsOf(late, size)), whole)
})

/**
 * @param {Buffer} bytes
 * @param {number} size
 */
const cutsOf = (bytes, size) =>
  Array.from({ length: Math.floor(bytes.length / size) }, (_, index) => (index + 1) * size)

/**
 * @param {Part} part
 * @returns {number}
 */
const countParts = (part) => part.children.reduce((sum, child) => sum + countParts(child), 1)

/**
 * @param {Part} part
 * @returns {number}
 */
const depthOf = (part) => 1 + Math.max(0, ...part.children.map(depthOf))

/** @type {[string, () => Buffer][]} */
const HOSTILE = [
  ['10,000 nested multiparts', () => Buffer.from(nested(10_000))],
  ['10,000 nested messages', () => Buffer.from('Content-Type: message/rfc822\r\n\r\n'.repeat(10_000))],
  ['100,000 parts', () => Buffer.from(`${MIXED}${'--b\r\n\r\nx\r\n'.repeat(100_000)}--b--\r\n`)],
  ['100,000 parts without header', () => Buffer.from(MIXED + '--b\r\n'.repeat(100_000))],
  ['2 MB of header', () => Buffer.from(`${'X-Filler: aaaaaaaaaaaaaaaaaaaa\r\n'.repeat(65_000)}\r\nhi`)],
  ['a header line of 2 MB', () => Buffer.from(`Subject: ${'x'.repeat(2_000_000)}\r\n\r\nhi`)],
  ['a header of 2 MB that never ends', () => Buffer.alloc(2_000_000, 'a:\n')],
  ['2 MB of dashes', () => Buffer.concat([Buffer.from(MIXED), Buffer.alloc(2_000_000, '-')])],
  ['2 MB of lines of two dashes', () => Buffer.concat([Buffer.from(MIXED), Buffer.alloc(2_000_000, '--\n')])],
  ['2 MB of header in lines of dashes', () => Buffer.concat([Buffer.from(BARE), Buffer.alloc(2_000_000, '--c\n')])],
  ['a header of dashes without Content-Type', () => Buffer.alloc(2_000_000, '--c\n')],
  ['a header of dashes whose lines end by CR', () => Buffer.alloc(2_000_000, '--c\r')],
  ['2 MB of line ends', () => Buffer.concat([Buffer.from(MIXED), Buffer.alloc(2_000_000, '\n')])],
  ['2 MB of CR', () => Buffer.alloc(2_000_000, '\r')],
  ['2 MB of NUL', () => Buffer.alloc(2_000_000)],
  ['half a million addresses', () => Buffer.from(`To: ${'a@b,'.repeat(500_000)}\r\n\r\n`)],
  ['a million parentheses in an address', () => Buffer.from(`From: a@b ${'('.repeat(1_000_000)}\r\n\r\n`)],
  ['a megabyte of parameters', () => Buffer.from(`Content-Type: a/b${'; x=y'.repeat(200_000)}\r\n\r\n`)]
] // prettier-ignore

/** @param {number} depth */
function nested(depth) {
  let text = ''
  for (let level = 0; level < depth; level++)
    text += `Content-Type: multipart/mixed; boundary=b${level}\r\n\r\n--b${level}\r\n`
  for (let level = depth - 1; level >= 0; level--) text += `\r\n--b${level}--\r\n`
  return text
}

for (const [name, build] of HOSTILE)
  test(`${name} give a bounded tree, in pieces too`, () => {
    const bytes = build()
    const whole = parseMessage(bytes)
    assert.equal(whole.size, bytes.length)
    assert.equal(whole.root.bodyEnd, bytes.length)
    assert.ok(countParts(whole.root) <= 2 * MAX_PARTS)
    assert.ok(depthOf(whole.root) <= MAX_NESTING + 1)
    assert.deepEqual(inPieces(bytes, cutsOf(bytes, 4_099)), whole)
    const meta = buildMessageMeta(whole)
    const shown = meta.envelope.length + meta.bodyStructure.length + meta.partTree.length
    assert.ok(shown < 4_000_000, `${shown}`)
  })

test('the last part that is shown holds all the rest', () => {
  const bytes = Buffer.from(`${MIXED}${'--b\r\n\r\nx\r\n'.repeat(MAX_PARTS + 5)}--b--\r\n`)
  const last = parseMessage(bytes).root.children.at(-1)
  assert.equal(last?.bodyEnd, bytes.length)
  assert.equal(countParts(parseMessage(bytes).root), MAX_PARTS)
})

test('the headers of many parts are kept up to one bound for all of them', () => {
  const part = `--b\r\nContent-Type: text/html\r\nContent-Description: ${'x'.repeat(12_000)}\r\n\r\n\r\n`
  const { children } = parseMessage(Buffer.from(MIXED + part.repeat(100))).root
  assert.equal(children.at(80)?.subtype, 'html')
  const kept = children.reduce((sum, { description }) => sum + (description ?? '').length, 0)
  assert.ok(kept > MAX_HEADER_BYTES - 20_000 && kept <= MAX_HEADER_BYTES, `${kept}`)
})

test('Content-Type is found behind a huge recipient list', () => {
  const bytes = Buffer.from(`To: ${'a@b, '.repeat(100_000)}\r\nContent-Type: text/html\r\n\r\nx`)
  assert.equal(parseMessage(bytes).root.subtype, 'html')
})
