import { test } from 'node:test'
import assert from 'node:assert/strict'
import { PreviewReader, previewParts } from '../../../src/mime/preview.js'
import { parseMessage } from '../../../src/mime/parse-message.js'
import { toPartTree } from '../../helpers/part-tree.js'
import { corpusIsMissing, everydayMessages, tortureMessages } from '../../helpers/corpus.js'

/**
 * @param {Buffer} bytes
 * @param {number} [pieceBytes]
 * @returns {string}
 */
function previewOf(bytes, pieceBytes = bytes.length) {
  const part = previewParts(toPartTree(parseMessage(bytes).root))[0]
  if (part === undefined) return ''
  const reader = new PreviewReader(part)
  for (let at = part.headerEnd; at < part.bodyEnd; at += pieceBytes) {
    const isEnough = reader.push(bytes.subarray(at, Math.min(part.bodyEnd, at + pieceBytes)))
    if (isEnough) break
  }
  return reader.end()
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

test('of signs that only say where a line may end nothing is left', () => {
  const head = 'Content-Type: text/html\r\n\r\n'
  assert.equal(
    preview(`${head}<p>Versand&shy;kosten, www.&#8203;example.&NoBreak;org`),
    'Versandkosten, www.example.org'
  )
  // As newsletters fill the line behind what they want to be seen.
  assert.equal(
    preview(`${head}<p>News${'&#847; &zwnj; &nbsp; &#8199; &shy; '.repeat(100)}<p>of May`),
    'News of May'
  )
})

test('what joins letters or emoji stays in them', () => {
  const head = 'Content-Type: text/plain; charset=utf-8\r\n\r\n'
  assert.equal(preview(`${head}می\u200cخواهم 👩\u200d🚀`), 'می\u200cخواهم 👩\u200d🚀')
  assert.equal(preview(`${head}\u200c \u200dnews\u200c\u034fof\u200d May\u200c`), 'news of May')
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

test('of a page what stands on it is shown, in the charset that it names itself', () => {
  const page =
    '<meta charset=windows-1251><TITLE>Letter\r\nno. 5</TITLE ><img alt=logo><p>\xcf\xf0\xe8\xe2\xe5\xf2'
  const head = 'Content-Type: text/html\r\n\r\n'
  assert.equal(previewOf(Buffer.from(head + page, 'latin1')), 'Привет')
  assert.equal(previewOf(Buffer.from(head + page, 'latin1'), 7), 'Привет')
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

test('a preview is the same in whatever pieces the text comes, and is there as soon as there is enough', () => {
  for (const [text, expected] of [
    ['\r\n> old\r\n\r\n new\r\n>older\r\nlast', 'new last'],
    [`\r\n${' '.repeat(5000)}> old${' x'.repeat(300)}\r\nnew`, 'new'],
    [`\r\n> old\r\n${'ab '.repeat(300)}`, 'ab '.repeat(67).slice(0, 200)],
    ['Content-Type: text/html\r\n\r\n<p>one</p>&gt; two<p>th<b>r</b>ee', 'one three'],
    ['Content-Transfer-Encoding: base64\r\n\r\nYSBiCj4gYwpk', 'a b d'],
    ['Content-Transfer-Encoding: unknown\r\n\r\ntext', '']
  ])
    for (const pieceBytes of [1, 2, 7, 1000])
      assert.equal(previewOf(Buffer.from(text ?? ''), pieceBytes), expected)
  const node = previewParts(toPartTree(parseMessage(Buffer.from('\r\nx')).root))[0]
  assert.ok(node)
  assert.equal(new PreviewReader(node).push(Buffer.from('word '.repeat(100))), true)
  assert.equal(new PreviewReader(node).push(Buffer.from('> quoted'.repeat(100))), false)
})

test('every message of the corpus has a preview that fits', { skip: corpusIsMissing }, (t) => {
  let count = 0
  for (const messages of [everydayMessages(), tortureMessages()]) {
    for (const { name, bytes } of messages) {
      const text = previewOf(bytes)
      assert.ok([...text].length <= 200 && text.isWellFormed() && !/[\r\n\0]/.test(text), name)
      assert.equal(previewOf(bytes, 1009), text, name)
      if (++count > 1500) return
    }
  }
  t.diagnostic(`${count} messages`)
})

test('a preview has what stands in noscript, and behind a comment that ends by --!>', () => {
  const page = '<!-- a --!><noscript>Turn it on</noscript> or <b>not</b>'
  assert.equal(preview(`Content-Type: text/html\r\n\r\n${page}`), 'Turn it on or not')
})
