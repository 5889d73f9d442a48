import assert from 'node:assert/strict'
import { test } from 'node:test'
import { format, inspect } from 'node:util'
import { SecretBuffer } from '../../../src/crypto/secret-buffer.js'

test('a secret has memory of its own, outside the shared pool', () => {
  for (const secret of [
    SecretBuffer.alloc(32),
    SecretBuffer.random(32),
    SecretBuffer.copyOf(Buffer.from('a secret')),
    SecretBuffer.moveFrom(Buffer.from('a secret')),
    SecretBuffer.random(32).clone()
  ]) {
    assert.equal(secret.bytes.buffer.byteLength, secret.bytes.length)
  }
})

test('dispose zeroes the bytes, and a zeroed secret is never used as a key', () => {
  const secret = SecretBuffer.random(32)
  const { bytes } = secret
  secret.dispose()
  assert.deepEqual(bytes, Buffer.alloc(32))
  assert.equal(secret.isDisposed, true)
  assert.equal(secret.length, 0)
  assert.throws(() => secret.bytes, /disposed/)
  assert.throws(() => secret.clone(), /disposed/)
  secret.dispose()
})

test('the end of a using block disposes', () => {
  let bytes
  {
    using secret = SecretBuffer.random(8)
    bytes = secret.bytes
  }
  assert.deepEqual(bytes, Buffer.alloc(8))
})

test('moveFrom zeroes what it took, copyOf leaves it', () => {
  const moved = Buffer.from('abc')
  SecretBuffer.moveFrom(moved)
  assert.deepEqual(moved, Buffer.alloc(3))
  const copied = Buffer.from('abc')
  SecretBuffer.copyOf(copied).dispose()
  assert.equal(copied.toString(), 'abc')
})

test('a clone outlives the secret that it was made of', () => {
  const secret = SecretBuffer.copyOf(Buffer.from('abc'))
  const clone = secret.clone()
  secret.dispose()
  assert.equal(clone.bytes.toString(), 'abc')
})

test('no way of printing a secret shows it', () => {
  const secret = SecretBuffer.copyOf(Buffer.from('hunter2hunter2'))
  const prints = [
    String(secret),
    `${secret}`,
    JSON.stringify({ secret }),
    inspect(secret),
    inspect({ deep: { secret } }, { depth: 9, showHidden: true }),
    format('%s %j %o', secret, secret, secret)
  ]
  for (const print of prints) {
    assert.doesNotMatch(print, /hunter2|68 75 6e|104,117/)
    assert.match(print, /\[secret\]/)
  }
})
