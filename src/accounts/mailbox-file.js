/**
 * An account's folder as a whole: made, given another key, removed. What is in it is the store's.
 */
import { constants } from 'node:fs'
import { copyFile, mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import Database from 'better-sqlite3-multiple-ciphers'
import { MailError, isMailError } from '../errors.js'
import { deriveDatabaseKey } from '../crypto/key-derivation.js'
import { lockExclusive } from '../database/lock.js'
import { openEncryptedDatabase } from '../database/open.js'
import { applyCipher, applyKey, rawKey } from '../database/setup-pragma.js'
import { toMailError } from '../database/sqlite-error.js'
import { createAccountStore } from '../store/account-store.js'
import { syncFolder } from '../support/write-file.js'

/**
 * @typedef {import('../crypto/secret-buffer.js').SecretBuffer} SecretBuffer
 * @typedef {import('../database/setup-pragma.js').Cipher} Cipher
 * @typedef {import('./services.js').AccountServices} AccountServices
 */

const MAILBOX_FILE = 'mail.db'
/** The copy that gets the next key; worthless until it is renamed. */
const NEXT_FILE = 'mail.db.next'

/**
 * Makes a folder with an empty mailbox in it, durable when this resolves. Whatever fails leaves nothing.
 *
 * @param {object} input
 * @param {Pick<AccountServices, 'config' | 'clock' | 'logger'>} input.services
 * @param {string} input.folder - must not exist
 * @param {SecretBuffer} input.masterKey
 * @throws {MailError} DISK_FULL
 */
export async function createMailboxFolder({ services, folder, masterKey }) {
  const { config, clock, logger } = services
  const domainFolder = dirname(folder)
  await mkdir(domainFolder, { recursive: true, mode: 0o700 })
  await mkdir(folder, { mode: 0o700 })
  const key = deriveDatabaseKey(masterKey.bytes)
  try {
    const store = await createAccountStore({
      folder,
      key,
      cipher: config.storage.cipher,
      config: {},
      clock,
      logger
    })
    await store.close()
    await mkdir(join(folder, 'spool'), { mode: 0o700 })
    for (const parent of [folder, domainFolder, dirname(domainFolder)]) await syncFolder(parent)
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  } finally {
    key.fill(0)
  }
}

/**
 * @param {object} input
 * @param {string} input.folder - nobody else has its mailbox open
 * @param {Cipher | null} input.cipher
 * @param {SecretBuffer} input.masterKey
 * @returns {boolean} whether the mailbox opens with it
 * @throws {MailError} ACCOUNT_DAMAGED and all else that opening can meet
 */
export function opensWith({ folder, cipher, masterKey }) {
  const key = deriveDatabaseKey(masterKey.bytes)
  try {
    const path = join(folder, MAILBOX_FILE)
    openEncryptedDatabase({ path, key, cipher, isBlocking: true }).db.close()
    return true
  } catch (error) {
    if (isMailError(error, 'KEY_REJECTED')) return false
    throw error
  } finally {
    key.fill(0)
  }
}

/**
 * Gives the mailbox file another key. The pages are encrypted anew in a copy, which then takes the file's
 * place by a rename: after a crash the file has the one key or the other, never both. Takes the room of a
 * second file, and about 1 s for each 80 MB.
 *
 * @param {object} input
 * @param {string} input.folder - nobody else has its mailbox open: the caller holds mail.lock exclusively
 * @param {Cipher | null} input.cipher
 * @param {SecretBuffer} input.masterKey
 * @param {SecretBuffer} input.nextMasterKey
 * @throws {MailError} KEY_REJECTED, ACCOUNT_DAMAGED, DISK_FULL
 */
export async function rekeyMailboxFile({ folder, cipher, masterKey, nextMasterKey }) {
  const path = join(folder, MAILBOX_FILE)
  const nextPath = join(folder, NEXT_FILE)
  const key = deriveDatabaseKey(masterKey.bytes)
  const nextKey = deriveDatabaseKey(nextMasterKey.bytes)
  try {
    await removeNextFile(folder)
    // The last close empties the write-ahead log into the file and removes it.
    const opened = openEncryptedDatabase({ path, key, cipher, isBlocking: true })
    opened.db.close()
    if (await stat(`${path}-wal`).catch(ignoreMissing)) {
      throw new MailError('BUSY', { detail: 'the write-ahead log of the mailbox is still there' })
    }
    await copyFile(path, nextPath, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL)
    rekeyCopy({ path: nextPath, cipher: opened.cipher, key, nextKey })
    const handle = await open(nextPath, 'r+')
    await handle.sync().finally(() => handle.close())
    await rename(nextPath, path)
    await syncFolder(folder)
  } catch (error) {
    await removeNextFile(folder)
    throw toMailError(error)
  } finally {
    key.fill(0)
    nextKey.fill(0)
  }
}

/**
 * @param {{ path: string, cipher: Cipher, key: Buffer, nextKey: Buffer }} input
 */
function rekeyCopy({ path, cipher, key, nextKey }) {
  const db = new Database(path, { fileMustExist: true })
  const raw = rawKey(nextKey)
  try {
    applyKey(db, cipher, key)
    // SQLite3MC rekeys no file in WAL mode. Its journal is encrypted, as the file is.
    db.pragma('journal_mode = DELETE')
    applyCipher(db, cipher)
    db.rekey(raw)
    db.pragma('journal_mode = WAL')
  } finally {
    raw.fill(0)
    db.close()
  }
}

/** @param {string} folder */
async function removeNextFile(folder) {
  for (const suffix of ['', '-journal', '-wal', '-shm']) {
    await rm(join(folder, NEXT_FILE + suffix), { force: true })
  }
}

/**
 * @param {NodeJS.ErrnoException} error
 * @returns {null}
 */
function ignoreMissing(error) {
  if (error.code === 'ENOENT') return null
  throw error
}

/**
 * Removes a folder whose keys are destroyed, once nobody has its mailbox open.
 *
 * @param {string} folder
 * @param {{ timeoutMs: number }} options - how long to wait for the last opener to go
 * @throws {MailError} BUSY
 */
export async function removeMailboxFolder(folder, { timeoutMs }) {
  if (!(await stat(folder).catch(ignoreMissing))) return
  const lock = await lockExclusive(folder, { timeoutMs })
  try {
    await rm(folder, { recursive: true, force: true })
  } finally {
    lock.release()
  }
  await syncFolder(dirname(folder))
}
