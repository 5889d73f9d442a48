import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { withCrlf, withoutFromLine } from '../../../src/import/line-ends.js'
import { collectBytes } from '../../helpers/collect.js'
import { parseFromLineDate } from '../../../src/import/from-line.js'

/**
 * @param {AsyncIterable<Buffer>} chunks
 * @returns {Promise<string>}
 */
async function joined(chunks) {
  return (await collectBytes(chunks)).toString('latin1')
}

/**
 * @param {Buffer} bytes
 * @param {number} size
 * @returns {AsyncGenerator<Buffer>}
 */
async function* inChunks(bytes, size) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/** @type {[string, string, string][]} */
const NORMALISED = [
  ['nothing', '', ''],
  ['bare LF', 'a\nb\n', 'a\r\nb\r\n'],
  ['CRLF stays', 'a\r\nb\r\n', 'a\r\nb\r\n'],
  ['a mixture', 'a\r\nb\nc\r\n\n', 'a\r\nb\r\nc\r\n\r\n'],
  ['bare CR stays', 'a\rb\r\rc', 'a\rb\r\rc'],
  ['no end at the end', 'a\nb', 'a\r\nb'],
  ['LF first', '\n\n', '\r\n\r\n'],
  ['NUL and 8-bit bytes stay', '\0\xff\n', '\0\xff\r\n']
]

for (const [name, from, to] of NORMALISED) {
  test(`line ends become CRLF: ${name}`, async () => {
    const bytes = Buffer.from(from, 'latin1')
    for (const size of [1, 2, 3, 1000]) {
      assert.equal(await joined(withCrlf(inChunks(bytes, size))), to, `in chunks of ${size}`)
    }
  })
}

test('the normalised form is its own normalised form, in any chunking', async () => {
  const text = fc.array(fc.constantFrom('\r', '\n', '\r\n', 'a')).map((parts) => parts.join(''))
  await fc.assert(
    fc.asyncProperty(text, fc.integer({ min: 1, max: 9 }), async (from, size) => {
      const once = await joined(withCrlf(inChunks(Buffer.from(from), size)))
      assert.equal(once, from.replace(/(?<!\r)\n/g, '\r\n'))
      assert.equal(await joined(withCrlf(inChunks(Buffer.from(once), size))), once)
    })
  )
})

const LONG = `From ${'x'.repeat(3000)}`

/** @type {[string, string, string | null, string][]} */
const FROM_LINES = [
  ['dropped', 'From a b\nA: b\n', 'From a b', 'A: b\n'],
  ['dropped with CRLF', 'From a b\r\nA: b\r\n', 'From a b', 'A: b\r\n'],
  ['a From header is none', 'From: a\n', null, 'From: a\n'],
  ['only the first line', 'A: b\nFrom a\n', null, 'A: b\nFrom a\n'],
  ['an endless line is none', LONG, null, LONG],
  ['a line without an end is none', 'From a', null, 'From a'],
  ['shorter than the word', 'Fro', null, 'Fro'],
  ['nothing', '', null, '']
]

for (const [name, from, line, rest] of FROM_LINES) {
  test(`a leading mbox line: ${name}`, async () => {
    for (const size of [1, 2, 7, 5000]) {
      /** @type {string[]} */
      const lines = []
      const chunks = withoutFromLine(inChunks(Buffer.from(from), size), (bytes) =>
        lines.push(bytes.toString())
      )
      assert.equal(await joined(chunks), rest, `in chunks of ${size}`)
      assert.deepEqual(lines, line === null ? [] : [line])
    }
  })
}

/** @type {[string, string | null, number][]} */
const DATES = [
  ['From a@b Wed Jul  1 05:04:01 2020', '2020-07-01T05:04:01Z', 0],
  ['From a@b  Fri Feb 22 17:06:23 2008', '2008-02-22T17:06:23Z', 0],
  ['From - Wed Jul 01 05:04 2020', '2020-07-01T05:04:00Z', 0],
  ['From a@b Wed Jul  1 05:04:01 2020 +0200', '2020-07-01T03:04:01Z', 120],
  ['From a@b Wed Jul  1 05:04:01 -0930 2020', '2020-07-01T14:34:01Z', -570],
  ['From a@b Wed Jul  1 05:04:01 CEST 2020', '2020-07-01T05:04:01Z', 0],
  ['From a@b Wed Jul  1 05:04:01 2020 PST', '2020-07-01T05:04:01Z', 0],
  ['From a@b Wed Jul  1 05:04:01 MET DST 2020', '2020-07-01T05:04:01Z', 0],
  ['From b Wed Jul  1 05:04 EDT 1992 remote from host', '1992-07-01T05:04:00Z', 0],
  ['From - Sat Apr 12 2025 15:59:28', '2025-04-12T15:59:28Z', 0],
  ['From Sat Apr 12 2025 15:59:28', null, 0],
  ['From a@b Sat Jan  1 00:00:00 0000', '0000-01-01T00:00:00Z', 0],
  ['From a@b Thu Feb 29 24:00:01 0096', '0096-03-01T00:00:01Z', 0],
  ['From Wed Jul  1 05:04:01 2020 onwards', null, 0],
  ['From Wed Jul  1 05:04:01 2020 till', null, 0],
  ['From my point of view', null, 0],
  ['From a@b Wed Xxx  1 05:04:01 2020', null, 0],
  ['From a@b', null, 0]
]

for (const [line, date, zoneMinutes] of DATES) {
  test(`the date of "${line}"`, () => {
    const parsed = parseFromLineDate(Buffer.from(line))
    const expected = date && { epochSeconds: Date.parse(date) / 1000, zoneMinutes }
    assert.deepEqual(parsed, expected)
  })
}

test('an mbox line may be of any month', () => {
  const months = 'Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec'.split(' ')
  const seconds = months.map(
    (month) =>
      parseFromLineDate(Buffer.from(`From a@b Fri ${month}  1 00:00:00 2021`))?.epochSeconds
  )
  assert.deepEqual(
    seconds,
    months.map((_, month) => Date.UTC(2021, month, 1) / 1000)
  )
})
