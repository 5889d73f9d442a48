/**
 * What a backup must hold and nobody who holds the backup may read: sealed to the operator's recovery key, in the age
 * format (age-encryption.org/v1), so that the `age` tool opens it too, in twenty years as today.
 */
import { createReadStream, createWriteStream } from 'node:fs'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { Decrypter, Encrypter, generateHybridIdentity, identityToRecipient } from 'age-encryption'
import { MailError } from '../errors.js'

/**
 * @returns {Promise<{ recoveryKey: string, recipient: string }>} `AGE-SECRET-KEY-PQ-1…` for the operator alone, and
 *   `age1pq1…`, which seals to it (X25519 with ML-KEM-768)
 */
export async function makeRecoveryKey() {
  const recoveryKey = await generateHybridIdentity()
  return { recoveryKey, recipient: await identityToRecipient(recoveryKey) }
}

/**
 * @param {string} recipient
 * @returns {Encrypter}
 * @throws {MailError} CONFIG_INVALID where it is none
 */
function encrypterFor(recipient) {
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
export function requireRecipient(recipient) {
  encrypterFor(recipient)
}

/**
 * @param {Uint8Array} plaintext
 * @param {string} recipient
 * @returns {Promise<Buffer>}
 */
export async function sealBytes(plaintext, recipient) {
  return Buffer.from(await encrypterFor(recipient).encrypt(plaintext))
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
  const sealed = await encrypterFor(recipient).encrypt(source)
  await pipeline(
    Readable.fromWeb(/** @type {import('node:stream/web').ReadableStream} */ (sealed)),
    createWriteStream(to, { flags: 'wx', mode: 0o600 })
  )
}

/** Opens what was sealed to one recovery key. */
export class RecoveryKey {
  #decrypter = new Decrypter()
  #recipient

  /** @param {string} text - `AGE-SECRET-KEY-…`, as the operator has it; must have passed `RecoveryKey.parse` */
  constructor(text) {
    this.#decrypter.addIdentity(text)
    this.#recipient = identityToRecipient(text)
  }

  /**
   * @param {string} text - as typed
   * @returns {RecoveryKey}
   * @throws {MailError} RECOVERY_KEY_REJECTED where it is none
   */
  static parse(text) {
    try {
      return new RecoveryKey(text.trim().toUpperCase())
    } catch {
      // The library's error would quote the key.
      throw new MailError('RECOVERY_KEY_REJECTED', { detail: 'that is no AGE-SECRET-KEY-…' })
    }
  }

  /** @returns {Promise<string>} that it opens for */
  recipient() {
    return this.#recipient
  }

  /**
   * @param {Buffer} sealed
   * @returns {Promise<Buffer>}
   * @throws {MailError} RECOVERY_KEY_REJECTED where it is another key's, or damaged
   */
  async open(sealed) {
    try {
      return Buffer.from(await this.#decrypter.decrypt(sealed))
    } catch (cause) {
      throw new MailError('RECOVERY_KEY_REJECTED', { cause })
    }
  }
}
