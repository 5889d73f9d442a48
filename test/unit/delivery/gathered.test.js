import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { gathered } from '../../../src/delivery/gathered.js'

/**
 * @param {Buffer[]} pieces
 * @returns {Promise<Buffer[]>}
 */
async function collect(pieces) {
  const out = []
  for await (const piece of gathered(streamOf(pieces))) out.push(piece)
  return out
}

/** @param {Buffer[]} pieces */
async function* streamOf(pieces) {
  for (const piece of pieces) {
    const reused = Buffer.from(piece)
    yield reused
    if (reused.length < 4_096) reused.fill(0)
  }
}

test('pieces of any size come as the same bytes, small ones together', async () => {
  const sizes = fc.array(fc.oneof(fc.nat(40), fc.nat(5_000), fc.constantFrom(4_095, 4_096, 70_000)))
  await fc.assert(
    fc.asyncProperty(sizes, async (lengths) => {
      const pieces = lengths.map((length, index) => Buffer.alloc(length, `${index},`))
      const out = await collect(pieces)
      assert.deepEqual(Buffer.concat(out), Buffer.concat(pieces))
      assert.ok(out.every(({ length }) => length > 0))
    }),
    { numRuns: 100 }
  )
})

test('a message of lines with a dot is as many pieces as its bytes need', async () => {
  const out = await collect(Array.from({ length: 100_000 }, () => Buffer.from('.\r\n')))
  assert.deepEqual(new Set(out.slice(0, -1).map(({ length }) => length)), new Set([16_383]))
  assert.equal(out.length, 19)
})
