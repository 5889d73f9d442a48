import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { quoted } from '../../../src/export/mbox-quoting.js'
import { MboxSplitter } from '../../../src/import/mbox-splitter.js'

/** @typedef {import('../../../src/import/mbox-splitter.js').MboxQuoting} MboxQuoting */

/**
 * @param {Buffer[]} chunks
 * @param {MboxQuoting} [quoting]
 * @returns {{ before: string, messages: [string, string][] }} From_ line and bytes of each message
 */
function split(chunks, quoting) {
  const splitter = new MboxSplitter(quoting ? { quoting } : {})
  const pieces = chunks.flatMap((chunk) => splitter.push(chunk))
  pieces.push(...splitter.end())
  let before = ''
  /** @type {[string, string][]} */
  const messages = []
  for (const piece of pieces) {
    const last = messages.at(-1)
    if (piece.kind === 'from') messages.push([piece.line.toString('latin1'), ''])
    else if (last) last[1] += piece.bytes.toString('latin1')
    else before += piece.bytes.toString('latin1')
  }
  return { before, messages }
}

/**
 * @param {Buffer} bytes
 * @param {number} size
 * @returns {AsyncGenerator<Buffer>}
 */
async function* cutUp(bytes, size) {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

/**
 * @param {AsyncIterable<Buffer>} chunks
 * @returns {Promise<Buffer[]>}
 */
async function collect(chunks) {
  const collected = []
  for await (const chunk of chunks) collected.push(chunk)
  return collected
}

const FROM = 'From a@example.org Wed Jul  1 05:04:01 2020'
const OTHER = 'From b@example.org Thu Jul  2 06:00:00 2020'

/** @type {{ name: string, mbox: string, quoting?: MboxQuoting, messages: [string, string][] }[]} */
const CASES = [
  { name: 'an empty file has no message', mbox: '', messages: [] },
  {
    name: 'two messages; the empty lines between and at the end belong to the mbox',
    mbox: `${FROM}\nSubject: 1\n\nbody\n\n${OTHER}\nSubject: 2\n\nbody\n\n`,
    messages: [
      [FROM, 'Subject: 1\n\nbody\n'],
      [OTHER, 'Subject: 2\n\nbody\n']
    ]
  },
  {
    name: 'a byte order mark is no part of the first From_ line',
    mbox: `\xef\xbb\xbf${FROM}\nA: b\n\n>From x\n\n${OTHER}\nA: b\n\n\xef\xbb\xbfc\n`,
    messages: [
      [FROM, 'A: b\n\nFrom x\n'],
      [OTHER, 'A: b\n\n\xef\xbb\xbfc\n']
    ]
  },
  {
    name: 'a byte order mark may stand in a line of its own, as an empty line may',
    mbox: `\xef\xbb\xbf\r\n${FROM}\nA: b\n`,
    messages: [[FROM, 'A: b\n']]
  },
  {
    name: 'only one empty line is taken',
    mbox: `${FROM}\nA: b\n\nbody\n\n\n\n${OTHER}\nA: b\n\nbody`,
    messages: [
      [FROM, 'A: b\n\nbody\n\n\n'],
      [OTHER, 'A: b\n\nbody']
    ]
  },
  {
    name: 'CRLF line ends',
    mbox: `${FROM}\r\nA: b\r\n\r\n>From x\r\n\r\n${OTHER}\r\nA: b\r\n\r\n`,
    messages: [
      [FROM, 'A: b\r\n\r\nFrom x\r\n'],
      [OTHER, 'A: b\r\n']
    ]
  },
  {
    name: 'a From line with neither an empty line before it nor a header field behind it is text',
    mbox: `${FROM}\nA: b\n\nbody\n${OTHER}\nmore\n\n`,
    messages: [[FROM, `A: b\n\nbody\n${OTHER}\nmore\n`]]
  },
  {
    name: 'a line that begins with a bare CR is not empty',
    mbox: `${FROM}\nA: b\n\n\rbody\n${OTHER}\nmore\n\n`,
    messages: [[FROM, `A: b\n\n\rbody\n${OTHER}\nmore\n`]]
  },
  {
    name: 'a line with the date alone is text, also on a Friday',
    mbox: `${FROM}\nA: b\n\nbody\nFri Jul  3 05:04:01 2020\nStatus: open\n`,
    messages: [[FROM, 'A: b\n\nbody\nFri Jul  3 05:04:01 2020\nStatus: open\n']]
  },
  {
    name: 'where a header field follows, a From_ line with a date needs no empty line before it',
    mbox: `${FROM}\nA: b\n\nbody\n${OTHER}\nA: b\n\n${FROM}\r\nA: b\r\n${OTHER}\nStatus : O\n${OTHER}\n`,
    messages: [
      [FROM, 'A: b\n\nbody\n'],
      [OTHER, 'A: b\n'],
      [FROM, 'A: b\r\n'],
      [OTHER, `Status : O\n${OTHER}\n`]
    ]
  },
  {
    name: 'a From line without a date needs an empty line before it',
    mbox: `From a\nA: b\n\nbody\nFrom b\nA: b\n\n`,
    messages: [['From a', 'A: b\n\nbody\nFrom b\nA: b\n']]
  },
  {
    name: 'an unquoted paragraph that begins with From is text where the From_ lines have dates',
    mbox: `${FROM}\nA: b\n\nbody\n\nFrom my point of view\n\n`,
    messages: [[FROM, 'A: b\n\nbody\n\nFrom my point of view\n']]
  },
  {
    name: 'where From_ lines have no dates the empty line decides alone',
    mbox: 'From a\nA: b\n\nbody\n\nFrom b\nA: b\n\n',
    messages: [
      ['From a', 'A: b\n\nbody\n'],
      ['From b', 'A: b\n']
    ]
  },
  {
    name: 'a From_ line that says nothing begins a message among dated ones where a header field follows',
    mbox: `${FROM}\r\nA: b\r\n\r\nbody\r\n\r\nFrom \r\nA: b\r\n\r\nbody\r\n\r\nFrom -\r\nA: b\r\n\r\nbody\r\n\r\n${OTHER}\r\nA: b\r\n`,
    messages: [
      [FROM, 'A: b\r\n\r\nbody\r\n'],
      ['From ', 'A: b\r\n\r\nbody\r\n'],
      ['From -', 'A: b\r\n\r\nbody\r\n'],
      [OTHER, 'A: b\r\n']
    ]
  },
  {
    name: 'a From line that says nothing is text where no empty line stands before it, or no header field behind it',
    mbox: `${FROM}\nA: b\n\nFrom \nhere\nFrom \nA: b\n\nFrom \n\nFrom `,
    messages: [[FROM, 'A: b\n\nFrom \nhere\nFrom \nA: b\n\nFrom \n\nFrom ']]
  },
  {
    name: 'a From_ line that says nothing needs no empty line before it where two lines of a header follow',
    mbox: `${FROM}\nA: b\n\nbody\nFrom \nA: b\nB: c\n\nbody\nFrom \r\nA: b\r\n\tc\r\n\r\nFrom \nA: b\nhere\n`,
    messages: [
      [FROM, 'A: b\n\nbody\n'],
      ['From ', 'A: b\nB: c\n\nbody\n'],
      ['From ', 'A: b\r\n\tc\r\n'],
      ['From ', 'A: b\nhere\n']
    ]
  },
  {
    name: 'nor where the first of them says nothing',
    mbox: 'From \nA: b\nB: c\n\nbody\nFrom \nA: b\nB: c\n\nbody\nFrom \nA: b\nhere\n',
    messages: [
      ['From ', 'A: b\nB: c\n\nbody\n'],
      ['From ', 'A: b\nB: c\n\nbody\nFrom \nA: b\nhere\n']
    ]
  },
  {
    name: 'mboxrd takes one mark off, however deep',
    mbox: `${FROM}\nA: b\n\n>From x\n>>From y\n>Fromage\n> From z\n`,
    messages: [[FROM, 'A: b\n\nFrom x\n>From y\n>Fromage\n> From z\n']]
  },
  {
    name: 'mboxo takes the mark off the plain form alone',
    quoting: 'mboxo',
    mbox: `${FROM}\nA: b\n\n>From x\n>>From y\n`,
    messages: [[FROM, 'A: b\n\nFrom x\n>>From y\n']]
  },
  {
    name: 'quoting "none" leaves all as it is',
    quoting: 'none',
    mbox: `${FROM}\nA: b\n\n>From x\n>>From y\n`,
    messages: [[FROM, 'A: b\n\n>From x\n>>From y\n']]
  },
  {
    name: 'an endless line that begins with From is text',
    mbox: `${FROM}\nA: b\n\nbody\n\nFrom ${'x'.repeat(5000)}\nend\n`,
    messages: [[FROM, `A: b\n\nbody\n\nFrom ${'x'.repeat(5000)}\nend\n`]]
  }
]

for (const { name, mbox, quoting, messages } of CASES) {
  test(name, () => {
    const bytes = Buffer.from(mbox, 'latin1')
    assert.deepEqual(split([bytes], quoting).messages, messages)
    assert.deepEqual(
      split(
        [...bytes].map((byte) => Buffer.of(byte)),
        quoting
      ).messages,
      messages
    )
  })
}

/** Around what either side may hold, and beyond. */
const DEEP = [58, 59, 60, 63, 64, 65, 2042, 2043, 2044, 2047, 2048, 2049, 4096]

/** More than a chunk of a file has. */
const DEEPEST = 70_000

test('lines of any number of > lose one before From, and none elsewhere, in any chunking', async () => {
  for (const size of [1, 5, 64, 2047, 2048, Infinity]) {
    // Byte by byte, these alone would take most of the time.
    const counts = size > 64 ? [...DEEP, DEEPEST] : DEEP
    const lines = counts.flatMap((count) =>
      ['From x', 'From', 'Fro>m x', 'x', ''].map((rest) => '>'.repeat(count) + rest)
    )
    for (const text of [`A: b\n\n${lines.join('\n')}\n`, `A: b\n\n${lines.join('\r\n\r\n')}`]) {
      const message = Buffer.from(text)
      const written = [Buffer.from(`${FROM}\n`), ...(await collect(quoted(cutUp(message, size))))]
      const mbox = Buffer.concat(written)
      assert.ok(mbox.equals(Buffer.from(`${FROM}\n${text.replace(/^(>*From )/gm, '>$1')}`)))
      const { messages } = split(await collect(cutUp(mbox, size)))
      assert.deepEqual([messages.length, messages[0]?.[1] === text], [1, true])
      for (const quoting of /** @type {const} */ (['mboxo', 'none'])) {
        const { messages: untouched } = split(await collect(cutUp(mbox, size)), quoting)
        assert.equal(untouched[0]?.[1], mbox.toString('latin1', FROM.length + 1))
      }
    }
  }
})

test('of a line of > alone no more is held the longer it is', () => {
  const splitter = new MboxSplitter()
  splitter.push(Buffer.from(`${FROM}\nA: b\n\n`))
  const chunk = Buffer.alloc(64 * 1024, '>')
  let held = 0
  for (let count = 1; count <= 200; count++) {
    const pieces = splitter.push(chunk)
    const given = pieces.reduce(
      (sum, piece) => sum + (piece.kind === 'bytes' ? piece.bytes.length : 0),
      0
    )
    held += chunk.length - given
    assert.ok(held <= 2048, `${held} bytes are held`)
  }
})

test('bytes before the first From_ line are told apart from messages', () => {
  const { before, messages } = split([Buffer.from(`\nnonsense\n\n${FROM}\nA: b\n\n`)])
  assert.equal(before, '\nnonsense\n')
  assert.equal(messages.length, 1)
})

test('any chunking gives the same messages', () => {
  const line = fc.constantFrom(
    FROM,
    OTHER,
    'From nowhere',
    'From ',
    '>From x',
    '>>From x',
    '',
    'A: b',
    '\tc',
    `A: ${'b'.repeat(3000)}`,
    'text',
    'x'.repeat(3000)
  )
  const document = fc
    .array(fc.tuple(line, fc.constantFrom('\n', '\r\n')), { maxLength: 40 })
    .map((lines) => Buffer.from(lines.flat().join('')))
  fc.assert(
    fc.property(document, fc.array(fc.nat({ max: 5000 }), { maxLength: 12 }), (bytes, cuts) => {
      const places = [0, ...cuts.map((cut) => Math.min(cut, bytes.length)), bytes.length]
      places.sort((left, right) => left - right)
      const chunks = places.slice(1).map((end, index) => bytes.subarray(places[index], end))
      assert.deepEqual(split(chunks), split([bytes]))
    })
  )
})

test('a paragraph that begins with From and is longer than such a line begins no message, wherever a chunk ends', () => {
  const paragraph = `From ${'now on, '.repeat(300)}`
  // Without a date in the first From_ line, none is asked of the others.
  const start = 'From nobody\nA: b\n\n'
  const bytes = Buffer.from(`${start}${paragraph}\n`)
  for (const size of [2046, 2047, 2048, 2049]) {
    const at = start.length + size
    const { messages } = split([bytes.subarray(0, at), bytes.subarray(at)])
    assert.deepEqual(messages, [['From nobody', `A: b\n\n${paragraph}\n`]], `cut after ${size}`)
  }
})

test('messages that are written as mboxrd come back as they were', () => {
  const line = fc.constantFrom(FROM, '>From x', '>>From x', '', 'From nowhere', 'text', '>')
  const message = fc.array(line, { maxLength: 10 }).map((lines) => `A: b\n\n${lines.join('\n')}\n`)
  fc.assert(
    fc.property(fc.array(message, { maxLength: 6 }), (messages) => {
      const mbox = messages
        .map((text) => `${FROM}\n${text.replace(/^(>*From )/gm, '>$1')}\n`)
        .join('')
      assert.deepEqual(
        split([Buffer.from(mbox)]).messages.map(([, text]) => text),
        messages
      )
    })
  )
})
