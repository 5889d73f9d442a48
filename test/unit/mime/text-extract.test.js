import { test } from 'node:test'
import assert from 'node:assert/strict'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { HtmlTextReader } from '../../../src/mime/html-text.js'
import { MAX_TEXT_PART_BYTES } from '../../../src/mime/limits.js'
import { parseMessage } from '../../../src/mime/parse-message.js'
import { toPartTree } from '../../helpers/part-tree.js'
import { textPieces } from '../../../src/mime/text-extract.js'
import { htmlToVisibleText } from '../../helpers/decode.js'

/** @param {string} text */
const piecesOf = (text) => {
  const bytes = Buffer.from(text, 'latin1')
  const tree = toPartTree(parseMessage(bytes).root)
  return [...textPieces(tree, (start, end) => bytes.subarray(start, end))].map(
    ({ kind, text: found }) => [kind, found]
  )
}

test('the text of every text part is decoded from its encoding and its charset', () => {
  assert.deepEqual(
    piecesOf(
      'Content-Type: multipart/mixed; boundary=b\r\n\r\npreamble\r\n' +
        '--b\r\nContent-Type: text/plain; charset=koi8-r\r\nContent-Transfer-Encoding: base64\r\n\r\n8NLJ18XU\r\n' +
        '--b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n' +
        '<p>J=C3=B6rg</p>\r\n' +
        '--b\r\nContent-Type: image/png; name=a.png\r\n\r\nnot text\r\n' +
        '--b\r\nContent-Type: text/plain\r\nContent-Transfer-Encoding: x-own\r\n\r\nas it is\r\n' +
        '--b\r\nContent-Type: message/rfc822\r\n\r\nSubject: =?utf-8?q?J=C3=B6rg?=\r\n\r\ninner\r\n' +
        '--b\r\nContent-Type: message/delivery-status\r\n\r\nAction: failed\r\n--b--'
    ),
    [
      ['text', 'Привет'],
      ['text', 'Jörg'],
      ['part header', 'a.png'],
      ['text', 'as it is'],
      ['header', 'Subject: Jörg'],
      ['text', 'inner'],
      ['text', 'Action: failed']
    ]
  )
})

test('of a message of one part its body is the text', () => {
  assert.deepEqual(piecesOf('A: 1\r\n\r\nhi'), [['text', 'hi']])
  assert.deepEqual(piecesOf('A: 1\r\n\r\n'), [])
})

test('HTML without a charset in its header is read in the one that it names itself', () => {
  const head = 'Content-Type: text/html\r\n\r\n'
  const page = '<meta http-equiv=x content="text/html; charset=windows-1251"><p>\xcf\xf0'
  assert.deepEqual(piecesOf(head + page), [['text', 'Пр']])
  for (const wide of ['unicode', 'utf-16', 'UTF-16LE', 'ucs-2', 'utf-32'])
    assert.deepEqual(
      piecesOf(`${head}<meta charset="${wide}"><p>J\xc3\xb6rg`),
      [['text', 'Jörg']],
      wide
    )
})

test('of a part larger than the limit only the first bytes are read', () => {
  const tree = toPartTree(parseMessage(Buffer.from('A: 1\r\n\r\nhi')).root)
  tree.bodyEnd = tree.headerEnd + MAX_TEXT_PART_BYTES + 1
  const asked = []
  for (const { text } of textPieces(tree, (start, end) => Buffer.from(`${end - start}`)))
    asked.push(text)
  assert.deepEqual(asked, [`${MAX_TEXT_PART_BYTES}`])
})

/** @type {[string, string][]} */
const PAGES = [
  ['hello <b>wor</b>ld', 'hello world'],
  ['<p>one</p><p>two</p>', 'one\ntwo'],
  ['one<br>two', 'one\ntwo'],
  ['<td>a</td><td>b</td>', 'a\nb'],
  ['hello\r\n   world', 'hello world'],
  ['<STYLE>p { x }</STYLE >seen<script>if (a < b) "</p>"</script> too', 'seen\ntoo'],
  ['a<!-- <b>hidden</b> -->b', 'ab'],
  ['a<!-->b<!--->c<!---->d<!-- > -->e', 'abcde'],
  ['a<!--b--!>c<!--!>d-->e<!---!>f-->g<!-- -- > -! > --!-->h', 'acegh'],
  ['<noscript><style>x{}</style><p>No script</noscript>here', 'No script\nhere'],
  ['<!--[if !mso]><!-->seen<!--<![endif]-->', 'seen'],
  ['<!DOCTYPE html>x<?php y ?>', 'x'],
  ['<a href="https://x.org/?a=1&amp;b=2">link</a>', 'https://x.org/?a=1&b=2 link'],
  [
    '<a href="/?a=1&timestamp=2&copy=3&amp;reg=4&eacute;=5">x</a>',
    '/?a=1&timestamp=2&copy=3&reg=4é=5 x'
  ],
  ["<img src=x alt='Q&A &amp; more &copy; us'>", 'Q&A & more © us'],
  ["<img src=x alt='a picture'>", 'a picture'],
  ['a<img alt="Home > Mail" title = \'2>1\'>b', 'a\nHome > Mail 2>1 b'],
  ['<a title="x > y" title2="\'>z\'" href=it"s>in</a> out', 'x > y it in out'],
  ['<!DOCTYPE html PUBLIC ="x>seen', 'seen'],
  ['a&Tab;b&NewLine;c&#10;d&#xD;e', 'a b c d e'],
  ['&bepsix; &backepsilonx; &bepsi;', '&bepsix; &backepsilonx; ϶'],
  ['&lt;b&gt; &amp;amp; &eacute;&#233;&#xE9; &nbsp;&unknown; &', '<b> &amp; ééé &unknown; &'],
  ['1 < 2 and 3 > 2', '1 < 2 and 3 > 2'],
  ['text <b', 'text'],
  ['text <!-- open', 'text'],
  ['text <script> open', 'text'],
  ['', '']
]

for (const [html, expected] of PAGES)
  test(`visible text of ${JSON.stringify(html)}`, () =>
    assert.equal(htmlToVisibleText(html).replaceAll('\u00a0', ' ').replace(/ +/g, ' '), expected))

test('a megabyte of open tags, comments or references takes linear time', () => {
  for (const piece of [
    '<div>',
    '<',
    '<b',
    '<!--',
    '<a href="',
    '<script>',
    '&amp',
    '&#',
    '<p =',
    '</',
    '<x a=b ',
    '\n ',
    '&x;'
  ])
    // prettier-ignore
    htmlToVisibleText(piece.repeat(1_000_000 / piece.length))
})

test('a character reference that is remembered keeps no page in memory', () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc')
  const words = 'word '.repeat(25_000)
  const heldBytes = () => {
    collectGarbage()
    return process.memoryUsage().heapUsed
  }
  const before = heldBytes()
  for (let page = 0; page < 200; page++) {
    const reader = new HtmlTextReader()
    reader.push(`${words}&unknowncharacter${page};${words}`)
    reader.end()
  }
  const grown = heldBytes() - before
  assert.ok(grown < (200 * words.length) / 5, `${grown} bytes`)
})
