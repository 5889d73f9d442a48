import { test } from 'node:test'
import assert from 'node:assert/strict'
import { findParameter, parseContentType, parseStructured } from '../../../src/mime/content-type.js'

/** @type {[string, [string, string, [string, string][]] | null][]} */
const TYPES = [
  ['text/plain', ['text', 'plain', []]],
  [' Text/HTML ; Charset=UTF-8', ['Text', 'HTML', [['Charset', 'UTF-8']]]],
  ['text/plain; charset="us-ascii"; format=flowed', ['text', 'plain', [['charset', 'us-ascii'], ['format', 'flowed']]]], // prettier-ignore
  ['text/plain;; charset=a;', ['text', 'plain', [['charset', 'a']]]],
  ['text/plain (plain; text); charset=a (Latin)', ['text', 'plain', [['charset', 'a']]]],
  ['text/plain (c); (c2) charset (c3; x=y) = (c4) utf-8 (c5)', ['text', 'plain', [['charset', 'utf-8']]]], // prettier-ignore
  ['multipart/mixed; (c) boundary(of (old) parts)=(c)\t(d) "x y" (e); z(c)=1', ['multipart', 'mixed', [['boundary', 'x y'], ['z', '1']]]], // prettier-ignore
  ['a/b; name=(1); x=(open', ['a', 'b', [['name', '(1)'], ['x', '(open']]]], // prettier-ignore
  ['a/b; name=report(1).pdf', ['a', 'b', [['name', 'report(1).pdf']]]],
  ['multipart/mixed; boundary="foo\r\n bar"', ['multipart', 'mixed', [['boundary', 'foo bar']]]],
  ['a/b; x="q\\"\\\\q"', ['a', 'b', [['x', 'q"\\q']]]],
  ['a/b; name=my file.pdf', ['a', 'b', [['name', 'my file.pdf']]]],
  ['a/b; name=my file.pdf format=flowed', ['a', 'b', [['name', 'my file.pdf'], ['format', 'flowed']]]], // prettier-ignore
  ['a/b; charset="utf-8" format=flowed', ['a', 'b', [['charset', 'utf-8'], ['format', 'flowed']]]], // prettier-ignore
  ['text/plain charset=iso-8859-1; format=flowed', ['text', 'plain', [['charset', 'iso-8859-1'], ['format', 'flowed']]]], // prettier-ignore
  ['multipart/mixed\r\n\tboundary="x y"', ['multipart', 'mixed', [['boundary', 'x y']]]],
  ['a/b; boundary="open', ['a', 'b', [['boundary', 'open']]]],
  ['a/b; x=1; X=2', ['a', 'b', [['x', '1']]]],
  ['a/b; x; y=1', ['a', 'b', [['y', '1']]]],
  ['a/b; x = 1 ; y= "2"', ['a', 'b', [['x', '1'], ['y', '2']]]], // prettier-ignore
  ['a/b; x=', ['a', 'b', [['x', '']]]],
  ['text', ['text', 'plain', []]],
  ['multipart; boundary=x', ['multipart', 'mixed', [['boundary', 'x']]]],
  ['image', null],
  ['', null],
  [';charset=x', null],
  ['/plain', null],
  ['"text/plain"', ['text', 'plain', []]],
  ['text / plain', ['text', 'plain', []]],
  ['(open', null],
  ['a/b; (open', ['a', 'b', []]],
  // RFC 2231 §3, §4
  ['a/b; n*0=ab; n*1="c d"; z=1', ['a', 'b', [['n', 'abc d'], ['z', '1']]]], // prettier-ignore
  ['a/b; n*1=b; n*0=a', ['a', 'b', [['n', 'ab']]]],
  ["a/b; n*0*=utf-8'en'%C3%A4; n*1=\" x\"; n*2*=%C3%B6", ['a', 'b', [['n*', "utf-8'en'%C3%A4%20x%C3%B6"]]]], // prettier-ignore
  ["a/b; n*=iso-8859-1''%E4", ['a', 'b', [['n*', "iso-8859-1''%E4"]]]],
  ['a/b; n*2=c; n*3=d', ['a', 'b', [['n', 'cd']]]],
  ['a/b; n*10=d; n*2=c', ['a', 'b', [['n', 'cd']]]]
]

for (const [text, expected] of TYPES)
  test(`Content-Type ${JSON.stringify(text)}`, () => {
    const found = parseContentType(text)
    assert.deepEqual(found && [found.type, found.subtype, found.params], expected)
  })

/** @type {[string, string | null][]} */
const NAMES = [
  ['a/b; filename=plain.txt', 'plain.txt'],
  ['a/b; filename="=?utf-8?q?x?="', '=?utf-8?q?x?='],
  ["a/b; filename*=utf-8''%e2%82%ac.txt", '€.txt'],
  ["a/b; filename*0*=iso-8859-1'de'%E4; filename*1*=%F6", 'äö'],
  ["a/b; filename=bad; filename*=utf-8''good", 'good'],
  ['a/b; filename*=%41', 'A'],
  ['a/b; filename=J\xc3\xb6rg', 'Jörg'],
  ['a/b; filename=J\xf6rg', 'Jörg'],
  ['a/b', null]
]

for (const [text, expected] of NAMES)
  test(`parameter of ${JSON.stringify(text)}`, () =>
    assert.equal(findParameter(parseStructured(text).params, 'filename'), expected))

test('hostile parameters take linear time and give a bounded list', () => {
  for (const piece of [
    ';',
    '(',
    '"',
    'a=b;',
    'a=b ',
    'a*0=b;',
    '\\',
    '= ',
    'a*1*=%;',
    ' \t',
    '=(',
    '=()',
    'a(',
    'a()=(b);'
  ])
    for (const start of ['a/b;', 'a/b'])
      assert.ok(parseStructured(start + piece.repeat(16_000 / piece.length)).params.length <= 100)
  assert.equal(parseStructured('a/b;' + 'x'.repeat(1_000_000)).params.length, 0)
  for (const piece of ['=(', '=(x);', '=()', 'a(', '=(x) '])
    parseStructured(`a/b; ${piece.repeat(1_000_000 / piece.length)}`)
  for (const piece of [' ', ' \t'])
    assert.deepEqual(parseStructured(`a/b; c=d${piece.repeat(512_000)}e`).params, [
      ['c', `d${piece.repeat(512_000)}e`]
    ])
})

test('the end of a value is looked for once, however many nameless values a field has', (t) => {
  const indexOf = t.mock.method(String.prototype, 'indexOf')
  const { params } = parseStructured(`a/b; ${'=x ()'.repeat(1000)}; y=1; z=2`)
  assert.deepEqual(params, [
    ['y', '1'],
    ['z', '2']
  ])
  const searches = indexOf.mock.calls.filter(({ arguments: [wanted] }) => wanted === ';')
  assert.ok(searches.length < 5, `${searches.length}`)
})
