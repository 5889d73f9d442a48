import { test } from 'node:test'
import assert from 'node:assert/strict'
import fc from 'fast-check'
import {
  canonicalInbox,
  decodeMailboxName,
  decodeMailboxPattern,
  encodeMailboxName
} from '../../../../../src/imap/protocol/values/mailbox-name.js'
import { decodeUtf7, encodeUtf7 } from '../../../../../src/imap/protocol/values/modified-utf7.js'
import { failure, receive } from '../../../../helpers/imap-wire.js'

/**
 * @param {string | Buffer} wire
 * @param {boolean} [isUtf8]
 */
const decode = (wire, isUtf8 = false) => decodeMailboxName(Buffer.from(wire), { isUtf8 })

test('modified UTF-7 is decoded, RFC 3501 §5.1.3', () => {
  for (const [wire, name] of /** @type {const} */ ([
    ['Drafts', 'Drafts'],
    ['~peter/mail/&U,BTFw-/&ZeVnLIqe-', '~peter/mail/台北/日本語'],
    ['Entw&APw-rfe', 'Entwürfe'],
    ['A&-B', 'A&B'],
    ['&-', '&'],
    ['&2D3eAA-', '😀'],
    ['a+b', 'a+b']
  ]))
    assert.equal(decode(wire), name, wire)
})

test('broken modified UTF-7 is no mailbox name', () => {
  for (const wire of [
    'A&B',
    '&',
    '&U,BTFw',
    '&U-',
    '&=-',
    '&U BTFw-',
    '&2D0-',
    '&3gDYPQ-',
    '&AAAA-',
    '&/w-',
    '&APw==-',
    '&APwA-'
  ])
    assert.throws(() => decode(wire), failure('BAD_MAILBOX_NAME'), wire)
})

test('raw UTF-8 is accepted, enabled or not', () => {
  assert.equal(decode('Entwürfe'), 'Entwürfe')
  assert.equal(decode('Entwürfe & mehr', true), 'Entwürfe & mehr')
  assert.equal(decode('Entw&APw-rfe', true), 'Entw&APw-rfe')
  assert.equal(decode('ü&-', true), 'ü&-')
  for (const isUtf8 of [false, true])
    assert.throws(() => decode(Buffer.from([0x61, 0xfc]), isUtf8), failure('BAD_MAILBOX_NAME'))
})

test('raw UTF-8 that was not enabled may have shifts of modified UTF-7 in it', () => {
  for (const [wire, name] of /** @type {const} */ ([
    ['Größe &- Co', 'Größe & Co'],
    ['ü&-', 'ü&'],
    ['&APY-/ü', 'ö/ü'],
    // No encoder's work: the character stands for itself.
    ['Größe & Co', 'Größe & Co'],
    ['Q&A/ü', 'Q&A/ü'],
    ['&-/& ü', '&-/& ü'],
    ['ü&', 'ü&']
  ]))
    assert.equal(decode(wire), name, wire)
  assert.equal(decodeMailboxPattern(Buffer.from('ü &- %'), { isUtf8: false }), 'ü & %')
})

test('control characters and separators are in no name', () => {
  for (const wire of [
    '',
    'a\rb',
    'a\0',
    'a\x1f',
    'a\x7f',
    'a\u0080',
    'a\u009f',
    'a\u2028',
    'a\u2029',
    '&AAo-'
  ])
    for (const isUtf8 of [false, true]) {
      if (wire === '&AAo-' && isUtf8) continue
      assert.throws(() => decode(wire, isUtf8), failure('BAD_MAILBOX_NAME'), JSON.stringify(wire))
    }
  assert.equal(decode('a\u00a0', true), 'a\u00a0')
})

test('a name may have 1,024 bytes of UTF-8 and not one more', () => {
  assert.equal(decode('a'.repeat(1024)).length, 1024)
  assert.equal(decode('ü'.repeat(512)).length, 512)
  assert.throws(() => decode('a'.repeat(1025)), failure('BAD_MAILBOX_NAME'))
  assert.throws(() => decode('ü'.repeat(512) + 'a'), failure('BAD_MAILBOX_NAME'))
  const pattern = (/** @type {number} */ size) =>
    decodeMailboxPattern(Buffer.alloc(size, 97), { isUtf8: false })
  assert.equal(pattern(1024).length, 1024)
  assert.throws(() => pattern(1025), failure('BAD_MAILBOX_NAME'))
})

test('INBOX is INBOX in any case, as the first component alone', () => {
  for (const [name, expected] of /** @type {const} */ ([
    ['inbox', 'INBOX'],
    ['InBox/Sub', 'INBOX/Sub'],
    ['inboxes', 'inboxes'],
    ['inboxs', 'inboxs'],
    ['a/inbox', 'a/inbox'],
    ['inbo', 'inbo']
  ])) {
    assert.equal(canonicalInbox(name), expected)
    assert.equal(decode(name), expected)
  }
})

test('names are normalised to form C', () => {
  assert.equal(decode('u\u0308', true), '\u00fc')
})

test('a pattern may be empty, and keeps its case and its wildcards', () => {
  const pattern = (/** @type {string} */ wire) =>
    decodeMailboxPattern(Buffer.from(wire), { isUtf8: false })
  assert.equal(pattern(''), '')
  assert.equal(pattern('inbox/%'), 'inbox/%')
  assert.equal(pattern('&APw-*'), 'ü*')
})

test('a name is written as an atom where it can be, else quoted or as a literal', () => {
  for (const [name, isUtf8, wire] of /** @type {const} */ ([
    ['INBOX', false, 'INBOX'],
    ['a', false, 'a'],
    ['Sent Items', false, '"Sent Items"'],
    ['a"b\\c', false, '"a\\"b\\\\c"'],
    ['ü', false, '&APw-'],
    ['ü', true, '"ü"'],
    ['A&B', false, 'A&-B'],
    ['A&B', true, 'A&B'],
    ['', false, '""'],
    ['nil', false, '"nil"'],
    ['NIL', true, '"NIL"'],
    ['a]', false, '"a]"'],
    ['a[', false, '"a["'],
    ['a*', false, '"a*"']
  ]))
    assert.equal(encodeMailboxName(name, { isUtf8 }).toString(), wire)
})

test('every name comes back from the wire as it was', () => {
  const character = fc.oneof(
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    fc.constantFrom('&', '-', '"', '\\', ' ', 'ü', '台', '😀', '/', ',', '{', '}', ']', 'NIL')
  )
  const names = fc
    .array(character, { minLength: 1, maxLength: 20 })
    .map((characters) => characters.join('').normalize('NFC'))
    // eslint-disable-next-line no-control-regex
    .filter((name) => !/[\0-\x1f\x7f-\x9f\u2028\u2029]/.test(name))
    .filter((name) => Buffer.byteLength(name) <= 1024 && name === canonicalInbox(name))
  const property = fc.property(names, fc.boolean(), (name, isUtf8) => {
    const wire = encodeMailboxName(name, { isUtf8 })
    const [event] = receive(Buffer.concat([Buffer.from('a X '), wire, Buffer.from('\r\n')]))
    assert.ok(event?.kind === 'command')
    const [token] = event.command.tokens
    assert.ok(token?.type === 'atom' || token?.type === 'string')
    assert.equal(decodeMailboxName(token.bytes, { isUtf8 }), name)
  })
  fc.assert(property, { numRuns: 1000 })
})

test('modified UTF-7 comes back as it was, and is ASCII', () => {
  const property = fc.property(fc.string({ unit: 'binary' }), (text) => {
    const encoded = encodeUtf7(text)
    assert.match(encoded, /^[\x20-\x7e]*$/)
    assert.equal(decodeUtf7(encoded), text)
  })
  fc.assert(property, { numRuns: 1000 })
})
