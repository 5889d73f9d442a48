import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { WHOLE_HEADER, chooseFields } from '../../../src/mime/field-choice.js'
import { numberOfFieldName } from '../../../src/mime/field-name.js'
import { listFields, tellsOthers } from '../../../src/mime/header-fields.js'
import { MessageParser } from '../../../src/mime/parse-message.js'
import { filterHeader } from '../../../src/mime/section.js'
import { corpusIsMissing, everydayMessages, tortureMessages } from '../../helpers/corpus.js'

/** What mailboxes on disk have as 0, 1, 2 …: a name that moves in this list shows other fields of mail that is stored. */
const STORED = (
  'received from to cc bcc subject date message-id priority x-priority references newsgroups ' +
  'in-reply-to content-type reply-to sender list-id list-post list-help list-subscribe ' +
  'list-unsubscribe list-unsubscribe-post list-archive list-owner content-description ' +
  'content-transfer-encoding lines x-label x-original-to delivered-to autocrypt importance ' +
  'x-msmail-priority x-uniform-type-identifier x-universally-unique-identifier x-spam-flag ' +
  'x-spam-status x-spam-score x-spam-level x-mailer user-agent disposition-notification-to ' +
  'followup-to mail-followup-to mail-reply-to return-path resent-from resent-to resent-date ' +
  'auto-submitted precedence mime-version x-tuid x-offlineimap x-mozilla-draft-info ' +
  'x-draft-info thread-topic thread-index x-forwarded-message-id x-identity-key ' +
  'x-k9mail-identity chat-version dkim-signature authentication-results received-spf ' +
  'x-forefront-antispam-report bimi-indicator bimi-location x-bimi-indicator-hash content-class ' +
  'x-calendar-attachment x-mailing-list x-loop mailing-list originator x-list x-beenthere path ' +
  'content-md5 content-disposition content-language content-location ' +
  'x-microsoft-original-message-id secure-join chat-is-post-message autocrypt-setup-message'
).split(' ')

/** What clients send, with lines that stand apart and without. */
const CHOICES = [
  'date subject from to cc message-id in-reply-to references content-type x-priority list-id list-unsubscribe bimi-indicator bimi-location x-bimi-indicator-hash authentication-results dkim-signature x-spam-flag received-spf X-Forefront-Antispam-Report'.split(
    ' '
  ),
  ['Path', 'Message-ID', 'Newsgroups', 'Followup-To', 'References'],
  ['X-BeenThere', 'X-Loop', 'Received', 'DKIM-Signature'],
  ['From', 'To', 'Cc', 'Bcc', 'Subject', 'Date', 'Message-ID', 'Priority', 'X-Priority'],
  ['References', 'Newsgroups', 'In-Reply-To', 'Content-Type', 'Reply-To', 'Received'],
  ['date', 'FROM', 'sender', 'Subject', 'list-post', 'List-Unsubscribe', 'X-Label', 'Lines'],
  ['Received'],
  ['Bcc'],
  ['Subject', 'subject', 'SUBJECT']
]

/**
 * @param {Buffer} block
 * @param {string[] | null} names - null: all of it
 * @returns {Buffer | null} null when the block is not listed, or its entry does not tell
 */
function copied(block, names) {
  const choice = names === null ? WHOLE_HEADER : chooseFields(names)
  const listed = listFields(block)
  assert.ok(choice)
  if (listed === null) return null
  // Somewhere in a page, between other messages.
  const fields = Buffer.concat([Buffer.from('before'), listed.fields, Buffer.from('after')])
  if (!choice.isToldBy(fields, 6, 6 + listed.fields.length)) return null
  const apart = {
    received: placed(listed.received, 2),
    signatures: placed(listed.signatures, 3),
    rest: placed(listed.rest, 1)
  }
  const target = Buffer.alloc(choice.sizeOf(fields, 6) + 8, 0x7e)
  choice.copy(fields, 6, apart, target, 4)
  assert.equal(
    target.toString('latin1', 0, 4) + target.toString('latin1', target.length - 4),
    '~~~~~~~~'
  )
  return target.subarray(4, -4)
}

/**
 * @param {Buffer | null} lines
 * @param {number} at
 */
const placed = (lines, at) => ({
  bytes: Buffer.concat([Buffer.alloc(at, 0x7e), lines ?? Buffer.alloc(0)]),
  at
})

test(
  'listed fields are copied byte for byte as the header itself would be filtered',
  { skip: corpusIsMissing },
  () => {
    let listed = 0
    let seen = 0
    let wholes = 0
    for (const messages of [everydayMessages(), tortureMessages()]) {
      for (const { name, bytes } of messages) {
        const parser = new MessageParser()
        parser.push(bytes)
        const { block } = parser.end().root.header
        if (block === null) continue
        seen++
        const whole = copied(block, null)
        if (whole !== null) {
          wholes++
          assert.deepEqual(whole, block, name)
        }
        for (const names of CHOICES) {
          const actual = copied(block, names)
          if (actual === null) continue
          listed++
          assert.deepEqual(
            actual,
            filterHeader(block, { fields: names, not: false }),
            `${name}: ${names}`
          )
        }
      }
    }
    assert.ok(listed > seen * (CHOICES.length - 1), 'hardly any message is left out')
    assert.ok(wholes > seen * 0.99, 'nor any whole header')
  }
)

const NAMES = [
  'Subject',
  'To',
  'Received',
  'From',
  'dkim-signature',
  'received-spf',
  'x-loop',
  'X-Else'
]

test('any header that is listed is filtered exactly', () => {
  const line = fc.oneof(
    fc.constantFrom('Subject: a', 'Received: from x\r\n\tby y', 'RECEIVED:', 'To : b', 'X-Else: c'),
    fc.constantFrom('DKIM-Signature: a=b;\r\n c=d', 'Received-SPF: pass', 'X-Loop: x'),
    fc.string({ maxLength: 12 })
  )
  const end = fc.constantFrom('\r\n', '\n', '\r', '')
  const block = fc.array(fc.tuple(line, end), { maxLength: 12 })
  fc.assert(
    fc.property(block, fc.subarray(NAMES), (lines, names) => {
      const bytes = Buffer.from(lines.flat().join(''), 'latin1')
      const actual = copied(bytes, names)
      if (actual !== null)
        assert.deepEqual(actual, filterHeader(bytes, { fields: names, not: false }))
      const whole = copied(bytes, null)
      if (whole !== null) assert.deepEqual(whole, bytes)
    }),
    { numRuns: 2000 }
  )
})

test('fields have the numbers under which they are stored', () => {
  const listed = listFields(Buffer.from(`${STORED.map((name) => `${name}: x\r\n`).join('')}\r\n`))
  assert.ok(listed)
  const [count = 0] = listed.fields
  const numbers = Array.from({ length: count }, (_, line) => listed.fields[1 + line * 3])
  // And the blank line, which is of the rest.
  assert.deepEqual(numbers, [...STORED.keys(), 255])
})

test('a header with too many lines or too long ones is not listed', () => {
  assert.equal(listFields(Buffer.from(`${'To: a\r\n'.repeat(256)}\r\n`)), null)
  assert.ok(listFields(Buffer.from(`${'To: a\r\n'.repeat(255)}\r\n`)))
  assert.equal(listFields(Buffer.from(`Subject: ${'a'.repeat(32_768)}\r\n\r\n`)), null)
  assert.equal(listFields(Buffer.alloc(0)), null)
  assert.equal(listFields(Buffer.from('Subject: cut off')), null)
})

test('an entry tells of fields that are not listed where the message has none of that name', () => {
  const block = Buffer.from('Subject: a\r\nX-Else: b\r\nX-ELSE: c\r\nY: d\r\n\r\n')
  assert.equal(copied(block, ['Subject', 'X-Nobody-Has'])?.toString(), 'Subject: a\r\n\r\n')
  assert.equal(copied(block, ['x-nobody-has'])?.toString(), '\r\n')
  for (const name of ['X-Else', 'x-else', 'y']) assert.equal(copied(block, ['Subject', name]), null)
  // Each name once.
  const { fields } = listFields(block) ?? {}
  assert.equal(fields?.length, 1 + 2 * 3 + 'Subject: a\r\n'.length + 2 + 2 * 2)
})

test('an entry tells of a field that was listed later as of any other', () => {
  const listed = listFields(Buffer.from('Subject: a\r\nX-Else: b\r\n\r\n'))
  assert.ok(listed)
  const { fields } = listed
  const choice = chooseFields(['Subject', 'X-Loop'])
  const isTold = () => choice?.isToldBy(fields, 0, fields.length)
  fields[fields.length - 4] = STORED.indexOf('x-loop')
  assert.equal(isTold(), true)
  fields.writeUInt16LE(numberOfFieldName('X-LOOP'), fields.length - 2)
  assert.equal(isTold(), false)
  fields[fields.length - 4] = STORED.indexOf('x-loop') + 1
  assert.equal(isTold(), true)
})

test('an entry that tells nothing of other fields serves those that were listed then', () => {
  const listed = listFields(Buffer.from('Subject: a\r\nX-Else: b\r\n\r\n'))
  assert.ok(listed)
  const older = Buffer.from('\x01\x05\x0c\x00Subject: a\r\n')
  assert.deepEqual([tellsOthers(listed.fields), tellsOthers(older)], [true, false])
  const isTold = (/** @type {string[]} */ ...names) =>
    chooseFields(names)?.isToldBy(older, 0, older.length)
  assert.deepEqual(isTold('Subject', 'Received', 'Chat-Version'), true)
  assert.deepEqual(isTold('Subject', 'DKIM-Signature'), false)
  assert.deepEqual(isTold('Subject', 'X-Nobody-Has'), false)
  assert.equal(WHOLE_HEADER.isToldBy(older, 0, older.length), false)
})

test('where the rest of a header is too long, or in too many pieces, its fields are listed without it', () => {
  const told = (/** @type {string} */ header) => {
    const block = Buffer.from(header)
    return [copied(block, null)?.equals(block), copied(block, ['To'])?.toString().length]
  }
  const long = (/** @type {number} */ bytes) => `To: a\r\nX-Long: ${'a'.repeat(bytes - 12)}\r\n\r\n`
  assert.deepEqual(told(long(32_768)), [true, 9])
  assert.deepEqual(told(long(32_769)), [undefined, 9])
  const pieces = (/** @type {number} */ count) => `${'To: a\r\nX: b\r\n'.repeat(count)}\r\n`
  assert.deepEqual(told(pieces(127)), [true, 127 * 7 + 2])
  assert.deepEqual(told(pieces(128)), [undefined, 128 * 7 + 2])
})

test('a header with too many names of other fields is not listed', () => {
  const names = (/** @type {number} */ count) =>
    Buffer.from(`${Array.from({ length: count }, (_, nth) => `X-${nth}: a\r\n`).join('')}\r\n`)
  assert.ok(listFields(names(255)))
  // Some names have the same number.
  assert.equal(listFields(names(300)), null)
})

test('a choice says which lines that stand apart it needs, and whether every entry tells it', () => {
  const said = (/** @type {string[]} */ ...names) => {
    const choice = chooseFields(names)
    return choice && [[...choice.apart].join(), choice.isCertain]
  }
  assert.deepEqual(said('Subject'), ['', true])
  assert.deepEqual(said('subject', 'received'), ['received', true])
  assert.deepEqual(said('DKIM-Signature', 'Received-SPF'), ['signatures', false])
  assert.deepEqual(said('Subject', 'X-Nobody-Asks'), ['', false])
  assert.deepEqual(
    [[...WHOLE_HEADER.apart].join(), WHOLE_HEADER.isCertain],
    ['received,signatures,rest', false]
  )
  for (const name of ['', 'Betreff:', 'a b', 'Ümlaut'])
    assert.equal(said('Subject', name), null, name)
})
