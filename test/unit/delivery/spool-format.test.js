import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  SpoolPlaintextReader,
  SpoolPlaintextWriter,
  paddedBytes
} from '../../../src/delivery/spool-format.js'

const ENVELOPE = { recipient: 'ann@example.org', sender: '', receivedAtMs: 1_700_000_000_123 }
const UNSEAL_FAILED = { code: 'UNSEAL_FAILED' }

/** @param {Buffer[]} blocks */
function write(blocks) {
  const writer = new SpoolPlaintextWriter()
  const start = writer.start(ENVELOPE)
  return Buffer.concat([start, ...blocks.flatMap((block) => writer.block(block)), ...writer.end()])
}

/**
 * @param {Buffer} plaintext
 * @param {number} [step]
 */
function read(plaintext, step = plaintext.length) {
  const reader = new SpoolPlaintextReader()
  const message = []
  for (let at = 0; at < plaintext.length; at += step) {
    message.push(...reader.push(plaintext.subarray(at, at + step)))
  }
  return { envelope: reader.end(), message: Buffer.concat(message) }
}

test('a size is padded to 4 KiB, then to Padmé’s steps', () => {
  const table = [
    [0, 4096],
    [4096, 4096],
    [4097, 4352],
    [9_000, 9_216],
    [65_536, 65_536],
    [65_537, 67_584],
    [1_000_000, 1_015_808],
    [50_000_000, 50_331_648]
  ]
  for (const [size = 0, padded] of table) assert.equal(paddedBytes(size), padded, `${size}`)
})

test('padding never shrinks, is its own bucket, and costs at most 12 % above 4 KiB', () => {
  fc.assert(
    fc.property(fc.integer({ min: 4096, max: 2 ** 40 }), (size) => {
      const padded = paddedBytes(size)
      assert.ok(padded >= size && padded <= size * 1.12)
      assert.equal(paddedBytes(padded), padded)
      assert.ok(paddedBytes(size + 1) >= padded)
    })
  )
})

test('any message in any blocks, read in any chunks, comes back byte for byte', () => {
  const blocks = fc.array(fc.uint8Array({ maxLength: 3000 }), { maxLength: 6 })
  fc.assert(
    fc.property(blocks, fc.integer({ min: 1, max: 5000 }), (parts, step) => {
      const plaintext = write(parts.map((part) => Buffer.from(part)))
      const { envelope, message } = read(plaintext, step)
      assert.deepEqual(envelope, ENVELOPE)
      assert.ok(message.equals(Buffer.concat(parts)))
      assert.equal(plaintext.length, paddedBytes(plaintext.length))
    })
  )
})

test('a block longer than 1 MiB is written as several', () => {
  const long = Buffer.alloc(2_500_000, 'x')
  assert.ok(read(write([long]), 70_000).message.equals(long))
})

test('messages of nearly the same length have plaintexts of the same length', () => {
  const sizes = new Set()
  for (let size = 200_000; size < 200_500; size += 50) {
    sizes.add(write([Buffer.alloc(size)]).length)
  }
  assert.equal(sizes.size, 1)
})

test('a plaintext that is not whole, or has more than it should, is refused', () => {
  const whole = write([Buffer.from('hello')])
  /** @param {(bytes: Buffer) => void} edit */
  const edited = (edit) => {
    const bytes = Buffer.from(whole)
    edit(bytes)
    return bytes
  }
  const table = {
    empty: Buffer.alloc(0),
    'cut in the envelope': whole.subarray(0, 20),
    'cut in the padding': whole.subarray(0, -1),
    'a byte too long': Buffer.concat([whole, Buffer.alloc(1)]),
    'another version': edited((bytes) => bytes.writeUInt8(2, 0)),
    'an envelope without length': edited((bytes) => bytes.writeUInt32BE(0, 1)),
    'an envelope that is too long': edited((bytes) => bytes.writeUInt32BE(17_000, 1)),
    'an envelope that is not JSON': edited((bytes) => bytes.writeUInt8(0x78, 5)),
    'an envelope that lacks a field': edited((bytes) => bytes.write('{"recipienT"', 5)),
    'an envelope without a sender': edited((bytes) =>
      bytes.write('sendeR', bytes.indexOf('sender'))
    ),
    'an envelope whose time is no number': edited((bytes) =>
      bytes.write('null         ', bytes.indexOf('1700000000123'))
    ),
    'an envelope that is null': Buffer.concat([
      Buffer.from('\x01\0\0\0\x04null\0\0\0\0'),
      Buffer.alloc(4083)
    ]),
    'bytes in the padding': edited((bytes) => bytes.writeUInt8(1, bytes.length - 9)),
    'a block that is too long': edited((bytes) =>
      bytes.writeUInt32BE(2 ** 21, 5 + bytes.readUInt32BE(1))
    )
  }
  for (const [what, bytes] of Object.entries(table)) {
    assert.throws(() => read(bytes), UNSEAL_FAILED, what)
  }
})

test('an envelope that is too long is not sealed', () => {
  const writer = new SpoolPlaintextWriter()
  assert.throws(() => writer.start({ ...ENVELOPE, sender: 'x'.repeat(20_000) }), {
    code: 'SEAL_FAILED'
  })
})
