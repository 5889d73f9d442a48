/**
 * The text of a base64 part, any range of it from as few of its bytes as it needs.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  decodedRange,
  decodedSize,
  textBytes,
  writeText
} from '../../../../src/store/shared-parts/base64-text.js'
import { base64Text, noise } from '../../../helpers/attachments.js'

const LINES = [56, 64, 72, 76, 996]
const SIZES = [1, 2, 3, 41, 42, 43, 54, 56, 57, 58, 113, 114, 115, 747, 1494, 5000]

test('lengths of texts, and of what they stand for', () => {
  for (const line of LINES) {
    for (const size of SIZES) {
      const text = base64Text(noise('length', size), line)
      assert.equal(textBytes({ line, size }), text.length, `${size} bytes in lines of ${line}`)
      const padding = text.endsWith('==') ? 2 : text.endsWith('=') ? 1 : 0
      assert.equal(decodedSize({ line, bytes: text.length, padding }), size)
    }
  }
})

for (const [what, text] of /** @type {const} */ ([
  ['nothing', { line: 76, bytes: 0, padding: 0 }],
  ['a line’s end without the next line', { line: 76, bytes: 77, padding: 0 }],
  ['a line and its end', { line: 76, bytes: 78, padding: 0 }],
  ['half a group', { line: 76, bytes: 78 + 6, padding: 0 }],
  ['padding alone', { line: 76, bytes: 2, padding: 2 }]
])) {
  test(`no text is as long as ${what}`, () => assert.equal(decodedSize(text), null))
}

test('any range of the text, from the bytes of its lines alone', () => {
  for (const line of LINES) {
    for (const size of SIZES) {
      const bytes = noise('range', size)
      const text = Buffer.from(base64Text(bytes, line))
      const step = Math.max(1, Math.floor(text.length / 23))
      for (let from = 0; from < text.length; from += step) {
        for (let to = from + 1; to <= text.length; to += step) {
          const { start, end } = decodedRange({ line, size }, { from, to })
          assert.ok(end - start <= Math.ceil((to - from) / line) * line + 2 * line)
          const target = Buffer.alloc(to - from + 2, '#')
          writeText(bytes.subarray(start, end), { line, from, to }, target, 1)
          const expected = `#${text.toString('latin1', from, to)}#`
          assert.equal(target.toString('latin1'), expected, `${from} to ${to} of ${size}, ${line}`)
        }
      }
    }
  }
})
