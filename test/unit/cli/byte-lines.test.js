import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import fc from 'fast-check'
import { byteLines } from '../../../src/cli/byte-lines.js'
import { CliError } from '../../../src/cli/cli-error.js'

/**
 * @param {Buffer[]} chunks
 * @param {number} [maxBytes]
 * @returns {Promise<string[]>}
 */
async function linesOf(chunks, maxBytes = 100) {
  const lines = []
  for await (const line of byteLines(Readable.from(chunks), { maxBytes })) {
    lines.push(line.toString('latin1'))
  }
  return lines
}

test('lines end with LF or CRLF, the last one with nothing as well', async () => {
  const table = /** @type {[string, string[]][]} */ ([
    ['', []],
    ['a', ['a']],
    ['a\n', ['a']],
    ['a\r\nb\n\nc', ['a', 'b', '', 'c']],
    ['\n', ['']],
    ['a\rb\n', ['a\rb']],
    ['pässword\n', ['pässword']]
  ])
  for (const [text, lines] of table) {
    assert.deepEqual(await linesOf([Buffer.from(text, 'latin1')]), lines)
  }
})

test('a byte order mark, which some editors write and do not show, is no part of the first line', async () => {
  const mark = Buffer.of(0xef, 0xbb, 0xbf)
  const text = Buffer.concat([mark, Buffer.from('# first\r\n'), mark, Buffer.from('second\n')])
  const expected = ['# first', `${mark.toString('latin1')}second`]
  assert.deepEqual(await linesOf([Buffer.from(text)], 9), expected)
  assert.deepEqual(
    await linesOf(
      [...text].map((byte) => Buffer.of(byte)),
      9
    ),
    expected
  )
  assert.deepEqual(await linesOf([Buffer.from(mark)]), [''])
})

test('any chunking of the same bytes gives the same lines', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '\r', '\n', 'é') })
  await fc.assert(
    fc.asyncProperty(text, fc.array(fc.nat(20)), async (whole, cuts) => {
      const bytes = Buffer.from(whole, 'latin1')
      const places = [0, ...cuts.filter((cut) => cut <= bytes.length), bytes.length]
      places.sort((left, right) => left - right)
      const chunks = places
        .slice(1)
        .map((end, index) => Buffer.from(bytes.subarray(places[index], end)))
        .filter((chunk) => chunk.length > 0)
      assert.deepEqual(await linesOf(chunks), await linesOf([Buffer.from(bytes)]))
    })
  )
})

test('a line has at most so many bytes, even if it never ends', async () => {
  assert.deepEqual(await linesOf([Buffer.from('12345\n1234\r\n')], 5), ['12345', '1234'])
  await assert.rejects(linesOf([Buffer.from('123456\n')], 5), CliError)
  await assert.rejects(linesOf(Array(99).fill(Buffer.from('1')), 5), CliError)
})

test('what was read is zeroed, and each line has memory of its own', async () => {
  const chunks = [Buffer.from('secret\nmore se'), Buffer.from('cret\n')]
  for await (const line of byteLines(Readable.from(chunks), { maxBytes: 50 })) {
    assert.equal(line.buffer.byteLength, line.length)
  }
  for (const chunk of chunks) assert.deepEqual(chunk, Buffer.alloc(chunk.length))
})

test('what was read is zeroed where the reader leaves after a line, or one is too long', async (t) => {
  const alloc = t.mock.method(Buffer, 'alloc')
  const copies = () => alloc.mock.calls.map(({ result }) => /** @type {Buffer} */ (result))
  const stream = Readable.from([Buffer.from('secret\nanother\nand')])
  const lines = byteLines(stream, { maxBytes: 50 })
  const { value } = await lines.next()
  assert.equal(value?.toString(), 'secret')
  value?.fill(0)
  assert.ok(copies().some((bytes) => bytes.includes('another')))
  await lines.return()
  await assert.rejects(linesOf([Buffer.from('unended '), Buffer.from('secret\n')], 5), CliError)
  for (const bytes of copies()) assert.deepEqual([...bytes], Array(bytes.length).fill(0))
})
