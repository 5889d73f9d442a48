import { test } from 'node:test'
import assert from 'node:assert/strict'
import { planRewriting, rewritten } from '../../../src/mime/binary-to-base64.js'
import { buildMessageMeta } from '../../../src/mime/message-meta.js'
import { parseMessage } from '../../../src/mime/parse-message.js'
import { decodePartTree } from '../../../src/mime/part-tree.js'
import { collectBytes } from '../../helpers/collect.js'

/**
 * @param {string} text - the message
 * @param {number} size - bytes of each piece in which it comes
 * @returns {Promise<string>} the message as it is stored
 */
async function stored(text, size) {
  const bytes = Buffer.from(text, 'latin1')
  const tree = decodePartTree(buildMessageMeta(parseMessage(bytes)).partTree)
  const plan = planRewriting(tree, ({ headerEnd, bodyEnd }) =>
    bytes.subarray(headerEnd, bodyEnd).includes(0)
  )
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
  }
  return (await collectBytes(rewritten(pieces(), plan))).toString('latin1')
}

const TYPE = 'Content-Type: multipart/mixed; boundary='
const BINARY = 'Content-Transfer-Encoding: binary\r\n'
const EIGHT_BIT = 'Content-Transfer-Encoding: 8bit\r\n'
const BASE64 = 'Content-Transfer-Encoding: base64\r\n'

/** @type {[string, string, string][]} what the message is, as it comes, as it is stored */
const MESSAGES = [
  ['one part', `${BINARY}\r\na\0b`, `${BASE64}\r\nYQBi\r\n`],
  ['nothing with NUL', `${BINARY}\r\n\xff`, `${BINARY}\r\n\xff`],
  [
    'lines of 57 bytes',
    `\r\n${'\0'.repeat(3 * 57)}`,
    `${BASE64}\r\n${`${'A'.repeat(76)}\r\n`.repeat(3)}`
  ],
  [
    'one byte more than a line',
    `\r\n${'\0'.repeat(58)}`,
    `${BASE64}\r\n${'A'.repeat(76)}\r\nAA==\r\n`
  ],
  [
    'a part that is encoded already',
    'Content-Transfer-Encoding: quoted-printable\r\n\r\na\0b',
    'Content-Transfer-Encoding: quoted-printable\r\n\r\na\0b'
  ],
  [
    'of several parts those with NUL, and those around them',
    `${BINARY}${TYPE}a\r\n\r\n--a\r\n${BINARY}\r\nx\r\n--a\r\n${BINARY}${TYPE}b\r\n\r\n--b\r\n\r\na\0b\r\n--b--\r\n--a--\r\n`,
    `${TYPE}a\r\n${EIGHT_BIT}\r\n--a\r\n${BINARY}\r\nx\r\n--a\r\n${TYPE}b\r\n${EIGHT_BIT}\r\n--b\r\n${BASE64}\r\nYQBi\r\n\r\n--b--\r\n--a--\r\n`
  ],
  [
    'a multipart with NUL behind its last part alone',
    `${BINARY}${TYPE}a\r\n\r\n--a\r\n\r\nx\r\n--a--\r\n\0`,
    `${BINARY}${TYPE}a\r\n\r\n--a\r\n\r\nx\r\n--a--\r\n\0`
  ],
  [
    'a multipart that does not say it is binary',
    `${TYPE}a\r\n\r\n--a\r\n\r\na\0b\r\n--a--`,
    `${TYPE}a\r\n\r\n--a\r\n${BASE64}\r\nYQBi\r\n\r\n--a--`
  ],
  [
    'a multipart without an empty line before its first part',
    `${BINARY}${TYPE}a\r\n--a\r\n\r\na\0b\r\n--a--`,
    `${TYPE}a\r\n${EIGHT_BIT}\r\n--a\r\n${BASE64}\r\nYQBi\r\n\r\n--a--`
  ],
  [
    'a header with a line that is no field',
    `X: 1\r\nrubbish\r\n${BINARY}\r\na\0b`,
    `X: 1\r\nrubbish\r\n${BASE64}\r\nYQBi\r\n`
  ]
]

for (const [name, text, expected] of MESSAGES)
  test(`NUL in ${name}, in pieces too`, async () => {
    for (const size of [text.length, 1, 7, 60]) assert.equal(await stored(text, size), expected)
  })
