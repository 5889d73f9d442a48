/**
 * What a backup must hold and nobody who holds the backup may read: sealed to the operator's recovery key, in the age
 * format (age-encryption.org/v1), so that the `age` tool opens it too, in twenty years as today.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { MailError } from '../errors.js'

/** Loaded where it is needed: it takes longer to load than most commands to run. */
const loadAge = () => import('age-encryption')

/**
 * @returns {Promise<{ recoveryKey: string, recipient: string }>} `AGE-SECRET-KEY-PQ-1…` for the operator alone, and
 *   `age1pq1…`, which seals to it (X25519 with ML-KEM-768)
 */
export async function makeRecoveryKey() {
  const age = await loadAge()
  const recoveryKey = await age.generateHybridIdentity()
  return { recoveryKey, recipient: await age.identityToRecipient(recoveryKey) }
}

/**
 * @param {string} recipient
 * @returns {Promise<import('age-encryption').Encrypter>}
 * @throws {MailError} CONFIG_INVALID where it is none
 */
async function encrypterFor(recipient) {
  const { Encrypter } = await loadAge()
  const encrypter = new Encrypter()
  try {
    encrypter.addRecipient(recipient)
  } catch (cause) {
    throw new MailError('CONFIG_INVALID', { detail: 'not a recipient of age', cause })
  }
  return encrypter
}

/**
 * @param {string} recipient - `age1…`
 * @throws {MailError} CONFIG_INVALID
 */
export async function requireRecipient(recipient) {
  await encrypterFor(recipient)
}

/**
 * @param {Uint8Array} plaintext
 * @param {string} recipient
 * @returns {Promise<Buffer>}
 */
export async function sealBytes(plaintext, recipient) {
  const encrypter = await encrypterFor(recipient)
  return Buffer.from(await encrypter.encrypt(plaintext))
}

/**
 * Seals a file that need not fit into memory.
 *
 * @param {string} from
 * @param {string} to
 * @param {string} recipient
 */
export async function sealFile(from, to, recipient) {
  const source = /** @type {ReadableStream<Uint8Array>} */ (Readable.toWeb(createReadStream(from)))
  const encrypter = await encrypterFor(recipient)
  const sealed = await encrypter.encrypt(source)
  await pipeline(
    Readable.fromWeb(/** @type {import('node:stream/web').ReadableStream} */ (sealed)),
    createWriteStream(to, { flags: 'wx', mode: 0o600 })
  )
}

/** Opens what was sealed to one recovery key. */
export class RecoveryKey {
  #decrypter

  /**
   * @param {import('age-encryption').Decrypter} decrypter - that has the identity
   * @param {string} recipient - that it opens for
   */
  constructor(decrypter, recipient) {
    this.#decrypter = decrypter
    this.recipient = recipient
  }

  /**
   * @param {string} text - `AGE-SECRET-KEY-…`, as typed
   * @returns {Promise<RecoveryKey>}
   * @throws {MailError} RECOVERY_KEY_REJECTED where it is none
   */
  static async parse(text) {
    const { Decrypter, identityToRecipient } = await loadAge()
    const identity = text.trim().toUpperCase()
    try {
      const decrypter = new Decrypter()
      decrypter.addIdentity(identity)
      return new RecoveryKey(decrypter, await identityToRecipient(identity))
    } catch {
      // The library's error would quote the key.
      throw new MailError('RECOVERY_KEY_REJECTED', { detail: 'that is no AGE-SECRET-KEY-…' })
    }
  }

  /**
   * @param {Buffer} sealed
   * @returns {Promise<Buffer>} in memory of its own, none of Node’s pool: the caller zeroes what is secret
   * @throws {MailError} RECOVERY_KEY_REJECTED where it is another key's, or damaged
   */
  async open(sealed) {
    try {
      const clear = await this.#decrypter.decrypt(sealed)
      // A copy would leave the plaintext where the library has put it, and put it into Node's pool as well.
      return Buffer.from(clear.buffer, clear.byteOffset, clear.byteLength)
    } catch (cause) {
      throw new MailError('RECOVERY_KEY_REJECTED', { cause })
    }
  }
}
