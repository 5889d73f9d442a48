/**
 * Makes a portable file of a mailbox, which may be in use meanwhile. Nothing is ever in the clear: the copy that SQLite
 * makes is encrypted, and is then given a key of its own.
 */
import { createReadStream } from 'node:fs'
import { link, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { MailError } from '../errors.js'
import { deriveDatabaseKey } from '../crypto/key-derivation.js'
import { SecretBuffer } from '../crypto/secret-buffer.js'
import { mailFile } from '../database/database-files.js'
import { errorCodeOf, toMailError } from '../database/sqlite-error.js'
import { runThread } from '../database/thread.js'
import { syncFolder } from '../support/write-file.js'
import { HEADER_BYTES, sealHeader } from './portable-format.js'
import { makeScratchFolder } from './scratch-folder.js'
import { writeAll } from '../support/write-all.js'

/** @typedef {import('../crypto/kdf.js').Argon2Params} Argon2Params */

/** The copy is made in a thread: it is one statement, which takes a second for each 100 MB or so. */
const COPY_THREAD = new URL('portable-copy-thread.js', import.meta.url)

const MASTER_KEY_BYTES = 32

/** Errors of file systems that have one name for each file and no hard links, as those of USB sticks and shares. */
const HAS_NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'])

/**
 * @typedef {object} PortableRequest
 * @property {string} folder - of the account, whose mailbox somebody keeps open meanwhile
 * @property {SecretBuffer} masterKey - of the account
 * @property {import('../database/setup-pragma.js').Cipher} cipher
 * @property {Uint8Array} password - that the file shall open with
 * @property {Argon2Params} [argon2]
 */

/**
 * Makes the file in its two parts, for whoever can put them together without a second copy.
 *
 * @param {PortableRequest} request
 * @param {string} scratch - the folder for the second part
 * @returns {Promise<{ header: Buffer, database: string, bytes: number }>} `bytes`: of both
 * @throws {MailError} DISK_FULL, ACCOUNT_DAMAGED
 */
export async function makePortable({ folder, masterKey, cipher, password, argon2 }, scratch) {
  try {
    using ownKey = SecretBuffer.random(MASTER_KEY_BYTES)
    const database = mailFile(scratch)
    await copyWithKey({ from: mailFile(folder), to: database, cipher, masterKey, ownKey })
    const { size } = await stat(database)
    const header = await sealHeader({
      password,
      masterKey: ownKey,
      cipher,
      sizeBytes: size,
      ...(argon2 && { argon2 })
    })
    return { header, database, bytes: HEADER_BYTES + size }
  } catch (error) {
    throw toMailError(error)
  }
}

/**
 * @param {PortableRequest & { out: string, onScratch?: (folder: string) => void }} request - `out` must not exist; `onScratch`
 *   is told where the copy will lie until it is whole
 * @returns {Promise<{ bytes: number }>} when the file is on the disk
 * @throws {MailError} EXPORT_REFUSED where the file exists; DISK_FULL, ACCOUNT_DAMAGED
 */
export async function writePortable({ out, onScratch = () => {}, ...request }) {
  if (await exists(out)) throw new MailError('EXPORT_REFUSED', { detail: 'the file exists' })
  // Beside `out`, so that the file can be put there in one step.
  const scratch = makeScratchFolder(join(dirname(out), '.letterlock-'), onScratch)
  try {
    const { header, database, bytes } = await makePortable(request, scratch)
    const whole = join(scratch, 'whole')
    await putTogether(whole, header, database)
    await place(whole, out)
    return { bytes }
  } catch (error) {
    throw toMailError(error)
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

/**
 * @param {object} copy
 * @param {string} copy.from
 * @param {string} copy.to
 * @param {import('../database/setup-pragma.js').Cipher} copy.cipher
 * @param {SecretBuffer} copy.masterKey
 * @param {SecretBuffer} copy.ownKey
 */
async function copyWithKey({ masterKey, ownKey, ...copy }) {
  const key = shared(deriveDatabaseKey(masterKey.bytes))
  const nextKey = shared(deriveDatabaseKey(ownKey.bytes))
  try {
    await runThread(COPY_THREAD, { data: { ...copy, key, nextKey } })
  } finally {
    key.fill(0)
    nextKey.fill(0)
  }
}

/**
 * @param {Buffer} key - zeroed
 * @returns {Uint8Array} the key, in memory that a thread can see
 */
function shared(key) {
  const bytes = new Uint8Array(new SharedArrayBuffer(key.length))
  bytes.set(key)
  key.fill(0)
  return bytes
}

/**
 * @param {string} path
 * @returns {Promise<boolean>} whether anything is at the path
 */
const exists = (path) =>
  stat(path).then(
    () => true,
    () => false
  )

/**
 * @param {string} path
 * @param {Buffer} header
 * @param {string} database
 */
async function putTogether(path, header, database) {
  const file = await open(path, 'wx', 0o600)
  try {
    await writeAll(file, header)
    for await (const chunk of createReadStream(database)) await writeAll(file, chunk)
    await file.sync()
  } finally {
    await file.close()
  }
}

/**
 * @param {string} from
 * @param {string} to
 * @throws {MailError} EXPORT_REFUSED where somebody has made `to` meanwhile
 */
async function place(from, to) {
  try {
    await link(from, to).catch(async (error) => {
      if (!HAS_NO_LINKS.has(errorCodeOf(error))) throw error
      // The name is taken by an empty file first: a rename alone would write over somebody's file.
      await (await open(to, 'wx', 0o600)).close()
      await rename(from, to).catch(async (cause) => {
        await rm(to, { force: true })
        throw cause
      })
    })
  } catch (cause) {
    if (errorCodeOf(cause) !== 'EEXIST') throw cause
    throw new MailError('EXPORT_REFUSED', { detail: 'the file exists', cause })
  }
  await syncFolder(dirname(to))
}
