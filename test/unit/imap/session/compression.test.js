import { test } from 'node:test'
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { constants, createDeflateRaw, createInflateRaw } from 'node:zlib'
import fc from 'fast-check'
import { DeflateOutput, InflateInput } from '../../../../src/imap/session/compression.js'

/**
 * @param {import('node:zlib').DeflateRaw} deflate
 * @param {Buffer} bytes
 * @param {number} flush
 * @returns {Promise<Buffer>} what it puts out for them
 */
async function deflated(deflate, bytes, flush) {
  deflate.write(bytes)
  await new Promise((resolve) => deflate.flush(flush, () => resolve(undefined)))
  const out = []
  for (let piece = deflate.read(); piece !== null; piece = deflate.read()) out.push(piece)
  return Buffer.concat(out)
}

/**
 * @param {Buffer} bytes - of the wire
 * @param {InflateInput} inflate
 * @param {{ wake: () => void }} waiting
 * @returns {Promise<Buffer>}
 */
async function inflated(bytes, inflate, waiting) {
  /** @type {Buffer[]} */
  const out = []
  let isPushed = false
  for (;;) {
    for (let piece = inflate.read(); piece !== null; piece = inflate.read()) out.push(piece)
    if (inflate.wantsMore || inflate.hasEnded) {
      if (isPushed) {
        const all = Buffer.concat(out)
        // As whoever takes it does with what may be secret.
        for (const piece of out) piece.fill(0)
        return all
      }
      inflate.push(bytes)
      isPushed = true
    }
    await new Promise((resolve) => {
      waiting.wake = () => resolve(undefined)
    })
  }
}

const words = fc.array(
  fc.constantFrom('UID FETCH ', '1:* ', '(FLAGS)', '\0\0ÿÿ', 'x'.repeat(700)),
  {
    minLength: 1,
    maxLength: 60
  }
)
const lines = fc.array(words, { minLength: 1, maxLength: 12 })

test('an inflater that rests after any line goes on as if it had not', async () => {
  await fc.assert(
    fc.asyncProperty(
      lines,
      fc.constantFrom(0, 1, 6, 9),
      fc.constantFrom(constants.Z_SYNC_FLUSH, constants.Z_FULL_FLUSH, constants.Z_PARTIAL_FLUSH),
      async (commands, level, flush) => {
        const waiting = { wake: () => {} }
        const inflate = new InflateInput(() => waiting.wake())
        const deflate = createDeflateRaw({ level })
        for (const command of commands) {
          const line = Buffer.from(`${command.join('')}\r\n`, 'latin1')
          const wire = await deflated(deflate, line, flush)
          assert.deepEqual(await inflated(wire, inflate, waiting), line)
          inflate.rest()
          assert.equal(inflate.isResting, flush !== constants.Z_PARTIAL_FLUSH)
        }
        inflate.destroy()
        deflate.destroy()
      }
    ),
    { numRuns: 60 }
  )
})

test('an inflater does not rest inside a block', async () => {
  const waiting = { wake: () => {} }
  const inflate = new InflateInput(() => waiting.wake())
  const deflate = createDeflateRaw()
  const wire = await deflated(deflate, Buffer.from('a NOOP\r\n'), constants.Z_SYNC_FLUSH)
  await inflated(wire.subarray(0, -1), inflate, waiting)
  inflate.rest()
  assert.equal(inflate.isResting, false)
  inflate.destroy()
  deflate.destroy()
})

test('batches of any size are one stream for the client, each readable when it has come', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(fc.nat(9000), fc.nat(255)), { minLength: 1, maxLength: 10 }),
      fc.boolean(),
      async (batches, isLarge) => {
        const client = createInflateRaw()
        let wire = 0
        const output = new DeflateOutput({
          send: (bytes) => {
            wire += bytes.length
            client.write(bytes)
          },
          onProgress: (error) => assert.equal(error, null)
        })
        /** @type {Buffer[]} */
        const written = []
        for (const [size, seed] of batches) {
          const batch = Buffer.alloc(size * (isLarge ? 20 : 1) + 1, `line ${seed}\r\n`)
          written.push(batch)
          output.write(batch)
        }
        const expected = Buffer.concat(written)
        /** @type {Buffer[]} */
        const got = []
        let bytes = 0
        while (bytes < expected.length) {
          const piece = client.read()
          if (piece === null) await once(client, 'readable')
          else {
            got.push(piece)
            bytes += piece.length
          }
        }
        assert.deepEqual(Buffer.concat(got), expected)
        assert.equal(output.pendingBytes, 0)
        assert.ok(wire < expected.length + 16 * batches.length)
        client.destroy()
      }
    ),
    { numRuns: 40 }
  )
})
