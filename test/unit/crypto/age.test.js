import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Decrypter, Encrypter, identityToRecipient } from 'age-encryption'
import fc from 'fast-check'
import {
  Opener,
  Sealer,
  generateSealIdentity,
  identityFromSecret,
  isRecipientOf
} from '../../../src/crypto/age.js'
import { CHUNK_BYTES, CHUNK_TAG_BYTES } from '../../../src/crypto/age-stream.js'
import { identityText } from '../../helpers/age-identity.js'

const SEALED_CHUNK = CHUNK_BYTES + CHUNK_TAG_BYTES
const pair = generateSealIdentity()
const identity = identityFromSecret(pair.secret)
const SEALED_HEADER_BYTES = new Sealer(pair.publicKey).start().length
const UNSEAL_FAILED = { code: 'UNSEAL_FAILED' }

/** @param {number} size */
function sample(size) {
  const bytes = Buffer.alloc(size)
  for (let i = 0; i < size; i++) bytes[i] = (i * 31 + (i >>> 8)) & 0xff
  return bytes
}

/**
 * @param {Buffer} plaintext
 * @param {Buffer} [publicKey]
 */
function seal(plaintext, publicKey = pair.publicKey) {
  const sealer = new Sealer(publicKey)
  return Buffer.concat([sealer.start(), ...sealer.push(plaintext), ...sealer.end()])
}

/**
 * @param {Buffer} file
 * @param {{ identities?: any[], released?: Buffer[], step?: number }} [options]
 */
function open(file, { identities = [identity], released = [], step = 64 * 1024 } = {}) {
  const opener = new Opener(identities)
  for (let at = 0; at < file.length; at += step) {
    released.push(...opener.push(file.subarray(at, at + step)))
  }
  released.push(...opener.end())
  return Buffer.concat(released)
}

/** Sizes on both sides of every border of the payload. */
const SIZES = [0, 1, 6000, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * CHUNK_BYTES, 200_001]

test('a recipient is told from every other spelling of its key, and of every other key', () => {
  const { recipient, publicKey } = generateSealIdentity()
  assert.ok(isRecipientOf(recipient, publicKey))
  for (const at of [0, 7, 9, 1000, recipient.length - 7, recipient.length - 1]) {
    const other = recipient[at] === 'q' ? 'p' : 'q'
    assert.ok(!isRecipientOf(recipient.slice(0, at) + other + recipient.slice(at + 1), publicKey))
  }
  for (const text of [
    '',
    'age1pq1',
    recipient.slice(0, -1),
    `${recipient}q`,
    recipient.toUpperCase()
  ])
    assert.ok(!isRecipientOf(text, publicKey))
  for (const at of [0, 600, 1215]) {
    const damaged = Buffer.from(publicKey)
    damaged[at] = Number(damaged[at]) ^ 1
    assert.ok(!isRecipientOf(recipient, damaged))
  }
  assert.ok(!isRecipientOf(recipient, publicKey.subarray(1)))
})

test('an identity and its recipient are those that age-encryption makes of the same seed', async () => {
  assert.equal(pair.secret.length, 32)
  assert.equal(pair.publicKey.length, 1216)
  assert.equal(await identityToRecipient(identityText(pair.secret)), pair.recipient)
  assert.equal(identity.recipient, pair.recipient)
  assert.ok(identity.publicKey.equals(pair.publicKey))
})

for (const size of SIZES) {
  test(`age-encryption opens what is sealed here: ${size} bytes`, async () => {
    const decrypter = new Decrypter()
    decrypter.addIdentity(identityText(pair.secret))
    const plaintext = sample(size)
    assert.ok(Buffer.from(await decrypter.decrypt(seal(plaintext))).equals(plaintext))
  })

  test(`what age-encryption sealed opens here: ${size} bytes`, async () => {
    const encrypter = new Encrypter()
    encrypter.addRecipient(pair.recipient)
    const plaintext = sample(size)
    assert.ok(open(Buffer.from(await encrypter.encrypt(plaintext))).equals(plaintext))
  })
}

test('a file for several recipients opens with any of them', async () => {
  const encrypter = new Encrypter()
  const others = [generateSealIdentity(), generateSealIdentity()]
  for (const { recipient } of [...others, pair]) encrypter.addRecipient(recipient)
  const file = Buffer.from(await encrypter.encrypt('to all'))
  for (const { secret } of [...others, pair]) {
    assert.equal(open(file, { identities: [identityFromSecret(secret)] }).toString(), 'to all')
  }
})

test('each of many recipients opens what is sealed to it, and nothing else', () => {
  const pairs = Array.from({ length: 510 }, generateSealIdentity)
  const files = [0, 1].map(() => pairs.map((each, index) => seal(sample(index), each.publicKey)))
  for (const [index, { secret }] of pairs.entries()) {
    const identities = [identityFromSecret(secret)]
    for (const sealed of files) {
      assert.ok(open(/** @type {Buffer} */ (sealed[index]), { identities }).equals(sample(index)))
      if (index === 0) continue
      const other = /** @type {Buffer} */ (sealed[index - 1])
      if (index % 10 === 0) assert.throws(() => open(other, { identities }), UNSEAL_FAILED)
    }
  }
})

test('identities and recipients that are kept keep no memory but their own', async () => {
  setFlagsFromString('--expose-gc')
  const collectGarbage = runInNewContext('gc')
  // What is given up is counted as free a moment after the collection.
  const held = async () => {
    const figures = []
    for (let looks = 0; looks < 5; looks++) {
      collectGarbage()
      await setImmediate()
      figures.push(process.memoryUsage().arrayBuffers)
    }
    return Math.min(...figures)
  }
  const before = await held()
  const identities = Array.from({ length: 40 }, () => {
    const { secret, publicKey } = generateSealIdentity()
    new Sealer(publicKey).start()
    // What else goes on in the process takes the rest of Node's pool.
    Buffer.allocUnsafe(Buffer.poolSize >>> 2)
    Buffer.allocUnsafe(Buffer.poolSize >>> 2)
    Buffer.allocUnsafe(Buffer.poolSize >>> 2)
    return identityFromSecret(secret)
  })
  const each = ((await held()) - before) / identities.length
  assert.ok(each < 20_000, `${each} bytes each`)
})

test('older identities are tried after the current one', () => {
  const older = identityFromSecret(generateSealIdentity().secret)
  const file = seal(sample(10), older.publicKey)
  assert.ok(open(file, { identities: [identity, older] }).equals(sample(10)))
  assert.throws(() => open(file), UNSEAL_FAILED)
})

test('two files of the same plaintext have nothing but the form in common', () => {
  const [first, second] = [seal(sample(100)), seal(sample(100))]
  assert.ok(!first.subarray(-116).equals(second.subarray(-116)))
})

test('any chunking of plaintext and file gives the same bytes', () => {
  const plaintext = sample(2 * CHUNK_BYTES + 77)
  const cuts = fc.array(fc.nat(plaintext.length), { maxLength: 8 })
  fc.assert(
    fc.property(cuts, fc.integer({ min: 500, max: 100_000 }), (at, step) => {
      const sealer = new Sealer(pair.publicKey)
      const pieces = [sealer.start()]
      let start = 0
      for (const cut of [...at.sort((a, b) => a - b), plaintext.length]) {
        pieces.push(...sealer.push(plaintext.subarray(start, cut)))
        start = cut
      }
      pieces.push(...sealer.end())
      assert.ok(open(Buffer.concat(pieces), { step }).equals(plaintext))
    }),
    { numRuns: 30 }
  )
})

test('a file that comes byte by byte opens', () => {
  assert.ok(open(seal(sample(300)), { step: 1 }).equals(sample(300)))
})

test('a flipped bit anywhere in the file is refused, and no plaintext comes out', () => {
  const file = seal(sample(40))
  for (let at = 0; at < file.length; at++) {
    const changed = Buffer.from(file)
    changed[at] = /** @type {number} */ (changed[at]) ^ (1 << (at % 8))
    /** @type {Buffer[]} */
    const released = []
    assert.throws(() => open(changed, { released }), UNSEAL_FAILED, `byte ${at}`)
    assert.equal(released.length, 0, `byte ${at}`)
  }
})

test('a file cut at or near any border is refused, and only whole chunks come out', () => {
  const plaintext = sample(3 * CHUNK_BYTES + 5)
  const file = seal(plaintext)
  const borders = [0, 22, SEALED_HEADER_BYTES - 16, SEALED_HEADER_BYTES]
  for (let chunk = 1; chunk <= 3; chunk++) borders.push(SEALED_HEADER_BYTES + chunk * SEALED_CHUNK)
  borders.push(file.length - CHUNK_TAG_BYTES, file.length)
  const lengths = new Set(
    borders.flatMap((border) => [border - 1, border, border + 1, border + 16])
  )
  for (const length of lengths) {
    if (length < 0 || length >= file.length) continue
    /** @type {Buffer[]} */
    const released = []
    assert.throws(() => open(file.subarray(0, length), { released }), UNSEAL_FAILED, `${length}`)
    const out = Buffer.concat(released)
    assert.equal(out.length % CHUNK_BYTES, 0)
    assert.ok(plaintext.subarray(0, out.length).equals(out))
  }
})

test('chunks that are swapped, repeated, dropped, added or of another file are refused', () => {
  const file = seal(sample(3 * CHUNK_BYTES))
  const other = seal(sample(3 * CHUNK_BYTES))
  const head = file.subarray(0, SEALED_HEADER_BYTES)
  /**
   * @param {Buffer} of
   * @param {number} index
   */
  const chunk = (of, index) =>
    of.subarray(
      SEALED_HEADER_BYTES + index * SEALED_CHUNK,
      SEALED_HEADER_BYTES + (index + 1) * SEALED_CHUNK
    )
  const [a, b, c] = [chunk(file, 0), chunk(file, 1), chunk(file, 2)]
  const orders = {
    swapped: [b, a, c],
    repeated: [a, a, b, c],
    dropped: [a, c],
    'without its last': [a, b],
    'with a last chunk twice': [a, b, c, c],
    'with a byte more': [a, b, c, Buffer.from([0])],
    'with an empty last chunk': [a, b, c, Buffer.alloc(CHUNK_TAG_BYTES)],
    'with a chunk of another file': [a, chunk(other, 1), c]
  }
  assert.ok(open(Buffer.concat([head, a, b, c])).equals(sample(3 * CHUNK_BYTES)))
  for (const [what, chunks] of Object.entries(orders)) {
    assert.throws(() => open(Buffer.concat([head, ...chunks])), UNSEAL_FAILED, what)
  }
})

test('an opener that failed stays failed', () => {
  const file = seal(sample(10))
  const opener = new Opener([identity])
  assert.throws(() => opener.push(Buffer.from('not an age file\n')), UNSEAL_FAILED)
  assert.throws(() => opener.push(file), UNSEAL_FAILED)
  assert.throws(() => opener.end(), UNSEAL_FAILED)
})

test('a header without end is refused after 64 KiB', () => {
  const opener = new Opener([identity])
  opener.push(Buffer.from('age-encryption.org/v1\n-> x y\n'))
  const line = Buffer.from(`${'A'.repeat(64)}\n`)
  assert.throws(() => {
    for (let i = 0; i < 1100; i++) opener.push(line)
  }, UNSEAL_FAILED)
})

test('a header without a recipient is refused as soon as it is read', () => {
  const header = `age-encryption.org/v1\n--- ${'A'.repeat(43)}\n`
  assert.throws(() => new Opener([identity]).push(Buffer.from(header)), UNSEAL_FAILED)
})

test('a key that is none is refused: SEAL_FAILED for the public, KEY_REJECTED for the secret', () => {
  const tooLong = Buffer.concat([pair.publicKey, Buffer.alloc(1)])
  for (const bytes of [Buffer.alloc(1215), Buffer.alloc(1216, 0xff), tooLong])
    assert.throws(() => new Sealer(bytes), { code: 'SEAL_FAILED' })
  assert.throws(() => identityFromSecret(Buffer.alloc(31)), { code: 'KEY_REJECTED' })
})

test('a sealer is started once, and before anything else', () => {
  const sealer = new Sealer(pair.publicKey)
  assert.throws(() => sealer.push(sample(1)), { code: 'SEAL_FAILED' })
  sealer.start()
  assert.throws(() => sealer.start(), { code: 'SEAL_FAILED' })
})

test('a sealer that has ended, or was given up, has no key any more', () => {
  for (const finish of /** @type {const} */ (['end', 'destroy'])) {
    const sealer = new Sealer(pair.publicKey)
    sealer.start()
    sealer[finish]()
    assert.throws(() => sealer.end(), { code: 'KEY_UNAVAILABLE' }, finish)
  }
})

test('a destroyed identity opens nothing', () => {
  const gone = identityFromSecret(pair.secret)
  gone.destroy()
  assert.throws(() => open(seal(sample(1)), { identities: [gone] }), { code: 'KEY_UNAVAILABLE' })
})

test('an identity does not show its secret when it is printed or serialised', () => {
  const text = inspect(identity, { depth: 9, showHidden: true }) + JSON.stringify(identity)
  assert.ok(!text.includes(pair.secret.toString('hex')))
  assert.ok(!text.includes('AGE-SECRET-KEY'))
})
