/**
 * The server's pepper: 32 random bytes in a file of its own. Whoever has directory.db alone cannot even
 * begin to guess passwords. Without the file no password opens anything, so it is never made anew while
 * credentials need the old one, unless the operator says that it is lost.
 */
import { link, open, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { randomBytes } from 'node:crypto'
import { MailError } from '../errors.js'
import { hkdf } from '../crypto/kdf.js'
import { SecretBuffer } from '../crypto/secret-buffer.js'
import { makeFolderDurably, syncFolder } from '../support/write-file.js'

/**
 * @typedef {object} Pepper
 * @property {string} id - derived from the key, so that a credential can say which pepper it needs
 * @property {SecretBuffer} key - 32 bytes
 */

const PEPPER_BYTES = 32

/** What an operator can do about a missing pepper. */
const REMEDY =
  'bring back the one that was in use; backups have it, too: docs/backup.md, “The directory alone”; where none has it: docs/operations.md, “The pepper is lost”'

/** So many bytes of a hash are enough to tell peppers apart, and say nothing about the pepper. */
const ID_BYTES = 8
const MODE = 0o600

/**
 * @param {Uint8Array} bytes
 * @returns {string} 16 hexadecimal digits
 */
export function pepperIdOf(bytes) {
  return hkdf({ key: bytes, info: 'letterlock/1 pepper id', size: ID_BYTES }).toString('hex')
}

/**
 * @param {string} path
 * @returns {Promise<SecretBuffer | null>} null where there is no file
 */
async function readPepper(path) {
  let handle
  try {
    handle = await open(path, 'r')
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT') return null
    throw error
  }
  try {
    const { mode, size } = await handle.stat()
    if ((mode & 0o077) !== 0) {
      throw new MailError('CONFIG_INVALID', { detail: `${path} must be 0600: others can read it` })
    }
    if (size !== PEPPER_BYTES) {
      throw new MailError('PEPPER_MISSING', {
        detail: `${path} does not hold ${PEPPER_BYTES} bytes: ${REMEDY}`
      })
    }
    const key = SecretBuffer.alloc(PEPPER_BYTES)
    await handle.read(key.bytes, 0, PEPPER_BYTES, 0)
    return key
  } finally {
    await handle.close()
  }
}

/**
 * Makes the file whole or not at all: `link` refuses where another process has made one meanwhile.
 *
 * @param {string} path
 */
async function createPepper(path) {
  await makeFolderDurably(dirname(path))
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  using key = SecretBuffer.random(PEPPER_BYTES)
  try {
    const handle = await open(temporary, 'wx', MODE)
    try {
      await handle.chmod(MODE)
      await handle.writeFile(key.bytes)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await link(temporary, path).catch((error) => {
      if (error.code !== 'EEXIST') throw error
    })
  } finally {
    await rm(temporary, { force: true })
  }
  await syncFolder(dirname(path))
}

/**
 * @param {object} options
 * @param {string} options.path
 * @param {string[]} options.neededIds - of `DirectoryPort.listPepperIds`
 * @param {boolean} [options.isLost] - true: the pepper that they need will not come back, and another is taken, or made
 * @returns {Promise<Pepper>}
 * @throws {MailError} PEPPER_MISSING where credentials need a pepper that the file does not hold,
 *   CONFIG_INVALID where others can read the file
 */
export async function loadPepper({ path, neededIds, isLost = false }) {
  const mustFit = neededIds.length > 0 && !isLost
  let key = await readPepper(path)
  if (!key) {
    if (mustFit)
      throw new MailError('PEPPER_MISSING', { detail: `${path} is not there: ${REMEDY}` })
    await createPepper(path)
    key = await readPepper(path)
    if (!key) throw new MailError('PEPPER_MISSING', { detail: path })
  }
  const id = pepperIdOf(key.bytes)
  if (mustFit && !neededIds.includes(id)) {
    key.dispose()
    throw new MailError('PEPPER_MISSING', { detail: `${path} holds another pepper: ${REMEDY}` })
  }
  return { id, key }
}
