import { test } from 'node:test'
import assert from 'node:assert/strict'
import {
  decodedField,
  searchableHeader,
  searchablePartHeader
} from '../../../src/mime/searchable-header.js'

const BLOCK = Buffer.from(
  'From: =?utf-8?q?J=C3=B6rg?= <j (x)@ (y) d>\r\nSubject: one\r\n two\r\nrubbish\r\nX: J\xf6rg\r\nFROM: c@d\r\n\r\n',
  'latin1'
)

test('fields are decoded, and addresses are also there in plain form', () => {
  assert.deepEqual(decodedField(BLOCK, 'From'), ['Jörg <j (x)@ (y) d>\nJörg <j@d>', 'c@d'])
  assert.deepEqual(decodedField(BLOCK, 'SUBJECT'), ['one two'])
  assert.deepEqual(decodedField(BLOCK, 'missing'), [])
})

test('the searchable header has every field once, decoded, and lines that are no field', () =>
  assert.equal(
    searchableHeader(BLOCK),
    'From: Jörg <j (x)@ (y) d>\nJörg <j@d>\nSubject: one two\nrubbish\nX: Jörg\nFROM: c@d'
  ))

test('a byte order mark is no part of the first field', () => {
  const marked = Buffer.concat([Buffer.of(0xef, 0xbb, 0xbf), BLOCK])
  assert.deepEqual(decodedField(marked, 'From'), decodedField(BLOCK, 'From'))
  assert.equal(searchableHeader(marked), searchableHeader(BLOCK))
})

/** @type {[string, string, string][]} */
const FOLDS = [
  ['X', 'one\r\n\ttwo', 'one two'],
  ['X', 'one \r\n   two', 'one two'],
  ['X', 'one  two\tthree', 'one  two\tthree'],
  ['X', '=?utf-8?q?one?=\r\n\t=?utf-8?q?two?=', 'onetwo'],
  ['X', ' \r\n one\r\n \r\n', 'one'],
  ['Subject', 'one\r\n\ttwo', 'one two\none\ttwo'],
  ['To', 'a\r\n\tb <c@d>', 'a b <c@d>\na\tb <c@d>']
]

for (const [name, written, text] of FOLDS)
  test(`the folds of ${JSON.stringify(written)} in ${name}`, () =>
    assert.deepEqual(decodedField(Buffer.from(`${name}: ${written}\r\n`), name), [text]))

test('a megabyte of white space or of line ends takes linear time', () => {
  for (const piece of [' ', '\t', '\r', ' \r\n'])
    decodedField(Buffer.from(`X: a${piece.repeat(1_000_000)}b\r\n`), 'X')
})

/** @type {[string, string][]} */
const PARTS = [
  ['Content-Type: text/plain; charset=utf-8\r\nContent-Transfer-Encoding: base64\r\n\r\n', ''],
  ['Content-Type: image/png;\r\n name="a b.png"\r\n', 'a b.png'],
  ['Content-Type: a/b; name=x\r\nContent-Disposition: inline; filename=x\r\n', 'x'],
  ['Content-Disposition: attachment; filename="=?utf-8?q?=C3=A4?="\r\n', 'ä'],
  ["Content-Disposition: attachment; filename=a; filename*=utf-8''%C3%A4\r\n", 'a\nä'],
  [
    "Content-Disposition: attachment; filename*0*=iso-8859-1''%E4; filename*1=b; filename*2*=%E4\r\n",
    'äbä'
  ],
  ['Content-Description: =?utf-8?q?=C3=A4?= and\r\n\tb\r\n', 'ä and b'],
  ["Content-Disposition: attachment; filename*=utf-8''a%CC%88\r\n", '\u00e4'],
  ['Content-Type\r\nContent-Disposition:\r\n', '']
]

for (const [header, text] of PARTS)
  test(`of the part header ${JSON.stringify(header)} a reader sees ${JSON.stringify(text)}`, () =>
    assert.equal(searchablePartHeader(Buffer.from(header)), text))

test('the name of a file in the header of a message is decoded too', () =>
  assert.deepEqual(
    decodedField(Buffer.from("Content-Type: a/b; name*=utf-8''%C3%A4\r\n"), 'content-type'),
    ["a/b; name*=utf-8''%C3%A4\nä"]
  ))
