import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { quoted } from '../../../src/export/mbox-quoting.js'

/**
 * @param {string[]} chunks
 * @returns {Promise<string>}
 */
async function quote(chunks) {
  async function* bytes() {
    for (const chunk of chunks) yield Buffer.from(chunk)
  }
  const pieces = []
  for await (const piece of quoted(bytes())) pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

test('lines that would begin a message are quoted, and no others, wherever they are divided', async () => {
  const part = fc.constantFrom('From ', 'From', 'm ', '>', '\n', '\r', 'x')
  const text = fc.array(part, { maxLength: 12 }).map((parts) => parts.join(''))
  await fc.assert(
    fc.asyncProperty(fc.array(text, { maxLength: 5 }), async (chunks) => {
      const lines = chunks.join('').split('\n')
      const wanted = lines.map((line) => line.replace(/^>*From /, '>$&')).join('\n')
      assert.equal(await quote(chunks), wanted)
      assert.equal(await quote([...chunks.join('')]), wanted)
    }),
    { seed: 7, numRuns: 300 }
  )
})
