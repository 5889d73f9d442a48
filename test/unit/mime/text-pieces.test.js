import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import iconv from 'iconv-lite'
import { createCharsetDecoder, decodeCharset } from '../../../src/mime/charset.js'
import { HtmlTextReader } from '../../../src/mime/html-text.js'
import { decodeText, TextPartDecoder } from '../../../src/mime/text-extract.js'
import { htmlToVisibleText } from '../../helpers/decode.js'

/**
 * @template {Uint8Array | string} T
 * @param {T} whole
 * @param {number[]} lengths - of the pieces, again and again
 * @returns {T[]} whole, cut
 */
function cut(whole, lengths) {
  const pieces = []
  for (let at = 0, turn = 0; at < whole.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1
    pieces.push(/** @type {T} */ (whole.slice(at, at + length)))
    at += length
  }
  return pieces
}

/**
 * @template T
 * @param {{ push: (piece: T) => string, end: () => string }} reader
 * @param {T[]} pieces
 * @returns {string}
 */
const read = (reader, pieces) => pieces.map((piece) => reader.push(piece)).join('') + reader.end()

const lengths = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 })

/** Of which any bytes are cut as well as sound ones. */
const CHARSETS = [
  null,
  'utf-8',
  'iso-8859-1',
  'koi8-r',
  'iso-2022-jp',
  'utf-16le',
  'utf-16be',
  'utf-7',
  'no-such'
]

/** Of which a damaged sequence may be read otherwise where it is cut. */
const WIDE_CHARSETS = ['shift_jis', 'euc-jp', 'gb2312', 'gb18030', 'big5', 'euc-kr', 'utf-32le']

const BYTES = fc.array(
  fc.oneof(
    fc.constantFrom(
      ...['plain ', '\ufeff', 'é', '語', '😀', '~{', '~}', '~~', '~\n', '~'].map((s) =>
        Buffer.from(s)
      ),
      Buffer.from('\x1b$B'),
      Buffer.from('\x1b(B'),
      Buffer.from('\x1b$)C'),
      Buffer.from('\x0e0!\x0f'),
      Buffer.from([0xff, 0xfe]),
      Buffer.from([0xb0, 0xa1])
    ),
    fc.uint8Array({ maxLength: 6 }).map((bytes) => Buffer.from(bytes))
  ),
  { maxLength: 30 }
)

for (const charset of CHARSETS)
  test(`bytes of ${charset} decode to the same text however they are cut`, () => {
    fc.assert(
      fc.property(BYTES, lengths, (parts, sizes) => {
        const bytes = Buffer.concat(parts)
        const pieces = cut(/** @type {Uint8Array} */ (bytes), sizes)
        assert.equal(read(createCharsetDecoder(charset), pieces), decodeCharset(bytes, charset))
      }),
      { numRuns: 200 }
    )
  })

const LETTERS = fc.string({
  unit: fc.constantFrom(...'plain 語文字,ア한글é'),
  maxLength: 40
})

for (const charset of WIDE_CHARSETS)
  test(`text in ${charset} decodes to the same however it is cut`, () => {
    fc.assert(
      fc.property(LETTERS, lengths, (text, sizes) => {
        const bytes = iconv.encode(text, charset)
        const pieces = cut(/** @type {Uint8Array} */ (bytes), sizes)
        assert.equal(read(createCharsetDecoder(charset), pieces), decodeCharset(bytes, charset))
      }),
      { numRuns: 200 }
    )
  })

const SHIFTED = fc
  .array(
    fc.constantFrom('plain ', '~{', '~}', '~~', '~\n', '\x1b$)C', '\x0e', '\x0f', '0!', '!!'),
    {
      maxLength: 30
    }
  )
  .map((parts) => Buffer.from(parts.join('')))

for (const charset of ['hz-gb-2312', 'iso-2022-kr'])
  test(`shifts of ${charset} are found however they are cut`, () => {
    fc.assert(
      fc.property(SHIFTED, lengths, (bytes, sizes) => {
        // Two-byte characters are left whole: iconv-lite reads damaged ones otherwise where they are cut.
        const text = decodeCharset(bytes, charset)
        fc.pre(!text.includes('\ufffd'))
        const pieces = cut(/** @type {Uint8Array} */ (bytes), sizes)
        assert.equal(read(createCharsetDecoder(charset), pieces), text)
      }),
      { numRuns: 300 }
    )
  })

const HTML = fc
  .array(
    fc.constantFrom(
      ...(
        'text| |\n|\t|<p>|</p>|<b>|</b>|<|>|<!--|-->|<!-->|--!>|<noscript>|<script>|</script>|<STYLE a=">">|</style|&amp;|&|&#10;' +
        '|&nbsp;|&#x20;|&eacute|<a href=\'x  y\'>|<img alt="a &lt; b">|<img alt = "a>b" title=\'"\'>|<img alt=|<!doctype|\u00a0|é'
      ).split('|')
    ),
    { maxLength: 40 }
  )
  .map((parts) => parts.join(''))

test('a page gives the same text however it is cut', () => {
  fc.assert(
    fc.property(HTML, lengths, (html, sizes) => {
      assert.equal(read(new HtmlTextReader(), cut(html, sizes)), htmlToVisibleText(html))
    }),
    { numRuns: 2000 }
  )
})

test('a part gives the same text however it is cut, and never half a letter', () => {
  const part = fc.record({
    encoding: fc.constantFrom('', 'base64', 'quoted-printable', 'x-uuencode', 'unknown'),
    charset: fc.constantFrom(...CHARSETS),
    subtype: fc.constantFrom('plain', 'html')
  })
  fc.assert(
    fc.property(part, BYTES, lengths, (shape, parts, sizes) => {
      const node = /** @type {import('../../../src/mime/part-tree.js').PartNode} */ (
        /** @type {unknown} */ (shape)
      )
      const raw = Buffer.concat(parts)
      const bytes = shape.encoding === 'base64' ? Buffer.from(raw.toString('base64')) : raw
      const decoder = new TextPartDecoder(node)
      const texts = cut(/** @type {Uint8Array} */ (bytes), sizes).map((piece) =>
        decoder.push(Buffer.from(piece))
      )
      for (const text of texts) assert.doesNotMatch(text, /[\ud800-\udbff]$/)
      assert.equal(texts.join('') + decoder.end(), decodeText(node, bytes))
    }),
    { numRuns: 1000 }
  )
})

test('UTF-7 gives the same text however it is cut', () => {
  const letters = fc.constantFrom(
    '+',
    '-',
    '+-',
    '+ACA-',
    '+AGEAYgBj-',
    '+2D3eAA-',
    'a',
    ' ',
    '&',
    '/'
  )
  const texts = fc.array(letters, { maxLength: 30 }).map((parts) => Buffer.from(parts.join('')))
  fc.assert(
    fc.property(texts, lengths, fc.constantFrom('utf-7', 'utf-7-imap'), (bytes, sizes, label) => {
      const pieces = cut(/** @type {Uint8Array} */ (bytes), sizes)
      assert.equal(read(createCharsetDecoder(label), pieces), decodeCharset(bytes, label))
    }),
    { numRuns: 1000 }
  )
  assert.equal(decodeCharset(Buffer.from('+AGEAYgBj-+-'), 'utf-7'), 'abc+')
  assert.equal(decodeCharset(Buffer.from('+/v8AYQ-b+/v8-'), 'utf-7'), 'ab\ufeff')
  const marked = ['+/v8-a', '+/v8-b'].map((piece) => Buffer.from(piece))
  assert.equal(read(createCharsetDecoder('utf-7'), marked), 'a\ufeffb')
})

test('UTF-7 is read as iconv-lite reads it', () => {
  const letters = fc.constantFrom(...'+-&/,aAQ2D3 ', '\u00e9', '+2D3eAA-', '&2D3eAA-', '+/v8-')
  const texts = fc.array(letters, { maxLength: 40 }).map((parts) => Buffer.from(parts.join('')))
  fc.assert(
    fc.property(texts, fc.constantFrom('utf-7', 'utf-7-imap'), (bytes, label) => {
      // It takes a byte order mark for one in the middle of a text, too.
      const [own, its] = [decodeCharset(bytes, label), iconv.decode(bytes, label)].map((text) =>
        text.replaceAll('\ufeff', '').toWellFormed()
      )
      assert.equal(own, its)
    }),
    { numRuns: 5000 }
  )
})

test('an escape that opens nothing may be cut as well', () => {
  for (const bytes of ['\x1b$\0', '\x1b\x1b(\0', 'a\x1b(', '\x1b$(']) {
    const pieces = cut(/** @type {Uint8Array} */ (Buffer.from(bytes)), [1])
    assert.equal(
      read(createCharsetDecoder('iso-2022-jp'), pieces),
      decodeCharset(Buffer.from(bytes), 'iso-2022-jp')
    )
  }
})

test('half of a surrogate pair never ends a piece, nor stands alone', () => {
  const pieces = ['d83d', 'de00', 'd800', 'd8', '00', '0061'].map((hex) => Buffer.from(hex, 'hex'))
  const decoder = createCharsetDecoder('utf-16be')
  assert.deepEqual(
    pieces.map((piece) => decoder.push(piece)),
    ['', '😀', '', '', '\ufffd', '\ufffda']
  )
})

test('a charset that nobody names is told by what follows the first letter outside ASCII', () => {
  const plain = 'a'.repeat(300_000)
  assert.equal(decodeCharset(Buffer.from(`${plain}é`), null), `${plain}é`)
  assert.equal(decodeCharset(Buffer.from(`${plain}é`, 'latin1'), null), `${plain}é`)
  const japanese = Buffer.from(`${plain}\x1b$B0!\x1b(B`)
  assert.equal(decodeCharset(japanese, null), `${plain}亜`)
})

test('letters that are written with marks are composed, however their bytes are cut', () => {
  const letter = fc.constantFrom(
    'a',
    'u',
    ' ',
    '\u0308',
    '\u0301',
    '\u0323',
    'か',
    '\u3099',
    '\u1112',
    '\u1161',
    '\u11ab',
    '😀',
    '語',
    '&#776;'
  )
  fc.assert(
    fc.property(
      fc.array(letter, { maxLength: 300 }),
      lengths,
      fc.boolean(),
      (letters, sizes, isHtml) => {
        const shape = { encoding: '8bit', charset: 'utf-8', subtype: isHtml ? 'html' : 'plain' }
        const node = /** @type {import('../../../src/mime/part-tree.js').PartNode} */ (
          /** @type {unknown} */ (shape)
        )
        const bytes = Buffer.from(letters.join(''))
        const whole = isHtml ? htmlToVisibleText(letters.join('')) : letters.join('')
        assert.equal(read(new TextPartDecoder(node), cut(bytes, sizes)), whole.normalize('NFC'))
      }
    )
  )
})

test('a letter and its mark are one letter wherever a long text is cut between them', () => {
  const bytes = Buffer.from('e\u0301'.repeat(200))
  for (const size of [1, 7, 64, 65, 100, 199]) {
    const decoder = new TextPartDecoder({ encoding: '', charset: 'utf-8', subtype: 'plain' })
    assert.equal(read(decoder, cut(bytes, [size])), 'é'.repeat(200), `${size}`)
  }
})

test('of a page that does not name its charset no more is held than the beginning', () => {
  const decoder = new TextPartDecoder({ encoding: '', charset: null, subtype: 'html' })
  for (let count = 0; count < 3; count++) decoder.push(Buffer.from('word '.repeat(200)))
  assert.match(decoder.push(Buffer.from('last words')), /last/)
})
