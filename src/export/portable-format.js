/**
 * One file that is a whole mailbox, to be opened anywhere with its password: docs/formats.md.
 *
 *     0      "letterlock portable mailbox 1\n"
 *     30     one line of JSON: cipher, argon2, salt, commitment, wrapped key, size
 *     …      zeros
 *     4096   mail.db, encrypted as ever
 *
 * The copy has a key of its own: whoever guesses the password of such a file has that file, and no key of the server. The
 * password alone must stand against guessing here, without the server's pepper, so argon2id works harder.
 */
import { randomBytes } from 'node:crypto'
import { MailError } from '../errors.js'
import { equalInConstantTime } from '../crypto/constant-time.js'
import { argon2id, KEY_BYTES, keyFromStretched, SALT_BYTES } from '../crypto/kdf.js'
import { associatedData, UnwrapError, unwrapKey, wrapKey } from '../crypto/key-wrap.js'

/**
 * @typedef {import('../crypto/kdf.js').Argon2Params} Argon2Params
 * @typedef {import('../crypto/secret-buffer.js').SecretBuffer} SecretBuffer
 * @typedef {import('../database/setup-pragma.js').Cipher} Cipher
 *
 * @typedef {object} PortableHeader
 * @property {Cipher} cipher
 * @property {Argon2Params} argon2
 * @property {Buffer} salt
 * @property {Buffer} commitment
 * @property {Buffer} wrappedKey
 * @property {number} sizeBytes - of the database
 */

/** The header has so many bytes; the database begins behind them. */
export const HEADER_BYTES = 4096

/** Each guess takes about a second on one core, and a quarter of a gigabyte. */
export const PORTABLE_ARGON2 = Object.freeze({ memoryKiB: 256 * 1024, passes: 4, parallelism: 1 })

/** A file may ask for at most so much memory, so many passes and lanes before its password is known to be right. */
const MAX_MEMORY_KIB = 2 * 1024 * 1024
const MAX_PASSES = 64
const MAX_LANES = 16

const MAGIC = Buffer.from('letterlock portable mailbox 1\n')
const CIPHERS = ['chacha20', 'aegis-256']

/** Stands for the server's pepper, because a portable file is opened without the server. */
const NO_PEPPER = Buffer.alloc(0)

/**
 * @param {object} input
 * @param {Uint8Array} input.password
 * @param {SecretBuffer} input.masterKey - of the copy
 * @param {Cipher} input.cipher
 * @param {number} input.sizeBytes - of the database
 * @param {Argon2Params} [input.argon2]
 * @returns {Promise<Buffer>} the first 4096 bytes of the file
 */
export async function sealHeader({
  password,
  masterKey,
  cipher,
  sizeBytes,
  argon2 = PORTABLE_ARGON2
}) {
  const salt = randomBytes(SALT_BYTES)
  using stretched = await argon2id({ password, salt, params: argon2 })
  const { kek, commitment } = keyFromStretched({ stretched: stretched.bytes, pepper: NO_PEPPER })
  using key = kek
  const associated = associatedOf({ cipher, argon2, sizeBytes })
  const wrappedKey = wrapKey({ kek: key.bytes, key: masterKey.bytes, associated })
  const line = JSON.stringify({
    cipher,
    argon2: [argon2.memoryKiB, argon2.passes, argon2.parallelism],
    salt: salt.toString('base64'),
    commitment: commitment.toString('base64'),
    wrappedKey: wrappedKey.toString('base64'),
    size: sizeBytes
  })
  const header = Buffer.alloc(HEADER_BYTES)
  MAGIC.copy(header)
  header.write(`${line}\n`, MAGIC.length, 'latin1')
  return header
}

/**
 * @param {Buffer} bytes - the beginning of the file
 * @returns {PortableHeader}
 * @throws {MailError} NOT_PORTABLE; FILE_TOO_NEW
 */
export function parseHeader(bytes) {
  if (!bytes.subarray(0, MAGIC.length).equals(MAGIC) || bytes.length < HEADER_BYTES) {
    const isLater = /^letterlock portable mailbox \d/.test(bytes.toString('latin1', 0, 40))
    throw new MailError(isLater && bytes.length >= HEADER_BYTES ? 'FILE_TOO_NEW' : 'NOT_PORTABLE')
  }
  try {
    return readFields(bytes.toString('latin1', MAGIC.length, bytes.indexOf(0)))
  } catch (cause) {
    throw new MailError('NOT_PORTABLE', { detail: 'header', cause })
  }
}

/**
 * @param {string} line
 * @returns {PortableHeader}
 */
function readFields(line) {
  const { cipher, argon2, salt, commitment, wrappedKey, size } = JSON.parse(line)
  const [memoryKiB, passes, parallelism] = argon2
  const header = {
    cipher,
    argon2: { memoryKiB, passes, parallelism },
    salt: Buffer.from(salt, 'base64'),
    commitment: Buffer.from(commitment, 'base64'),
    wrappedKey: Buffer.from(wrappedKey, 'base64'),
    sizeBytes: size
  }
  const isBounded = memoryKiB <= MAX_MEMORY_KIB && passes <= MAX_PASSES && parallelism <= MAX_LANES
  const isPlausible =
    isBounded &&
    CIPHERS.includes(cipher) &&
    header.salt.length === SALT_BYTES &&
    header.commitment.length === KEY_BYTES &&
    Number.isSafeInteger(size) &&
    size > 0
  if (!isPlausible) throw new MailError('NOT_PORTABLE', { detail: 'header' })
  return header
}

/**
 * @param {PortableHeader} header
 * @param {Uint8Array} password
 * @returns {Promise<SecretBuffer>} the master key of the copy
 * @throws {MailError} KEY_REJECTED for another password; NOT_PORTABLE where the header was changed
 */
export async function openHeader(header, password) {
  const { salt, argon2, wrappedKey } = header
  using stretched = await argon2id({ password, salt, params: argon2 }).catch((cause) => {
    throw new MailError('NOT_PORTABLE', { detail: 'argon2', cause })
  })
  const { kek, commitment } = keyFromStretched({ stretched: stretched.bytes, pepper: NO_PEPPER })
  using key = kek
  if (!equalInConstantTime(header.commitment, commitment)) throw new MailError('KEY_REJECTED')
  try {
    return unwrapKey({ kek: key.bytes, wrapped: wrappedKey, associated: associatedOf(header) })
  } catch (error) {
    if (!(error instanceof UnwrapError)) throw error
    throw new MailError('NOT_PORTABLE', { detail: 'the header was changed', cause: error })
  }
}

/**
 * @param {Pick<PortableHeader, 'cipher' | 'argon2' | 'sizeBytes'>} header
 * @returns {Buffer}
 */
function associatedOf({ cipher, argon2, sizeBytes }) {
  const { memoryKiB, passes, parallelism } = argon2
  return associatedData('portable', [cipher, memoryKiB, passes, parallelism, sizeBytes])
}
