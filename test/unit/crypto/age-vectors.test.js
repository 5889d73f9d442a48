/**
 * The published vectors of the age format (test/fixtures/age/README.md). Those for our recipient run
 * through `Opener`; those for other recipients give the file key, and run from there.
 */
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { test } from 'node:test'
import { inflateSync } from 'node:zlib'
import { Opener, identityFromSecret } from '../../../src/crypto/age.js'
import {
  PAYLOAD_NONCE_BYTES,
  derivePayloadKey,
  parseHeader,
  requireHeaderMac
} from '../../../src/crypto/age-header.js'
import { CHUNK_BYTES, StreamOpener } from '../../../src/crypto/age-stream.js'
import { secretOf } from '../../helpers/age-identity.js'

const FOLDER = new URL('../../fixtures/age/', import.meta.url)
/** Less than a chunk: a push that fails gives nothing, so one push must not complete two chunks. */
const STEP = 50_000
const FAILURES = new Set(['header failure', 'HMAC failure', 'no match', 'payload failure'])

/** @param {string} name */
function readVector(name) {
  const bytes = readFileSync(new URL(name, FOLDER))
  const split = bytes.indexOf('\n\n')
  /** @type {Map<string, string[]>} */
  const facts = new Map()
  for (const line of bytes.toString('utf8', 0, split).split('\n')) {
    const [key = '', value = ''] = line.split(': ')
    facts.set(key, [...(facts.get(key) ?? []), value])
  }
  const rest = bytes.subarray(split + 2)
  const fact = (/** @type {string} */ key) => facts.get(key)?.[0] ?? ''
  return {
    name,
    expect: fact('expect'),
    payloadHash: fact('payload'),
    fileKey: Buffer.from(fact('file key'), 'hex'),
    identities: facts.get('identity') ?? [],
    file: fact('compressed') === 'zlib' ? inflateSync(rest) : rest
  }
}

/** @typedef {ReturnType<typeof readVector>} Vector */

const vectors = readdirSync(FOLDER)
  .filter((name) => name !== 'README.md')
  .map(readVector)
const HYBRID_IDENTITY = /^AGE-SECRET-KEY-PQ-1/
const isHybrid = (/** @type {Vector} */ { identities }) =>
  identities.some((identity) => HYBRID_IDENTITY.test(identity))

/**
 * The reference releases the chunk before the error here. Ours keeps each chunk until it knows whether it
 * is the last, and so releases less.
 */
const HELD_BACK = new Set([
  'stream_no_final_full',
  'stream_no_final_two_chunks_full',
  'stream_trailing_garbage_long',
  'stream_trailing_garbage_short',
  'stream_two_final_chunks',
  'stream_two_final_chunks_full',
  'stream_two_final_chunks_second'
])

/**
 * @param {Vector} vector
 * @param {Buffer[]} released - what came out before an error
 */
function openWithIdentities({ file, identities }, released) {
  const opener = new Opener(
    identities
      .filter((text) => HYBRID_IDENTITY.test(text))
      .map((text) => identityFromSecret(secretOf(text)))
  )
  for (let at = 0; at < file.length; at += STEP) {
    released.push(...opener.push(file.subarray(at, at + STEP)))
  }
  released.push(...opener.end())
}

/**
 * @param {Vector} vector
 * @param {Buffer[]} released
 */
function openWithFileKey({ file, fileKey }, released) {
  const header = parseHeader(file)
  assert.ok(header !== null || file.indexOf('\n--- ') === -1)
  if (header === null) throw Object.assign(new Error('cut'), { code: 'UNSEAL_FAILED' })
  requireHeaderMac(header, fileKey)
  const payload = file.subarray(header.size)
  if (payload.length < PAYLOAD_NONCE_BYTES) {
    throw Object.assign(new Error('cut'), { code: 'UNSEAL_FAILED' })
  }
  const opener = new StreamOpener(
    derivePayloadKey(fileKey, payload.subarray(0, PAYLOAD_NONCE_BYTES))
  )
  for (let at = PAYLOAD_NONCE_BYTES; at < payload.length; at += STEP) {
    released.push(...opener.push(payload.subarray(at, at + STEP)))
  }
  released.push(...opener.end())
}

/** @param {Buffer[]} pieces */
const sha256 = (pieces) => createHash('sha256').update(Buffer.concat(pieces)).digest('hex')

for (const vector of vectors) {
  // A stanza of an unknown recipient is no concern of the header: what X25519 would refuse cannot be seen here.
  const open = isHybrid(vector) ? openWithIdentities : openWithFileKey
  test(`published vector ${vector.name}: ${vector.expect}`, () => {
    /** @type {Buffer[]} */
    const released = []
    if (vector.expect === 'success') {
      open(vector, released)
    } else {
      assert.ok(FAILURES.has(vector.expect), vector.expect)
      assert.throws(() => open(vector, released), { code: 'UNSEAL_FAILED' })
    }
    if (HELD_BACK.has(vector.name)) assert.ok(Buffer.concat(released).length % CHUNK_BYTES === 0)
    else if (vector.payloadHash !== '') assert.equal(sha256(released), vector.payloadHash)
    else assert.equal(released.length, 0)
  })
}

test('the vectors of the hybrid recipient are all there', () => {
  assert.ok(vectors.filter(isHybrid).length >= 15)
  assert.ok(vectors.length >= 70)
})
