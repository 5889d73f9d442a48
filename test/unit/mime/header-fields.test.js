import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { chooseFields, listFields } from '../../../src/mime/header-fields.js'
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
  'x-k9mail-identity chat-version'
).split(' ')

/** What clients send, each with Received and without. */
const CHOICES = [
  ['From', 'To', 'Cc', 'Bcc', 'Subject', 'Date', 'Message-ID', 'Priority', 'X-Priority'],
  ['References', 'Newsgroups', 'In-Reply-To', 'Content-Type', 'Reply-To', 'Received'],
  ['date', 'FROM', 'sender', 'Subject', 'list-post', 'List-Unsubscribe', 'X-Label', 'Lines'],
  ['Received'],
  ['Bcc'],
  ['Subject', 'subject', 'SUBJECT']
]

/**
 * @param {Buffer} block
 * @param {string[]} names
 * @returns {Buffer | null} null when the block is not listed
 */
function copied(block, names) {
  const choice = chooseFields(names)
  const listed = listFields(block)
  assert.ok(choice)
  if (listed === null) return null
  // Somewhere in a page, between other messages.
  const fields = Buffer.concat([Buffer.from('before'), listed.fields, Buffer.from('after')])
  const received = Buffer.concat([Buffer.from('xy'), listed.received ?? Buffer.alloc(0)])
  const target = Buffer.alloc(choice.sizeOf(fields, 6) + 8, 0x7e)
  choice.copy(fields, 6, received, 2, target, 4)
  assert.equal(
    target.toString('latin1', 0, 4) + target.toString('latin1', target.length - 4),
    '~~~~~~~~'
  )
  return target.subarray(4, -4)
}

test(
  'listed fields are copied byte for byte as the header itself would be filtered',
  { skip: corpusIsMissing },
  () => {
    let listed = 0
    let seen = 0
    for (const messages of [everydayMessages(), tortureMessages()]) {
      for (const { name, bytes } of messages) {
        const parser = new MessageParser()
        parser.push(bytes)
        const { block } = parser.end().root.header
        if (block === null) continue
        seen++
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
  }
)

test('any header that is listed is filtered exactly', () => {
  const line = fc.oneof(
    fc.constantFrom('Subject: a', 'Received: from x\r\n\tby y', 'RECEIVED:', 'To : b', 'X-Else: c'),
    fc.string({ maxLength: 12 })
  )
  const end = fc.constantFrom('\r\n', '\n', '\r', '')
  const block = fc.array(fc.tuple(line, end), { maxLength: 12 })
  fc.assert(
    fc.property(block, fc.subarray(['Subject', 'To', 'Received', 'From']), (lines, names) => {
      const bytes = Buffer.from(lines.flat().join(''), 'latin1')
      const actual = copied(bytes, names)
      if (actual !== null)
        assert.deepEqual(actual, filterHeader(bytes, { fields: names, not: false }))
    }),
    { numRuns: 2000 }
  )
})

test('fields have the numbers under which they are stored', () => {
  const listed = listFields(Buffer.from(`${STORED.map((name) => `${name}: x\r\n`).join('')}\r\n`))
  assert.ok(listed)
  const [count = 0] = listed.fields
  const numbers = Array.from({ length: count }, (_, line) => listed.fields[1 + line * 3])
  assert.deepEqual(numbers, [...STORED.keys()])
})

test('a header with too many lines or too long ones is not listed', () => {
  assert.equal(listFields(Buffer.from(`${'To: a\r\n'.repeat(256)}\r\n`)), null)
  assert.ok(listFields(Buffer.from(`${'To: a\r\n'.repeat(255)}\r\n`)))
  assert.equal(listFields(Buffer.from(`Subject: ${'a'.repeat(32_768)}\r\n\r\n`)), null)
  assert.equal(listFields(Buffer.alloc(0)), null)
  assert.equal(listFields(Buffer.from('Subject: cut off')), null)
})

test('a field that is not listed leaves the choice to the header itself', () => {
  assert.equal(chooseFields(['Subject', 'X-Nobody-Asks']), null)
  assert.equal(chooseFields(['Subject'])?.needsReceived, false)
  assert.equal(chooseFields(['subject', 'received'])?.needsReceived, true)
})
