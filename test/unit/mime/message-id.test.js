import { test } from 'node:test'
import assert from 'node:assert/strict'
import { MAX_REFERENCES } from '../../../src/mime/limits.js'
import { parseMessageId, parseMessageIds } from '../../../src/mime/message-id.js'

/** @type {[string, string[]][]} */
const FIELDS = [
  ['<a@b>', ['<a@b>']],
  ['<a@b> <c@d>\r\n\t<a@b>', ['<a@b>', '<c@d>', '<a@b>']],
  ['<a@b> <a@b>\r\n\t<c@d> <"c"@d>', ['<a@b>', '<c@d>']],
  ['Your message of "Fri" <a@b>', ['<a@b>']],
  ['<a@\r\n b>', ['<a@b>']],
  ['<"a\\b"@c>', ['<ab@c>']],
  ['<> < > <<a@b>>', ['<a@b>']],
  [`<${'x'.repeat(2_000)}@y>`, []],
  ['a@b', []],
  ['', []]
]

for (const [text, expected] of FIELDS)
  test(`identifiers in ${JSON.stringify(text.slice(0, 40))}`, () =>
    assert.deepEqual(parseMessageIds(text), expected))

test('one identifier is found with brackets or without', () => {
  assert.equal(parseMessageId(' <a@b> (x)'), '<a@b>')
  assert.equal(parseMessageId('a@b'), '<a@b>')
  assert.equal(parseMessageId(' ann@b.org\r\n'), '<ann@b.org>')
  for (const broken of ['<a@b', 'a@b>', '"a@b"', '<"a@b"', 'a@b;', '<a@b,\r\n'])
    assert.equal(parseMessageId(broken), '<a@b>')
  assert.equal(parseMessageId('nothing'), null)
  assert.equal(parseMessageId(''), null)
})

test('an address in a sentence is no identifier', () => {
  assert.equal(parseMessageId(`ann@example.org's message of "Mon, 3 May 1999 12:00"`), null)
  assert.equal(parseMessageId('Your message to ann@example.org'), null)
  assert.equal(parseMessageId(`${'a'.repeat(2_000)}@b`), null)
})

test('of an endless list the root and the nearest ones are kept', () => {
  const ids = parseMessageIds(Array.from({ length: 5_000 }, (_, index) => `<${index}@x>`).join(' '))
  assert.equal(ids.length, MAX_REFERENCES)
  assert.deepEqual([ids[0], ids.at(-1)], ['<0@x>', '<4999@x>'])
  assert.equal(parseMessageIds('<'.repeat(1_000_000)).length, 0)
})
