import { test } from 'node:test'
import assert from 'node:assert/strict'
import { previewPart, previewText } from '../../../src/mime/preview.js'
import { MessageParser } from '../../../src/mime/parse-message.js'
import { toPartTree } from '../../../src/mime/part-tree.js'
import { corpusIsMissing, everydayMessages, tortureMessages } from '../../helpers/corpus.js'

/**
 * @param {Buffer} bytes
 * @returns {string}
 */
function previewOf(bytes) {
  const parser = new MessageParser()
  parser.push(bytes)
  const part = previewPart(toPartTree(parser.end().root))
  return part === null ? '' : previewText(part, bytes.subarray(part.headerEnd, part.bodyEnd))
}

/** @param {string} text */
const preview = (text) => previewOf(Buffer.from(text))

test('a preview is one line of up to 200 characters, counted as code points', () => {
  assert.equal(preview('\r\n  a\r\n\tb  \u200b c\r\n'), 'a b c')
  assert.equal(
    [...preview(`Content-Type: text/plain; charset=utf-8\r\n\r\n${'😀'.repeat(300)}`)].length,
    200
  )
  assert.equal(preview('Subject: nothing\r\n\r\n'), '')
})

test('quotations are left out, unless there is nothing else', () => {
  assert.equal(preview('\r\n> old\r\nnew\r\n>older'), 'new')
  assert.equal(preview('\r\n> old\r\n>older'), '> old >older')
})

/**
 * @param {string} subtype
 * @param {string[]} bodies - parts of a multipart
 */
const multipart = (subtype, ...bodies) =>
  `Content-Type: multipart/${subtype}; boundary=${subtype}\r\n\r\n${bodies.map((body) => `--${subtype}\r\n${body}\r\n`).join('')}--${subtype}--\r\n`

test('of alternatives the plain text is shown, of other parts the first text', () => {
  const page = 'Content-Type: text/html\r\n\r\n<p>page'
  const plain = '\r\nplain'
  const footer = '\r\n____\r\na mailing list'
  const calendar = 'Content-Type: text/calendar\r\n\r\nBEGIN:VCALENDAR'
  assert.equal(preview(multipart('alternative', page, plain)), 'plain')
  assert.equal(preview(multipart('mixed', page, footer)), 'page')
  assert.equal(
    preview(multipart('mixed', multipart('alternative', calendar, page), footer)),
    'page'
  )
  assert.equal(preview(multipart('mixed', multipart('alternative', page, plain), footer)), 'plain')
  assert.equal(
    preview(multipart('alternative', multipart('related', page, footer), plain)),
    'plain'
  )
  assert.equal(preview(multipart('mixed', calendar, footer)), '____ a mailing list')
})

test('attachments and messages inside are no text of the message', () => {
  const parts = (/** @type {string[]} */ ...bodies) => multipart('mixed', ...bodies)
  assert.equal(
    preview(
      parts(
        'Content-Disposition: attachment\r\n\r\nfile',
        'Content-Type: text/html\r\n\r\n<i>x</i>y'
      )
    ),
    'xy'
  )
  assert.equal(preview(parts('Content-Type: message/rfc822\r\n\r\nSubject: in\r\n\r\ninner')), '')
})

test('every message of the corpus has a preview that fits', { skip: corpusIsMissing }, (t) => {
  let count = 0
  for (const messages of [everydayMessages(), tortureMessages()]) {
    for (const { name, bytes } of messages) {
      const text = previewOf(bytes)
      assert.ok([...text].length <= 200 && text.isWellFormed() && !/[\r\n\0]/.test(text), name)
      if (++count > 1500) return
    }
  }
  t.diagnostic(`${count} messages`)
})
