import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { decodeByteString, decodeHeaderText } from '../../../src/mime/encoded-word.js'

/** @type {[string, string][]} */
const TEXTS = [
  ['plain', 'plain'],
  [' folded\r\n text\r\n', 'folded text'],
  ['=?us-ascii?q?a_b?=', 'a b'],
  ['=?utf-8?Q?J=C3=B6rg?=', 'Jörg'],
  ['=?UTF-8?b?SsO2cmc=?=', 'Jörg'],
  ['=?iso-8859-1?q?J=F6rg?= x', 'Jörg x'],
  ['x =?iso-8859-1*de?q?J=F6rg?= y', 'x Jörg y'],
  // RFC 2047 §6.2: white space between two encoded words is not shown.
  ['=?utf-8?q?a?= =?utf-8?q?b?=', 'ab'],
  ['=?utf-8?q?a?=\r\n =?iso-8859-1?q?b?=', 'ab'],
  ['=?utf-8?q?a?= b =?utf-8?q?c?=', 'a b c'],
  ['=?utf-8?q?a?==?utf-8?q?b?=', 'ab'],
  // A character cut in two by the sender.
  ['=?utf-8?q?=C3?= =?utf-8?q?=B6?=', 'ö'],
  ['=?utf-8?b?4oI=?= =?utf-8?b?rA==?=', '€'],
  ['=?utf-8?q?=E2=82?= =?UTF-8?b?rA==?=', '€'],
  ['=?iso-2022-jp?b?GyRCRnxLXBsoQg==?=', '日本'],
  ['=?koi8-r?b?8NLJ18XU?=', 'Привет'],
  ['=?gb2312?b?xOO6ww==?=', '你好'],
  ['=?utf-8?q?with space?=', 'with space'],
  ['=?no-such?q?x=FFy?=', 'xÿy'],
  ['J\xc3\xb6rg raw', 'Jörg raw'],
  ['J\xf6rg raw', 'Jörg raw'],
  ['=?utf-8?x?no?=', '=?utf-8?x?no?='],
  ['=?utf-8?q?open', '=?utf-8?q?open'],
  ['=?', '=?'],
  ['=?utf-8?q??=', ''],
  // A question mark that should have been written as =3F.
  ['=?utf-8?q?How_are_you??=', 'How are you?'],
  ['=?utf-8?q?What?_J=C3=B6rg??= x =?utf-8?q?a?b?=', 'What? Jörg? x a?b'],
  ['=?utf-8?q?open =?utf-8?q?b?=', '=?utf-8?q?open b']
]

for (const [text, expected] of TEXTS)
  test(`header text ${JSON.stringify(text)}`, () => assert.equal(decodeHeaderText(text), expected))

test('any text written as encoded words is read back', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 30 }), (text) => {
      const words =
        Buffer.from(text)
          .toString('base64')
          .match(/.{1,40}/g) ?? []
      const header = words.map((word) => `=?utf-8?b?${word}?=`).join('\r\n ')
      // A BOM in front is no text.
      assert.equal(
        decodeHeaderText(Buffer.from(header).toString('latin1')),
        text.replace(/^\uFEFF/, '')
      )
    })
  )
})

test('a megabyte of beginnings takes linear time', () => {
  for (const piece of [
    '=?',
    '=?a?q?',
    '=?a?q?x?= ',
    '=?a*',
    '?=',
    '?',
    '?x',
    '=?utf-8?b?4oI=?=='
  ]) {
    decodeHeaderText(piece.repeat(1_000_000 / piece.length))
    decodeHeaderText(`=?a?q?${piece.repeat(1_000_000 / piece.length)}`)
  }
  const words = Array.from({ length: 100_000 }, (_, nth) => `=?no-charset-${nth}?q?x?=`)
  assert.equal(decodeHeaderText(words.join('')).length, words.length)
})

test('no more words are decoded than are asked for, and those as without a limit', () => {
  const words = '=?utf-8?q?=C3=A4=C3=B6?=  \x1b$B.=?no-charset?q?x?= '.repeat(10_000)
  const whole = decodeByteString(words)
  const begin = decodeByteString(words, 1_000)
  assert.ok(begin.length >= 1_000 && begin.length < 1_100)
  assert.ok(whole.startsWith(begin))
})
