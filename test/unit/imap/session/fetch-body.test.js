import assert from 'node:assert/strict'
import { test } from 'node:test'
import { FetchWriter } from '../../../../src/imap/protocol/compile/fetch.js'
import { writeBody } from '../../../../src/imap/session/fetch-body.js'
import { encodePartTree } from '../../../../src/mime/part-tree.js'
import { parseMessage } from '../../../../src/mime/parse-message.js'
import { encodeChunk } from '../../../../src/store/chunk-codec.js'
import { StoredBody } from '../../../../src/store/read-bodies.js'

const ATTACHMENT = Buffer.alloc(30_000, 'attached ').toString('base64').replace(/.{76}/g, '$&\r\n')

const MESSAGE = Buffer.from(
  `Subject: secret\r\nContent-Type: multipart/mixed; boundary=q\r\n\r\n--q\r\n\r\nhidden\r\n--q\r\nContent-Transfer-Encoding: base64\r\n\r\n${ATTACHMENT}\r\n--q--\r\n`
)

/**
 * @param {Buffer} message
 * @param {Buffer} treeOf - the message that the tree is of
 * @returns {StoredBody}
 */
const bodyOf = (message, treeOf = message) =>
  new StoredBody({
    ...encodeChunk(message),
    size: message.length,
    partTree: encodePartTree(parseMessage(treeOf).root),
    internalDate: null
  })

/**
 * @param {StoredBody} body
 * @param {number[]} path
 * @param {{ offset: number, length: number } | null} [partial]
 * @returns {string | null} null: it is damaged
 */
function written(body, path, partial = null) {
  const writer = new FetchWriter()
  const section = { path, text: null, fields: [] }
  /** @type {import('../../../../src/imap/protocol/values/fetch-item.js').SectionItem} */
  const item = { kind: 'SECTION', isPeek: true, section, partial, label: 'BODY[]' }
  if (!writeBody(writer, [item], body, { wholeBytes: 0, writeOther: () => assert.fail() }))
    return null
  let text = ''
  writer.handTo((bytes) => (text += bytes.toString('latin1')))
  return text.slice(text.indexOf('}') + 3)
}

test('of a message with an attachment any range is what stands there', () => {
  assert.ok(encodeChunk(MESSAGE).codec > 1)
  assert.equal(written(bodyOf(MESSAGE), [1]), 'hidden')
  assert.equal(written(bodyOf(MESSAGE), [2]), ATTACHMENT)
  const whole = MESSAGE.toString('latin1')
  for (let offset = 0; offset < MESSAGE.length + 100; offset += 131)
    for (const length of [1, 76, 79, 5000, 50_000])
      assert.equal(
        written(bodyOf(MESSAGE), [], { offset, length }),
        whole.slice(offset, offset + length),
        `${offset} ${length}`
      )
})

test('with the part tree of another message nothing is written, least of all of a third one', () => {
  const short = Buffer.from('Subject: short\r\n\r\ntext')
  assert.equal(written(bodyOf(MESSAGE), [1]), 'hidden')
  assert.equal(written(bodyOf(short, MESSAGE), [1]), null)
  assert.equal(written(bodyOf(short, MESSAGE), [2]), null)
  assert.equal(written(bodyOf(short), [1]), 'text')
})

test('what does not unpack is damaged, whatever is asked for of it', () => {
  const damaged = (/** @type {number} */ codec) =>
    new StoredBody({
      codec,
      data: Buffer.from('0102', 'hex'),
      size: MESSAGE.length,
      partTree: encodePartTree(parseMessage(MESSAGE).root),
      internalDate: null
    })
  for (const codec of [0, 1, 2, 3, 9])
    assert.equal(written(damaged(codec), [1], { offset: 0, length: 1 }), null, `codec ${codec}`)
})
