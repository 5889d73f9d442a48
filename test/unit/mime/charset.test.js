import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { createCharsetDecoder, decodeCharset } from '../../../src/mime/charset.js'

/** @type {[string | null, string, string][]} label, bytes in hexadecimal, text */
const TEXTS = [
  ['utf-8', 'e282ac', '€'],
  ['UTF8', 'efbbbfe282ac', '€'],
  ['"utf-8"', 'e282ac', '€'],
  ["utf-8''", 'e282ac', '€'],
  ['charset=utf-8', 'e282ac', '€'],
  ['utf-8', '61ff62', 'a\uFFFDb'],
  ['us-ascii', '616263', 'abc'],
  ['us-ascii', 'e282ac', '€'],
  ['us-ascii', '80', '€'],
  [null, 'f6', 'ö'],
  ['x-unknown', 'c3b6', 'ö'],
  ['no-such-charset', 'f6', 'ö'],
  ['iso-8859-1', '80f6', '€ö'],
  ['iso-8859-15', 'a4', '€'],
  ['latin1', '80', '€'],
  ['latin-1', '80', '€'],
  ['iso-8859-9', '80fd', '€ı'],
  ['tis-620', '80a1', '€ก'],
  ['ascii', 'e282ac', '€'],
  ['646', 'e282ac', '€'],
  ['ansi_x3.4-1968', 'e282ac', '€'],
  ['unknown-8bit', 'e282ac', '€'],
  ['8bit', 'e282ac', '€'],
  ['x-user-defined', '80', '€'],
  ['windows-1251', 'cff0e8e2e5f2', 'Привет'],
  ['koi8-r', 'f0d2c9d7c5d4', 'Привет'],
  ['x-mac-cyrillic', '8ff0e8e2e5f2', 'Привет'],
  ['x-cp1251', 'cff0e8e2e5f2', 'Привет'],
  ['koi8', 'f0d2c9d7c5d4', 'Привет'],
  ['866', '8fe0a8a2a5e2', 'Привет'],
  ['unicode', 'ac20', '€'],
  ['gb2312', 'c4e3bac3', '你好'],
  ['x-gbk', 'c4e3bac3', '你好'],
  ['big5', 'a741a66e', '你好'],
  ['hz-gb-2312', '7e7b44633a437e7d7e7e', '你好~'],
  ['shift_jis', '93fa967b', '日本'],
  ['cp932', '93fa967b', '日本'],
  ['ms932', '93fa967b', '日本'],
  ['windows-31j', '93fa967b', '日本'],
  ['x-ms-cp932', '93fa967b', '日本'],
  ['euc-jp', 'c6fccbdc', '日本'],
  ['iso-2022-jp', '1b2442467c4b5c1b2842', '日本'],
  [null, '1b2442467c4b5c1b2842', '日本'],
  ['iso-2022-jp', '1b284931411b284261', 'ｱﾁa'],
  ['iso-2022-jp', '1b24284430211b2842611b', '\ufffd0!a\ufffd'],
  ['euc-kr', 'c7d1b1b9', '한국'],
  ['ks_c_5601-1987', 'c7d1b1b9', '한국'],
  ['UHC', 'c7d1b1b98cb4', '한국뙱'],
  ['euc-kr', 'c7d1b1b98cb4', '한국뙱'],
  ['ks_c_5601', 'c7d1b1b98cb4', '한국뙱'],
  ['x-windows-949', 'c7d1b1b98cb4', '한국뙱'],
  ['hz', '7e7b44633a437e7d7e7e', '你好~'],
  ['iso-2022-jp-2', '1b2442467c4b5c1b2842', '日本'],
  ['cp50220', '1b2442467c4b5c1b2842', '日本'],
  ['iso-8859-8-e', 'f9ece5ed', 'שלום'],
  ['iso-8859-6-i', 'e6e7', 'نه'],
  ['iso-2022-kr', '1b2429430e475131390f2e', '한국.'],
  ['utf-7', '2b494b772d', '€'],
  ['utf-16', 'feff20ac', '€'],
  ['utf-16le', 'ac20', '€'],
  ['utf-16be', 'd83dde00d800', '😀\ufffd'],
  ['iso-8859-8-i', 'f9ece5ed', 'שלום']
]

for (const [label, hex, expected] of TEXTS)
  test(`${label} ${hex} is ${expected}`, () =>
    assert.equal(decodeCharset(Buffer.from(hex, 'hex'), label), expected))

test('any label with any bytes gives text', () => {
  fc.assert(
    fc.property(fc.string(), fc.uint8Array(), (label, bytes) => {
      assert.equal(typeof decodeCharset(bytes, label), 'string')
    })
  )
})

/** A first byte of two that turns out to be none, at the end of a piece; then a piece without an odd byte. */
const CUT_LABELS = ['euc-kr', 'cp949', 'shift_jis', 'gb2312', 'gbk', 'gb18030', 'euc-jp', 'big5']

for (const label of CUT_LABELS) {
  test(`${label} is decoded to the same however its bytes are cut, also where they are another charset's`, () => {
    const line = fc
      .array(
        fc.constantFrom('a', '3', ' ', '\xa0', '\xa1', '\xc4\xe3', '\x81', '\xfe', '\x81\x30'),
        {
          maxLength: 40
        }
      )
      .map((letters) => Buffer.from(`${letters.join('')}\r\n`, 'latin1'))
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 8 }),
        fc.array(fc.nat({ max: 50 }), { maxLength: 10 }),
        (lines, sizes) => {
          const bytes = Buffer.concat(lines)
          const decoder = createCharsetDecoder(label)
          let text = ''
          let at = 0
          for (const size of sizes) {
            text += decoder.push(bytes.subarray(at, at + size))
            at = Math.min(at + size, bytes.length)
          }
          text += decoder.push(bytes.subarray(at)) + decoder.end()
          assert.equal(text, decodeCharset(bytes, label))
        }
      ),
      { numRuns: 500 }
    )
  })
}

test('UTF-16 and UTF-32 that do not say their byte order are decoded to the same however they are cut', () => {
  const text = `日本語のテスト文章です。${'agenda '.repeat(200)}`
  const wide = Buffer.alloc(text.length * 4)
  for (let nth = 0; nth < text.length; nth++) wide.writeUInt32BE(text.charCodeAt(nth), nth * 4)
  const texts = /** @type {[string, Buffer][]} */ ([
    ['utf-16', Buffer.from(text, 'utf16le').swap16()],
    ['UTF-32', wide],
    ['ucs-4', wide]
  ])
  for (const [label, bytes] of texts)
    for (const size of [1, 17, 40, 100, 511, 512, bytes.length]) {
      const decoder = createCharsetDecoder(label)
      let decoded = ''
      for (let at = 0; at < bytes.length; at += size)
        decoded += decoder.push(bytes.subarray(at, at + size))
      assert.equal(decoded + decoder.end(), text, `${label} in pieces of ${size}`)
    }
})
