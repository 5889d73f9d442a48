import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HEADER_BYTES, parseHeader } from '../../../src/export/portable-format.js'

const MOST = { memoryKiB: 2 * 1024 * 1024, passes: 64, parallelism: 16 }

/** @param {Record<string, unknown>} [changed] */
function headerWith(changed) {
  const fields = {
    cipher: 'chacha20',
    argon2: [MOST.memoryKiB, MOST.passes, MOST.parallelism],
    salt: Buffer.alloc(16, 1).toString('base64'),
    commitment: Buffer.alloc(32, 2).toString('base64'),
    wrappedKey: Buffer.alloc(60, 3).toString('base64'),
    size: 1,
    ...changed
  }
  const header = Buffer.alloc(HEADER_BYTES)
  header.write(`letterlock portable mailbox 1\n${JSON.stringify(fields)}\n`)
  return header
}

test('a header is believed before the password only as far as it asks for no more than anybody may', () => {
  assert.deepEqual(parseHeader(headerWith()), {
    cipher: 'chacha20',
    argon2: MOST,
    salt: Buffer.alloc(16, 1),
    commitment: Buffer.alloc(32, 2),
    wrappedKey: Buffer.alloc(60, 3),
    sizeBytes: 1
  })
  const { memoryKiB, passes, parallelism } = MOST
  for (const changed of [
    { argon2: [memoryKiB + 1, passes, parallelism] },
    { argon2: [memoryKiB, passes + 1, parallelism] },
    { argon2: [memoryKiB, passes, parallelism + 1] },
    { argon2: null },
    { cipher: 'rot13' },
    { salt: Buffer.alloc(15, 1).toString('base64') },
    { salt: 16 },
    { commitment: Buffer.alloc(31, 2).toString('base64') },
    { size: 0 },
    { size: -4096 },
    { size: 0.5 },
    { size: 2 ** 53 },
    { size: '1' }
  ])
    assert.throws(
      () => parseHeader(headerWith(changed)),
      { code: 'NOT_PORTABLE' },
      JSON.stringify(changed)
    )
})
