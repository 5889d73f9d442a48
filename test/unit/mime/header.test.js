import { test } from 'node:test'
import assert from 'node:assert/strict'
import { parseHeaderFields, trimSpace, unfoldText } from '../../../src/mime/header.js'
import { filterHeader } from '../../../src/mime/section.js'

/** @param {string} text */
const fieldsOf = (text) =>
  parseHeaderFields(Buffer.from(text, 'latin1')).map(({ name, value }) => [
    name,
    unfoldText(value.toString('latin1'))
  ])

/** @type {[string, string, [string, string][]][]} */
const HEADERS = [
  ['plain', 'A: 1\r\nB: 2\r\n\r\n', [['A', '1'], ['B', '2']]], // prettier-ignore
  ['bare LF', 'A: 1\nB: 2\n\n', [['A', '1'], ['B', '2']]], // prettier-ignore
  ['bare CR in the whole block', 'A: 1\rB: 2\r\r', [['A', '1'], ['B', '2']]], // prettier-ignore
  ['folded', 'A: 1\r\n 2\r\n\t3\r\nB:\r\n\r\n', [['A', '1 2\t3'], ['B', '']]], // prettier-ignore
  ['space before the colon', 'A \t: 1\r\n\r\n', [['A', '1']]],
  ['NUL before the colon', 'A\0\0: 1\r\n\r\n', [['A', '1']]],
  ['a line without a colon', 'A: 1\r\nrubbish\r\nB: 2\r\n', [['A', '1'], ['B', '2']]], // prettier-ignore
  ['a fold of a line that is no field', 'rubbish\r\n A: 1\r\nB: 2\r\n', [['B', '2']]],
  ['a fold with nothing before it', ' A: 1\r\nB: 2\r\n', [['B', '2']]],
  ['an mbox line', 'From a@b Fri Feb 22\r\nB: 2\r\n', [['B', '2']]],
  ['no name', ': 1\r\nB: 2\r\n', [['B', '2']]],
  ['cut off in a field', 'A: 1\r\nB: 2', [['A', '1'], ['B', '2']]], // prettier-ignore
  ['nothing after the blank line', 'A: 1\r\n\r\nB: 2\r\n', [['A', '1']]],
  ['doubled CR', 'A: 1\r\r\n\r\r\nB: 2\r\n', [['A', '1']]],
  ['a line of white space is a fold', 'A: 1\r\n  \r\nB: 2\r\n\r\n', [['A', '1'], ['B', '2']]], // prettier-ignore
  ['a byte order mark', '\xef\xbb\xbfA: 1\r\nB: 2\r\n\r\n', [['A', '1'], ['B', '2']]], // prettier-ignore
  ['a byte order mark in a line of its own', '\xef\xbb\xbf\r\nB: 2\r\n\r\n', [['B', '2']]],
  ['half a byte order mark', '\xef\xbbA: 1\r\n\r\n', [['\xef\xbbA', '1']]],
  ['empty', '', []]
]

for (const [name, text, expected] of HEADERS)
  test(`header fields: ${name}`, () => assert.deepEqual(fieldsOf(text), expected))

test('a field knows where it stands, so that its bytes can be served as they are', () => {
  const block = Buffer.from('A: 1\r\n x\r\nBc: 2\r\n\r\n')
  const [first, second] = parseHeaderFields(block)
  assert.deepEqual([first?.start, first?.end, second?.start, second?.end], [0, 10, 10, 17])
  assert.equal(second?.lowerName, 'bc')
  assert.equal(first?.value.toString(), ' 1\r\n x\r\n')
})

test('trimming leaves 0xA0 alone, which is half of a character in UTF-8', () => {
  assert.equal(trimSpace(' \t\xc3\xa0\r\n'), '\xc3\xa0')
})

test('a megabyte of one-letter fields and a megabyte without a colon take linear time', () => {
  assert.equal(parseHeaderFields(Buffer.from('a:\n'.repeat(300_000))).length, 300_000)
  assert.equal(parseHeaderFields(Buffer.alloc(1_048_576, 'x')).length, 0)
  assert.equal(parseHeaderFields(Buffer.from('x\n '.repeat(300_000))).length, 0)
})

const BLOCK = 'From: a@b\r\nSubject: one\r\n two\r\nrubbish\r\nsubject: three\r\nTo: c\r\n\r\n'

/** @type {[string[], boolean, string][]} */
const FILTERS = [
  [['from'], false, 'From: a@b\r\n\r\n'],
  [['FROM', 'From'], false, 'From: a@b\r\n\r\n'],
  [['Subject'], false, 'Subject: one\r\n two\r\nsubject: three\r\n\r\n'],
  [['To', 'From'], false, 'From: a@b\r\nTo: c\r\n\r\n'],
  [['x'], false, '\r\n'],
  [[], false, '\r\n'],
  [['subject', 'to'], true, 'From: a@b\r\nrubbish\r\n\r\n'],
  [[], true, BLOCK]
]

for (const [fields, not, expected] of FILTERS)
  test(`HEADER.FIELDS${not ? '.NOT' : ''} (${fields.join(' ')}) keeps folds and order`, () =>
    assert.equal(filterHeader(Buffer.from(BLOCK), { fields, not }).toString(), expected))

test('a header that is cut off in a field still gives a field list that ends in a blank line', () =>
  assert.equal(
    filterHeader(Buffer.from('A: 1'), { fields: ['a'], not: false }).toString(),
    'A: 1\r\n\r\n'
  ))

const MARKED = Buffer.from('\xef\xbb\xbfFrom: a@b\r\nTo: c\r\n\r\n', 'latin1')

test('a field behind a byte order mark is filtered without it', () => {
  const filtered = (/** @type {boolean} */ not) =>
    filterHeader(MARKED, { fields: ['from'], not }).toString()
  assert.equal(filtered(false), 'From: a@b\r\n\r\n')
  assert.equal(filtered(true), 'To: c\r\n\r\n')
})
