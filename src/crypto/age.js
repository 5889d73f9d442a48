/**
 * Sealing to a public key: files in the age format (age-encryption.org/v1) for one hybrid
 * post-quantum recipient, so that the `age` tool (1.3 or newer) opens them with the identity.
 *
 *     header   one stanza `mlkem768x25519 base64(KEM ciphertext)`, body = HPKE(file key)
 *     nonce    16 random bytes
 *     payload  STREAM of 64 KiB chunks under HKDF-SHA256(file key, nonce, "payload")
 *
 *     file key (16 random bytes) ◄── HPKE, hybrid KEM ── recipient `age1pq1…`
 *
 * Everything is synchronous and streams: both directions hold one chunk. Keys and plaintext lie in
 * memory of their own and are zeroed; keys in KeyObjects of node:crypto are cleared by OpenSSL when the
 * objects are collected, so that none is kept for longer than the call that needs it. Nothing makes a JavaScript
 * string of a secret, which could not be cleared.
 */

import { randomBytes } from 'node:crypto'
import { MailError } from '../errors.js'
import { secretBytes } from '../support/secret-bytes.js'
import {
  FILE_KEY_BYTES,
  MAX_HEADER_BYTES,
  PAYLOAD_NONCE_BYTES,
  derivePayloadKey,
  encodeBase64,
  parseHeader,
  requireBase64,
  requireHeaderMac,
  writeHeader
} from './age-header.js'
import { StreamOpener, StreamSealer } from './age-stream.js'
import { encodeBech32, isBech32Of } from './bech32.js'
import { HpkeSuite, TAG_BYTES } from './hpke.js'
import { SecretBuffer } from './secret-buffer.js'
import {
  CIPHERTEXT_BYTES,
  HybridPublicKey,
  SEED_BYTES,
  decapsulate,
  expandSeed,
  publicKeyOf
} from './hybrid-kem.js'

/** @typedef {import('./age-header.js').Header} Header */
/** @typedef {import('./age-header.js').Stanza} Stanza */

const STANZA_TYPE = 'mlkem768x25519'
const RECIPIENT_PREFIX = 'age1pq'
const hpke = new HpkeSuite('age-encryption.org/mlkem768x25519')

/**
 * @returns {{ secret: Buffer, recipient: string, publicKey: Buffer }} a new key pair: `secret` is the
 *   32-byte seed of an identity, the caller's to wrap and zero; `publicKey` has 1,216 bytes and is
 *   what `recipient` (`age1pq1…`) spells
 */
export function generateSealIdentity() {
  const secret = secretBytes(SEED_BYTES)
  const random = randomBytes(SEED_BYTES)
  random.copy(secret)
  random.fill(0)
  const publicKey = publicKeyOf(secret)
  return { secret, recipient: recipientFromPublicKey(publicKey), publicKey }
}

/**
 * @param {Buffer} secret - the 32-byte seed; copied, so the caller may zero it
 * @returns {SealIdentity}
 * @throws {MailError} KEY_REJECTED where the length is wrong
 */
export function identityFromSecret(secret) {
  if (secret.length !== SEED_BYTES) {
    throw new MailError('KEY_REJECTED', { detail: 'a seal identity of a wrong length' })
  }
  return new SealIdentity(secret)
}

/**
 * @param {Buffer} publicKey - 1,216 bytes
 * @returns {string} `age1pq1…`
 */
function recipientFromPublicKey(publicKey) {
  return encodeBech32(RECIPIENT_PREFIX, publicKey)
}

/**
 * @param {string} recipient
 * @param {Buffer} publicKey
 * @returns {boolean} whether the recipient spells that key: where both are kept, one of the two may have been damaged
 */
export const isRecipientOf = (recipient, publicKey) =>
  isBech32Of(recipient, RECIPIENT_PREFIX, publicKey)

/** A private key that opens sealed files. Its fields are private, so that no log can print it. */
export class SealIdentity {
  #seed

  /** @param {Buffer} seed - 32 bytes; copied */
  constructor(seed) {
    this.#seed = SecretBuffer.copyOf(seed)
    /** 1,216 bytes */
    this.publicKey = publicKeyOf(seed)
  }

  /** @returns {string} `age1pq1…` */
  get recipient() {
    return recipientFromPublicKey(this.publicKey)
  }

  /**
   * @param {Stanza[]} stanzas
   * @returns {Buffer | null} the file key, the caller's to zero; null where no stanza is for this identity
   * @throws {MailError} UNSEAL_FAILED where a stanza of our type is malformed, KEY_UNAVAILABLE after `destroy`
   */
  unwrapFileKey(stanzas) {
    if (this.#seed.isDisposed) throw new MailError('KEY_UNAVAILABLE')
    // Expanded for this one file: a KeyObject that is kept while other commands have their turns may survive two collections of
    // young objects, and is then cleared at the next full one, maybe hours later. To expand costs as much as to open a short
    // message.
    const key = expandSeed(this.#seed.bytes)
    for (const { args, body } of stanzas) {
      if (args[0] !== STANZA_TYPE) continue
      const [, encoded, ...extra] = args
      if (encoded === undefined || extra.length > 0) throw refusal('a stanza of a wrong form')
      const ciphertext = requireBase64(encoded)
      if (ciphertext.length !== CIPHERTEXT_BYTES || body.length !== FILE_KEY_BYTES + TAG_BYTES) {
        throw refusal('a stanza of a wrong length')
      }
      const sharedSecret = decapsulateFor(key, { ciphertext, publicKey: this.publicKey })
      const fileKey = hpke.open(sharedSecret, body)
      if (fileKey !== null) return fileKey
    }
    return null
  }

  /** Zeroes the key; the identity opens nothing more. Harmless when repeated. */
  destroy() {
    this.#seed.dispose()
  }
}

/** At most so many public keys are kept ready, of some 10 kB each. */
const RECIPIENTS_KEPT = 500

/**
 * Public keys by their bytes, those used last at the end. To make one ready is a quarter of what it takes to seal a short
 * message, and mail comes in bursts for the same people.
 *
 * @type {Map<string, HybridPublicKey>}
 */
const recipients = new Map()

/**
 * @param {Buffer} publicKey
 * @returns {HybridPublicKey}
 * @throws {Error} where the bytes are not a public key
 */
function recipientOf(publicKey) {
  const bytes = publicKey.toString('latin1')
  const recipient = recipients.get(bytes) ?? new HybridPublicKey(publicKey)
  recipients.delete(bytes)
  recipients.set(bytes, recipient)
  if (recipients.size > RECIPIENTS_KEPT) {
    const [oldest] = recipients.keys()
    recipients.delete(/** @type {string} */ (oldest))
  }
  return recipient
}

/** Seals one plaintext to one public key: `start()`, any number of `push(bytes)`, `end()`. */
export class Sealer {
  #recipient
  /** @type {StreamSealer | null} */
  #stream = null

  /**
   * @param {Buffer} publicKey - 1,216 bytes
   * @throws {MailError} SEAL_FAILED where the bytes are not a public key
   */
  constructor(publicKey) {
    try {
      this.#recipient = recipientOf(publicKey)
    } catch (cause) {
      throw new MailError('SEAL_FAILED', { detail: 'not a hybrid public key', cause })
    }
  }

  /**
   * @returns {Buffer} header and nonce
   * @throws {MailError} SEAL_FAILED where the system's cryptography refuses
   */
  start() {
    if (this.#stream !== null) throw new MailError('SEAL_FAILED', { detail: 'started twice' })
    const fileKey = randomBytes(FILE_KEY_BYTES)
    try {
      const { ciphertext, sharedSecret } = this.#recipient.encapsulate()
      const args = [STANZA_TYPE, encodeBase64(ciphertext)]
      const header = writeHeader([{ args, body: hpke.seal(sharedSecret, fileKey) }], fileKey)
      const nonce = randomBytes(PAYLOAD_NONCE_BYTES)
      this.#stream = new StreamSealer(derivePayloadKey(fileKey, nonce))
      return Buffer.concat([header, nonce])
    } catch (cause) {
      throw new MailError('SEAL_FAILED', { detail: 'the file key was not wrapped', cause })
    } finally {
      fileKey.fill(0)
    }
  }

  /**
   * @param {Buffer} plaintext
   * @returns {Buffer[]} ciphertext that is ready to be written, possibly none
   */
  push(plaintext) {
    return this.#started().push(plaintext)
  }

  /** @returns {Buffer[]} the rest of the file */
  end() {
    return this.#started().end()
  }

  /** Zeroes key and plaintext of a file that is given up. Harmless when repeated. */
  destroy() {
    this.#stream?.destroy()
  }

  #started() {
    if (this.#stream === null) throw new MailError('SEAL_FAILED', { detail: 'not started' })
    return this.#stream
  }
}

/**
 * Opens one sealed file: any number of `push(bytes)`, then `end()`. What they return is
 * authenticated; only after `end()` is it certain that the file is whole.
 */
export class Opener {
  #identities
  /** Bytes of an unfinished header and of the nonce after it. */
  #held = Buffer.alloc(0)
  /** @type {StreamOpener | null} */
  #stream = null
  #hasFailed = false

  /** @param {readonly SealIdentity[]} identities - tried in this order */
  constructor(identities) {
    this.#identities = identities
  }

  /**
   * @param {Buffer} ciphertext
   * @returns {Buffer[]} authenticated plaintext, possibly none
   * @throws {MailError} UNSEAL_FAILED; the opener is of no more use then
   */
  push(ciphertext) {
    return this.#failClosed(() => {
      if (this.#stream !== null) return this.#stream.push(ciphertext)
      this.#held = Buffer.concat([this.#held, ciphertext])
      const header = parseHeader(this.#held.subarray(0, MAX_HEADER_BYTES))
      if (header === null) {
        if (this.#held.length >= MAX_HEADER_BYTES) throw refusal('a header without end')
        return []
      }
      const payloadStart = header.size + PAYLOAD_NONCE_BYTES
      if (this.#held.length < payloadStart) return []
      const payload = this.#held.subarray(payloadStart)
      this.#stream = this.#open(header, this.#held.subarray(header.size, payloadStart))
      this.#held = Buffer.alloc(0)
      return this.#stream.push(payload)
    })
  }

  /**
   * @returns {Buffer[]} the last of the plaintext
   * @throws {MailError} UNSEAL_FAILED where the file is not whole
   */
  end() {
    return this.#failClosed(() => {
      if (this.#stream === null) throw refusal('the file ends inside its header')
      return this.#stream.end()
    })
  }

  /** Zeroes the keys of a file that is given up. Harmless when repeated. */
  destroy() {
    this.#hasFailed = true
    this.#stream?.destroy()
  }

  /**
   * @param {Header} header
   * @param {Buffer} nonce
   */
  #open(header, nonce) {
    for (const identity of this.#identities) {
      const fileKey = identity.unwrapFileKey(header.stanzas)
      if (fileKey === null) continue
      try {
        requireHeaderMac(header, fileKey)
        return new StreamOpener(derivePayloadKey(fileKey, nonce))
      } finally {
        fileKey.fill(0)
      }
    }
    throw refusal('sealed for another key')
  }

  /**
   * @param {() => Buffer[]} step
   * @returns {Buffer[]}
   */
  #failClosed(step) {
    if (this.#hasFailed) throw refusal('used after it failed')
    try {
      return step()
    } catch (error) {
      this.destroy()
      throw error
    }
  }
}

/**
 * @param {import('./hybrid-kem.js').HybridKeyPair} key
 * @param {{ ciphertext: Buffer, publicKey: Buffer }} input
 */
function decapsulateFor(key, input) {
  try {
    return decapsulate(key, input)
  } catch (cause) {
    throw new MailError('UNSEAL_FAILED', { detail: 'a key share of low order', cause })
  }
}

/** @param {string} detail */
function refusal(detail) {
  return new MailError('UNSEAL_FAILED', { detail })
}
