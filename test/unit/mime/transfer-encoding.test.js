import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { createTransferDecoder } from '../../../src/mime/transfer-encoding.js'
import { decodeTransfer } from '../../helpers/decode.js'

/** @type {[string, string, string][]} encoding, encoded, decoded */
const BODIES = [
  ['7bit', 'a=3D\r\n', 'a=3D\r\n'],
  ['8BIT', '\xff', '\xff'],
  [' binary ', '\0', '\0'],
  ['', 'x', 'x'],
  ['base64', 'aGVsbG8gd29ybGQ=', 'hello world'],
  ['BASE64', '\r\n  aGVs    \r\n bG8g  \r\n   d29y  \t \r\n    bGQ= \r\n\r\n', 'hello world'],
  ['base64', 'aGVsbG8gdG8geW91IHRvbw==\r\n', 'hello to you too'],
  ['base64', 'aGVsbG8=aGVsbG8=', 'hellohello'],
  ['base64', 'aGVs*&%bG8', 'hello'],
  ['base64', 'aGVsbG8', 'hello'],
  ['base64', '====', ''],
  ['quoted-printable', 'a=3Db=3db', 'a=b=b'],
  ['quoted-printable', 'hello  \r\nbar=\r\n\r\n', 'hello\r\nbar\r\n'],
  ['quoted-printable', 'foo\t=\r\nbar\r\n', 'foo\tbar\r\n'],
  ['quoted-printable', 'foo\t \t= \r\n=62\r\n', 'foo\t \tb\r\n'],
  ['quoted-printable', 'foo = \t\r\nbar\r\n', 'foo bar\r\n'],
  ['quoted-printable', 'foo_bar =', 'foo_bar '],
  ['quoted-printable', 'a=\nb \nc', 'ab\nc'],
  ['quoted-printable', 'a=XYb=4', 'a=XYb=4'],
  ['quoted-printable', 'a\r\rb ', 'a\r\rb'],
  ['quoted-printable', 'tail \t', 'tail'],
  ['x-uuencode', 'text\r\nbegin 644 f.txt\r\n%:&5L;&\\\r\n`\r\nend\r\nmore', 'hello'],
  ['uuencode', 'begin 644 f\n#86)C\n \nend\n', 'abc']
]

for (const [encoding, encoded, decoded] of BODIES)
  test(`${encoding} ${JSON.stringify(encoded)}`, () =>
    assert.equal(
      decodeTransfer(Buffer.from(encoded, 'latin1'), encoding)?.toString('latin1'),
      decoded
    ))

test('an encoding that is not known is told, not guessed', () => {
  for (const encoding of ['x-unprintable', 'base-64', '7bit;']) {
    assert.equal(createTransferDecoder(encoding), null)
    assert.equal(decodeTransfer(Buffer.from('x'), encoding), null)
  }
})

const encoding = fc.constantFrom('base64', 'quoted-printable', 'uuencode', '7bit')
const body = fc
  .array(
    fc.constantFrom(
      '=',
      '=3D',
      '=\r\n',
      ' ',
      '\t',
      '\r',
      '\n',
      '\r\n',
      'QUJD',
      'a',
      'begin 644 x\n',
      '#86)C\n',
      'end\n'
    ),
    { maxLength: 40 }
  ) // prettier-ignore
  .map((pieces) => Buffer.from(pieces.join('')))

test('any chunking of the same bytes decodes to the same', () => {
  fc.assert(
    fc.property(encoding, body, fc.array(fc.nat(60), { maxLength: 6 }), (name, bytes, cuts) => {
      const decoder = createTransferDecoder(name)
      assert.ok(decoder)
      const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b)]
      const out = places.map((from, index) => decoder.push(bytes.subarray(from, places[index + 1])))
      const chunked = Buffer.concat([...out, decoder.end()])
      assert.equal(chunked.toString('latin1'), decodeTransfer(bytes, name)?.toString('latin1'))
    }),
    { numRuns: 2_000 }
  )
})

test('base64 of any bytes comes back', () => {
  fc.assert(
    fc.property(fc.uint8Array(), (bytes) => {
      const encoded = Buffer.from(bytes).toString('base64').replace(/.{7}/g, '$&\r\n')
      assert.deepEqual(decodeTransfer(Buffer.from(encoded), 'base64'), Buffer.from(bytes))
    })
  )
})

test('an escape, and a soft line break, of a line of kilobytes may be cut anywhere', () => {
  const bytes = Buffer.from(`${'=3D'.repeat(3_000)}= \t\r\n${'z= =y'.repeat(2_000)}`)
  const whole = decodeTransfer(bytes, 'quoted-printable')
  assert.equal(whole?.toString(), '='.repeat(3_000) + 'z= =y'.repeat(2_000))
  for (let cut = 8_990; cut < 9_010; cut++) {
    const decoder = createTransferDecoder('quoted-printable')
    assert.ok(decoder)
    const out = [bytes.subarray(0, cut), bytes.subarray(cut)].map((piece) => decoder.push(piece))
    assert.ok(Buffer.concat([...out, decoder.end()]).equals(whole), `${cut}`)
  }
})

test('a line of megabytes without an end takes linear time and is given out as it comes', () => {
  for (const piece of ['a', ' ', '=', '=4', '\r', 'begin 644 x']) {
    for (const name of ['quoted-printable', 'uuencode']) {
      const decoder = createTransferDecoder(name)
      assert.ok(decoder)
      const chunk = Buffer.from(piece.repeat(65_536 / piece.length))
      let bytes = 0
      for (let count = 0; count < 200; count++) bytes += decoder.push(chunk).length
      if (name === 'quoted-printable') assert.ok(bytes >= 198 * 65_536, piece)
      assert.ok(decoder.end().length <= 131_072)
    }
  }
})
