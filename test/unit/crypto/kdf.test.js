import assert from 'node:assert/strict'
import { argon2Sync, createHmac } from 'node:crypto'
import { test } from 'node:test'
import {
  ARGON2_FLOOR,
  argon2id,
  hkdf,
  isSameArgon2,
  keyFromCode,
  keyFromStretched,
  normalizePassword,
  requireStrongEnough
} from '../../../src/crypto/kdf.js'
import {
  deriveDatabaseKey,
  deriveRekeyKey,
  deriveSealKey
} from '../../../src/crypto/key-derivation.js'

const hex = (/** @type {string} */ text) => Buffer.from(text.replaceAll(/\s/g, ''), 'hex')

test('HKDF gives the answer of RFC 5869, appendix A.3', () => {
  // A.3: no salt, no info
  assert.deepEqual(
    hkdf({ key: Buffer.alloc(22, 0x0b), info: '', size: 42 }),
    hex('8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8')
  )
})

test('HKDF agrees with extract and expand written out', () => {
  const key = Buffer.from('input keying material')
  const salt = Buffer.from('salt')
  const extracted = createHmac('sha256', salt).update(key).digest()
  const expanded = createHmac('sha256', extracted).update('info').update(Buffer.of(1)).digest()
  assert.deepEqual(hkdf({ key, salt, info: 'info' }), expanded)
})

test('argon2id gives the same bytes as Node’s own implementation', async () => {
  for (const params of [ARGON2_FLOOR, { memoryKiB: 20_000, passes: 3, parallelism: 2 }]) {
    const password = Buffer.from('correct horse battery staple')
    const salt = Buffer.from('0123456789abcdef')
    using stretched = await argon2id({ password, salt, params })
    const expected = argon2Sync('argon2id', {
      message: password,
      nonce: salt,
      parallelism: params.parallelism,
      tagLength: 32,
      memory: params.memoryKiB,
      passes: params.passes
    })
    assert.deepEqual(stretched.bytes, expected)
  }
})

test('argon2id runs nothing below the floor', async () => {
  const floor = ARGON2_FLOOR
  for (const params of [
    { ...floor, memoryKiB: floor.memoryKiB - 1 },
    { ...floor, passes: floor.passes - 1 },
    { ...floor, parallelism: 0 },
    { ...floor, memoryKiB: Number.NaN },
    { ...floor, passes: 2.5 }
  ]) {
    assert.throws(() => requireStrongEnough(params), RangeError)
    await assert.rejects(
      argon2id({ password: Buffer.from('x'), salt: Buffer.alloc(16), params }),
      RangeError
    )
  }
  requireStrongEnough(floor)
})

test('parameters are the same only if all three are', () => {
  assert.equal(isSameArgon2(ARGON2_FLOOR, { ...ARGON2_FLOOR }), true)
  for (const name of /** @type {const} */ (['memoryKiB', 'passes', 'parallelism'])) {
    assert.equal(isSameArgon2(ARGON2_FLOOR, { ...ARGON2_FLOOR, [name]: 77 }), false)
  }
})

test('a composed and a decomposed password are one; other bytes stay as they are', () => {
  const composed = Buffer.from('pässwörd'.normalize('NFC'))
  const decomposed = Buffer.from('pässwörd'.normalize('NFD'))
  assert.notDeepEqual(composed, decomposed)
  assert.deepEqual(normalizePassword(decomposed).bytes, normalizePassword(composed).bytes)
  const latin1 = Buffer.from('pässwörd', 'latin1')
  assert.deepEqual(normalizePassword(latin1).bytes, latin1)
  const marked = Buffer.from('\ufeffbom')
  assert.deepEqual(normalizePassword(marked).bytes, marked)
  const ascii = Buffer.from('plain')
  normalizePassword(ascii).dispose()
  assert.equal(ascii.toString(), 'plain')
})

test('key and commitment differ from each other, and with every input', () => {
  const stretched = Buffer.alloc(32, 1)
  const pepper = Buffer.alloc(32, 2)
  const base = keyFromStretched({ stretched, pepper })
  const others = [
    keyFromStretched({ stretched: Buffer.alloc(32, 9), pepper }),
    keyFromStretched({ stretched, pepper: Buffer.alloc(32, 9) }),
    keyFromCode({ code: stretched, salt: pepper }),
    keyFromCode({ code: stretched, salt: Buffer.alloc(16) })
  ]
  const seen = new Set()
  for (const { kek, commitment } of [base, ...others]) {
    seen.add(kek.bytes.toString('hex'))
    seen.add(commitment.toString('hex'))
  }
  assert.equal(seen.size, 10)
})

test('the keys below a master key are what they were: files depend on it', () => {
  const masterKey = Buffer.from([...Array(32).keys()])
  const derived = [deriveDatabaseKey, deriveSealKey, deriveRekeyKey].map((derive) =>
    derive(masterKey)
  )
  for (const key of derived) assert.equal(key.buffer.byteLength, 32)
  const expected = ['database', 'seal', 'rekey'].map((name) => {
    const extracted = createHmac('sha256', Buffer.alloc(32)).update(masterKey).digest()
    return createHmac('sha256', extracted)
      .update(`letterlock/1 ${name}`)
      .update(Buffer.of(1))
      .digest()
  })
  assert.deepEqual(derived, expected)
})
