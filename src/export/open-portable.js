/**
 * Opens a portable file to be read: its database is copied out, encrypted as it is, into a folder of its own, so that
 * the file itself is never written to.
 */
import { createReadStream } from 'node:fs'
import { open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { mailFile } from '../database/database-files.js'
import { isMailError, MailError } from '../errors.js'
import { deriveDatabaseKey } from '../crypto/key-derivation.js'
import { openAccountStore } from '../store/account-store.js'
import { HEADER_BYTES, openHeader, parseHeader } from './portable-format.js'
import { makeScratchFolder } from './scratch-folder.js'
import { writeAll } from '../support/write-all.js'

/**
 * @typedef {object} OpenPortable
 * @property {import('../store/account-store.js').AccountStore} store - read-only
 * @property {() => Promise<void>} close - removes the copy, too
 */

/**
 * @param {object} request
 * @param {string} request.path
 * @param {Uint8Array} request.password
 * @param {string} request.scratchFolder - in which the copy may lie
 * @param {import('../support/clock.js').Clock} request.clock
 * @param {(folder: string) => void} [request.onScratch] - is told where the copy will lie
 * @returns {Promise<OpenPortable>}
 * @throws {MailError} KEY_REJECTED for another password; NOT_PORTABLE, FILE_TOO_NEW, ACCOUNT_DAMAGED; and what the file
 *   system throws
 */
export async function openPortable({ path, password, scratchFolder, clock, onScratch = () => {} }) {
  const header = parseHeader(await readHead(path))
  using masterKey = await openHeader(header, password)
  const folder = makeScratchFolder(join(scratchFolder, 'letterlock-open-'), onScratch)
  const remove = () => rm(folder, { recursive: true, force: true })
  const key = deriveDatabaseKey(masterKey.bytes)
  try {
    await copyOut(path, mailFile(folder), header.sizeBytes)
    const { cipher } = header
    const store = await openAccountStore({
      folder,
      key,
      cipher,
      isReadOnly: true,
      config: {},
      clock
    }).catch((error) => {
      throw asDamage(error)
    })
    const close = async () => {
      try {
        await store.close()
      } finally {
        await remove()
      }
    }
    return { store, close }
  } catch (error) {
    await remove()
    throw error
  } finally {
    key.fill(0)
  }
}

/**
 * @param {unknown} error - of opening the database
 * @returns {unknown} the header has told that the password is right, and the key with it: what it does not open is damaged
 */
function asDamage(error) {
  if (!isMailError(error, 'KEY_REJECTED')) return error
  return new MailError('ACCOUNT_DAMAGED', { detail: 'first page', cause: error })
}

/**
 * @param {string} path
 * @returns {Promise<Buffer>} as many bytes as a header has, or all where the file has fewer
 */
async function readHead(path) {
  const file = await open(path, 'r')
  try {
    const head = Buffer.alloc(HEADER_BYTES)
    const { bytesRead } = await file.read(head, 0, HEADER_BYTES, 0)
    return head.subarray(0, bytesRead)
  } finally {
    await file.close()
  }
}

/**
 * @param {string} from
 * @param {string} to
 * @param {number} sizeBytes
 * @throws {MailError} NOT_PORTABLE where the file has another size
 */
async function copyOut(from, to, sizeBytes) {
  const file = await open(to, 'wx', 0o600)
  let copied = 0
  try {
    for await (const chunk of createReadStream(from, { start: HEADER_BYTES })) {
      copied += chunk.length
      await writeAll(file, chunk)
    }
  } finally {
    await file.close()
  }
  if (copied !== sizeBytes) throw new MailError('NOT_PORTABLE', { detail: 'size' })
}
