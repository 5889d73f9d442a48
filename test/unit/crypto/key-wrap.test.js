import assert from 'node:assert/strict'
import { createDecipheriv } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  UnwrapError,
  associatedData,
  credentialAssociatedData,
  unwrapKey,
  wrapKey
} from '../../../src/crypto/key-wrap.js'
import { equalInConstantTime } from '../../../src/crypto/constant-time.js'

/** @type {import('../../../src/crypto/key-wrap.js').CredentialContext} */
const CONTEXT = {
  accountId: 'a1b2c3d4e5f60718',
  credentialId: '0011223344556677',
  kind: 'password',
  scope: 'read-write',
  expiresAtMs: null,
  version: 3,
  argon2: { memoryKiB: 65_536, passes: 2, parallelism: 1 },
  pepperId: 'ffeeddccbbaa9988',
  keyEpoch: 1
}
const KEK = Buffer.alloc(32, 7)
const KEY = Buffer.from([...Array(32).keys()])

test('a wrapped key opens under the same key and purpose', () => {
  const associated = credentialAssociatedData(CONTEXT)
  const wrapped = wrapKey({ kek: KEK, key: KEY, associated })
  using opened = unwrapKey({ kek: KEK, wrapped, associated })
  assert.deepEqual(opened.bytes, KEY)
})

test('the layout is version, nonce, ciphertext, tag', () => {
  const associated = associatedData('test', [])
  const wrapped = wrapKey({ kek: KEK, key: KEY, associated })
  assert.equal(wrapped.length, 1 + 12 + 32 + 16)
  assert.equal(wrapped[0], 1)
  const decipher = createDecipheriv('aes-256-gcm', KEK, wrapped.subarray(1, 13))
  decipher.setAAD(Buffer.from('["letterlock/1 test"]'))
  decipher.setAuthTag(wrapped.subarray(45))
  assert.deepEqual(decipher.update(wrapped.subarray(13, 45)), KEY)
  decipher.final()
})

test('no two wraps of a key are alike', () => {
  const associated = associatedData('test', [])
  const wraps = Array.from({ length: 50 }, () => wrapKey({ kek: KEK, key: KEY, associated }))
  assert.equal(new Set(wraps.map((wrapped) => wrapped.toString('hex'))).size, 50)
})

/** @type {[string, Partial<import('../../../src/crypto/key-wrap.js').CredentialContext>][]} */
const CHANGES = [
  ['account', { accountId: 'a1b2c3d4e5f60719' }],
  ['credential id', { credentialId: '0011223344556678' }],
  ['kind', { kind: 'app-password' }],
  ['scope', { scope: 'read-only' }],
  ['expiry', { expiresAtMs: 1 }],
  ['version', { version: 4 }],
  ['argon2 memory', { argon2: { memoryKiB: 65_537, passes: 2, parallelism: 1 } }],
  ['argon2 passes', { argon2: { memoryKiB: 65_536, passes: 3, parallelism: 1 } }],
  ['argon2 lanes', { argon2: { memoryKiB: 65_536, passes: 2, parallelism: 2 } }],
  ['argon2 at all', { argon2: null }],
  ['pepper id', { pepperId: 'ffeeddccbbaa9989' }],
  ['pepper at all', { pepperId: null }],
  ['key epoch', { keyEpoch: 2 }]
]
for (const [name, change] of CHANGES) {
  test(`a wrap does not open once its ${name} was changed`, () => {
    const wrapped = wrapKey({ kek: KEK, key: KEY, associated: credentialAssociatedData(CONTEXT) })
    const associated = credentialAssociatedData({ ...CONTEXT, ...change })
    assert.throws(() => unwrapKey({ kek: KEK, wrapped, associated }), UnwrapError)
  })
}

test('a wrap does not open once any of its bits was changed, nor under another key', () => {
  const associated = credentialAssociatedData(CONTEXT)
  const wrapped = wrapKey({ kek: KEK, key: KEY, associated })
  fc.assert(
    fc.property(fc.nat(wrapped.length * 8 - 1), (bit) => {
      const changed = Buffer.from(wrapped)
      changed[bit >> 3] = /** @type {number} */ (changed[bit >> 3]) ^ (1 << (bit & 7))
      assert.throws(() => unwrapKey({ kek: KEK, wrapped: changed, associated }), UnwrapError)
    })
  )
  assert.throws(() => unwrapKey({ kek: Buffer.alloc(32, 8), wrapped, associated }), UnwrapError)
})

test('what is too short to be a wrap is refused as one', () => {
  const associated = associatedData('test', [])
  for (const size of [0, 1, 12, 29]) {
    assert.throws(
      () => unwrapKey({ kek: KEK, wrapped: Buffer.alloc(size, 1), associated }),
      UnwrapError
    )
  }
})

test('associated data are different for different lists, whatever the values hold', () => {
  const value = fc.oneof(fc.string(), fc.integer(), fc.constant(null))
  const list = fc.array(value, { maxLength: 4 })
  fc.assert(
    fc.property(list, list, (left, right) => {
      const isSame = JSON.stringify(left) === JSON.stringify(right)
      assert.equal(associatedData('p', left).equals(associatedData('p', right)), isSame)
    })
  )
})

test('constant-time comparison says what comparison says', () => {
  fc.assert(
    fc.property(fc.uint8Array(), fc.uint8Array(), (left, right) => {
      assert.equal(equalInConstantTime(left, right), Buffer.compare(left, right) === 0)
      assert.equal(equalInConstantTime(left, Uint8Array.from(left)), true)
    })
  )
})
