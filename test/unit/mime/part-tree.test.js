import { test } from 'node:test'
import assert from 'node:assert/strict'
import { isMailError } from '../../../src/errors.js'
import { parseMessage } from '../../../src/mime/parse-message.js'
import { decodePartTree, encodePartTree } from '../../../src/mime/part-tree.js'

const MESSAGE = Buffer.from(
  'Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\nContent-Type: text/html; charset=KOI8-R\r\n' +
    'Content-Transfer-Encoding: Base64\r\nContent-Disposition: Attachment\r\n\r\nQQ==\r\n--b\r\n' +
    'Content-Type: message/rfc822\r\n\r\nSubject: in\r\n\r\nhi\r\n--b\r\nContent-Type: x-own/y-own\r\n\r\n\r\n--b--'
)

test('a tree comes back with the places and the words that sections and text need', () => {
  const { root } = parseMessage(MESSAGE)
  const tree = decodePartTree(encodePartTree(root))
  const [html, message, own] = tree.children
  assert.deepEqual(
    [tree.type, tree.subtype, tree.headerEnd, tree.bodyEnd, tree.isMessage, tree.charset],
    ['multipart', 'mixed', 46 - 1, MESSAGE.length, false, null]
  )
  assert.deepEqual(
    [html?.type, html?.subtype, html?.encoding, html?.charset, html?.isAttachment, html?.lines],
    ['text', 'html', 'base64', 'koi8-r', true, 0]
  )
  assert.deepEqual([message?.isMessage, message?.children[0]?.type], [true, 'text'])
  assert.deepEqual([own?.type, own?.subtype, own?.encoding], ['x-own', 'y-own', '7bit'])
  assert.equal(MESSAGE.toString('latin1', html?.headerEnd, html?.bodyEnd), 'QQ==')
})

test('the tree of a plain message takes no more than twenty bytes', () =>
  assert.ok(encodePartTree(parseMessage(Buffer.from('A: 1\r\n\r\nhi')).root).length <= 20))

test('short forms mean what they mean in the trees that are stored', () => {
  const words = (
    ' text plain html multipart mixed alternative related signed report message rfc822 delivery-status ' +
    'application octet-stream pdf image jpeg png gif 7bit 8bit base64 quoted-printable us-ascii utf-8 ' +
    'iso-8859-1 iso-8859-15 windows-1252'
  ).split(' ')
  const leaf = (/** @type {number} */ place) => [0, 0, 0, 0, 0, 0x81, 0x80 | place, 0x94, 0x80, 0]
  const leaves = words.flatMap((_, place) => leaf(place))
  const root = [1, 2, 0, 0, 0, 0, 0x84, 0x85, 0x94, 0x80, words.length]
  const { children } = decodePartTree(Buffer.from([...root, ...leaves]))
  assert.deepEqual(
    children.map(({ subtype }) => subtype),
    words
  )
})

test('offsets beyond 32 bits are kept', () => {
  const { root } = parseMessage(Buffer.from('A: 1\r\n\r\nhi'))
  root.bodyEnd = 2 ** 40
  assert.equal(decodePartTree(encodePartTree(root)).bodyEnd, 2 ** 40)
})

test('bytes that are no tree are refused as damage and never read past their end', () => {
  const good = encodePartTree(parseMessage(MESSAGE).root)
  const isDamage = (/** @type {unknown} */ error) => isMailError(error, 'ACCOUNT_DAMAGED')
  for (let length = 0; length < good.length; length++)
    assert.throws(() => decodePartTree(good.subarray(0, length)), isDamage)
  assert.throws(() => decodePartTree(Buffer.concat([good, Buffer.from([0])])), isDamage)
  assert.throws(() => decodePartTree(Buffer.alloc(10_000, 0xff)), isDamage)
  // A chain of nodes with one child each, without end.
  const node = [0, 0, 0, 0, 0, 0x80, 0x80, 0x80, 0x80, 1]
  assert.throws(() => decodePartTree(Buffer.from([1, ...Array(1_000).fill(node).flat()])), isDamage)
  for (let at = 0; at < good.length; at++) {
    for (const value of [0, 0x7f, 0x80, 0xff]) {
      const changed = Buffer.from(good)
      changed[at] = value
      try {
        decodePartTree(changed)
      } catch (error) {
        assert.ok(isDamage(error))
      }
    }
  }
})
