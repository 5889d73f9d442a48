import assert from 'node:assert/strict'
import { test } from 'node:test'
import { addedLines, findAddedLines, withoutAdded } from '../../../src/import/added-lines.js'
import { collectBytes } from '../../helpers/collect.js'

const MESSAGE = 'Status: mine\nSubject: x\n\nbody'

test('the lines that an export adds are found again, and those of the message are not among them', () => {
  for (const flags of [[], ['\\Seen'], ['\\Flagged', '$Work'], ['\\Seen', '\\Draft', 'a', 'b']])
    for (const isUnended of [false, true]) {
      const lines = addedLines({ flags, isUnended })
      const found = findAddedLines(Buffer.concat([lines, Buffer.from(MESSAGE)]))
      assert.deepEqual(found, { bytes: lines, isUnended })
      const crlf = Buffer.from(String(lines).replaceAll('\n', '\r\n'))
      assert.deepEqual(findAddedLines(Buffer.concat([crlf, Buffer.from(MESSAGE)]))?.bytes, crlf)
    }
})

test('lines that stand elsewhere, or are fewer than the first says, are the message’s own', () => {
  const lines = String(addedLines({ flags: ['\\Seen'], isUnended: false }))
  for (const text of [
    `Received: x\n${lines}\nbody`,
    `\n${lines}`,
    'Received: x\nX-Letterlock-Added: 0\n\nbody',
    'X-Letterlock-Added: 1\nSubject: x\n\nbody',
    'X-Letterlock-Added: 2\nStatus: O\n',
    'X-Letterlock-Added: 4\nStatus: O\n'
  ])
    assert.equal(findAddedLines(Buffer.from(text)), null, text)
})

test('what was added is taken off in any pieces, an added line end too', async () => {
  for (const size of [1, 2, 5, 100]) {
    const bytes = Buffer.from(`added\n${MESSAGE}\n`)
    async function* pieces() {
      for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
    }
    for (const isUnended of [false, true]) {
      const message = await collectBytes(withoutAdded(pieces(), 6, isUnended))
      assert.equal(String(message), isUnended ? MESSAGE : `${MESSAGE}\n`, `${size}`)
    }
  }
})
