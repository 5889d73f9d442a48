import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import { FetchWriter } from '../../../../../src/imap/protocol/compile/fetch.js'
import { ResponseWriter } from '../../../../../src/imap/protocol/compile/response-writer.js'
import { taken } from '../../../../helpers/fetch-writer.js'
import { parseWire } from '../../../../helpers/imap-wire.js'

test('items are written in their order, responses one after the other', () => {
  const writer = new FetchWriter()
  writer.begin(1).uid(10).flags('\\Seen $Junk').modSeq(5).end()
  writer.begin(2).size(4096).internalDate({ epochSeconds: 0, zoneMinutes: 60 }).end()
  writer
    .begin(3)
    .structure('ENVELOPE', Buffer.from('(NIL)'))
    .structure('BODY', Buffer.from('("x")'))
  const { length } = writer.end()
  const wire = [
    '* 1 FETCH (UID 10 FLAGS (\\Seen $Junk) MODSEQ (5))',
    '* 2 FETCH (RFC822.SIZE 4096 INTERNALDATE " 1-Jan-1970 01:00:00 +0100")',
    '* 3 FETCH (ENVELOPE (NIL) BODY ("x"))',
    ''
  ].join('\r\n')
  assert.equal(length, wire.length)
  assert.equal(taken(writer).toString(), wire)
})

test('a line of flags is what its items are, whichever of them it has', () => {
  const number = fc.oneof(
    fc.nat(),
    fc.integer({ min: 1e9 - 2, max: 1e9 + 2 }),
    fc.maxSafeNat(),
    fc.constantFrom(0, 9, 10, 99, 100, 2 ** 32 - 1, Number.MAX_SAFE_INTEGER)
  )
  const none = fc.constant(null)
  const line = fc.record({
    sequence: number,
    uid: fc.oneof(number, none),
    wire: fc.oneof(fc.constantFrom('', '\\Seen', `\\Draft ${'k'.repeat(300)}`), none),
    modSeq: fc.oneof(number, none)
  })
  const property = fc.property(fc.array(line, { maxLength: 60 }), (lines) => {
    const atOnce = new FetchWriter()
    const byItems = new FetchWriter()
    for (const { sequence, uid, wire, modSeq } of lines) {
      const item = wire === null ? null : atOnce.flagItem(wire)
      assert.equal(atOnce.flagLine(sequence, uid ?? -1, item, modSeq ?? -1), atOnce.length)
      byItems.begin(sequence)
      if (uid !== null) byItems.uid(uid)
      if (wire !== null) byItems.flags(wire)
      if (modSeq !== null) byItems.modSeq(modSeq)
      byItems.end()
    }
    assert.equal(taken(atOnce).toString('latin1'), taken(byItems).toString('latin1'))
  })
  fc.assert(property)
})

test('what is kept of flags keeps no memory but its own', () => {
  const writer = new FetchWriter()
  for (const wire of ['\\Seen', `\\Draft ${'k'.repeat(300)}`]) {
    const item = writer.flagItem(wire)
    assert.equal(item.buffer.byteLength, item.length)
  }
})

test('numbers are written in full, small and large', () => {
  for (const number of [0, 7, 10, 99, 100, 999_999_999, 1e9, 2 ** 32, Number.MAX_SAFE_INTEGER])
    assert.equal(new ResponseWriter().number(number).peek().toString(), String(number))
})

test('sections repeat their label, with the origin of a range', () => {
  const sections = (/** @type {string} */ items, /** @type {Buffer | null} */ content) => {
    const writer = new FetchWriter().begin(1)
    for (const item of parseWire(`FETCH 1 ${items}`).items)
      if (content === null) writer.noSection(item)
      else writer.sectionHead(item, content.length).bytes(content)
    return taken(writer.end()).toString()
  }
  assert.equal(
    sections('(BODY.PEEK[]<7.9> RFC822.PEEK)', Buffer.from('ab')),
    '* 1 FETCH (BODY[]<7> {2}\r\nab RFC822 {2}\r\nab)\r\n'
  )
  assert.equal(
    sections('BODY[1.HEADER.FIELDS (a)]', null),
    '* 1 FETCH (BODY[1.HEADER.FIELDS (A)] NIL)\r\n'
  )
  assert.equal(sections('BODY[]', Buffer.alloc(0)), '* 1 FETCH (BODY[] {0}\r\n)\r\n')
})

test("a section's bytes may follow in pieces, past the writer or through it", () => {
  const [item] = parseWire('FETCH 1 BODY[]').items
  const writer = new FetchWriter()
  const head = taken(writer.begin(1).uid(2).sectionHead(item, 4))
  const tail = taken(writer.bytes(Buffer.from('cd')).flags('').end())
  assert.equal(`${head}ab${tail}`, '* 1 FETCH (UID 2 BODY[] {4}\r\nabcd FLAGS ())\r\n')
})

test('a writer grows as needed', () => {
  const writer = new ResponseWriter()
  let expected = ''
  for (let round = 0; round < 2000; round += 1) {
    writer.number(round).ascii(' some text that is long ').bytes(Buffer.from('x')).endLine()
    expected += `${round} some text that is long x\r\n`
  }
  assert.equal(writer.length, expected.length)
  assert.equal(writer.peek().toString(), expected)
  assert.equal(new ResponseWriter().peek().length, 0)
})

test('text is written one byte a character, short or long', () => {
  const text = '\xe9'.repeat(15)
  assert.deepEqual(new ResponseWriter().ascii(text).peek(), Buffer.from(text, 'latin1'))
  assert.deepEqual(new ResponseWriter().ascii(`${text}\xe9`).peek(), Buffer.alloc(16, 0xe9))
})
