/**
 * An account's folder as a whole: made, given another key, removed. The files in it are the store's.
 */
import { mkdir, readdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { isMailError } from '../errors.js'
import { deriveDatabaseKey } from '../crypto/key-derivation.js'
import { mailFile } from '../database/database-files.js'
import { MAIL_LOCK, withExclusiveLock } from '../database/lock.js'
import { openEncryptedDatabase } from '../database/open.js'
import { rewriteDatabase } from '../database/rewrite.js'
import { createMailFile } from '../store/mail-file.js'
import { fileOptions } from '../store/port/options.js'
import { isThere } from '../support/is-there.js'
import { makeFolderDurably, syncFolder } from '../support/write-file.js'

/**
 * @typedef {import('../crypto/secret-buffer.js').SecretBuffer} SecretBuffer
 * @typedef {import('../database/setup-pragma.js').Cipher} Cipher
 * @typedef {import('./services.js').AccountServices} AccountServices
 */

/** The removal is tried again at most so many times: another process may make a lock in the folder at the last moment. */
const REMOVAL_TRIES = 3

/**
 * Makes a folder with an empty mailbox in it, durable when this resolves. A failure leaves no folder; one that a killed process
 * leaves before an account stands in it goes with a later removal.
 *
 * @param {object} input
 * @param {Pick<AccountServices, 'config' | 'clock' | 'logger' | 'directory'>} input.services
 * @param {string} input.folder - must not exist
 * @param {SecretBuffer} input.masterKey
 * @throws {MailError} DISK_FULL
 */
export async function createMailboxFolder({ services, folder, masterKey }) {
  const { config, clock, logger, directory } = services
  const domainFolder = dirname(folder)
  await directory.planFolder(folder)
  await makeFolderDurably(domainFolder)
  await mkdir(folder, { mode: 0o700 })
  const key = deriveDatabaseKey(masterKey.bytes)
  try {
    await mkdir(join(folder, 'spool'), { mode: 0o700 })
    const { cipher } = config.storage
    await createMailFile(fileOptions({ folder, key, cipher, clock, logger }))
    // Another process may have made the domain's folder a moment ago.
    await syncFolder(dirname(domainFolder))
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw error
  } finally {
    key.fill(0)
  }
}

/**
 * Removes a new mailbox whose rows the directory has refused, unless the disk has failed: then nobody knows whether the rows
 * stand. If they do, the mailbox would be missed; if not, it is an empty one that nobody opens.
 *
 * @param {string} folder
 * @param {unknown} error - of the directory
 */
export async function removeRefusedFolder(folder, error) {
  if (!isMailError(error, 'NOT_DURABLE')) await rm(folder, { recursive: true, force: true })
}

/**
 * @param {object} input
 * @param {string} input.folder - nobody else has its mailbox open
 * @param {Cipher | null} input.cipher
 * @param {SecretBuffer} input.masterKey
 * @returns {boolean} whether the mailbox opens with that master key
 * @throws {MailError} ACCOUNT_DAMAGED, and whatever else opening throws but KEY_REJECTED
 */
export function opensWith({ folder, cipher, masterKey }) {
  const key = deriveDatabaseKey(masterKey.bytes)
  try {
    const path = mailFile(folder)
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
 * Gives the mailbox file another key, in a copy that takes its place: after a crash the file has the one key or
 * the other, never both. Takes the room of a second file, and about 1 s for each 50 MB.
 *
 * @param {object} input
 * @param {string} input.folder - nobody else has its mailbox open: the caller holds mail.lock exclusively
 * @param {Cipher | null} input.cipher
 * @param {SecretBuffer} input.masterKey
 * @param {SecretBuffer} input.nextMasterKey
 * @throws {MailError} KEY_REJECTED, ACCOUNT_DAMAGED, BUSY, DISK_FULL
 */
export async function rekeyMailboxFile({ folder, cipher, masterKey, nextMasterKey }) {
  const key = deriveDatabaseKey(masterKey.bytes)
  const nextKey = deriveDatabaseKey(nextMasterKey.bytes)
  try {
    await rewriteDatabase(mailFile(folder), {
      from: { cipher, key },
      to: { key: nextKey }
    })
  } finally {
    key.fill(0)
    nextKey.fill(0)
  }
}

/**
 * Removes a folder whose keys are destroyed, once nobody has its mailbox open. Several processes may be at it.
 *
 * @param {string} folder
 * @param {object} options
 * @param {number} options.timeoutMs - how long to wait for the last opener to go
 * @param {() => Promise<boolean>} options.isToGo - asked once nobody can open the mailbox any more
 * @throws {MailError} BUSY
 */
export async function removeMailboxFolder(folder, { timeoutMs, isToGo }) {
  if (!(await isThere(folder))) return
  try {
    await withExclusiveLock(folder, { timeoutMs }, async () => {
      if (await isToGo()) await removeFiles(folder)
    })
  } catch (error) {
    // Another process may have removed the folder meanwhile.
    if (await isThere(folder)) throw error
  }
  await syncFolder(dirname(folder))
}

/** @param {string} folder - the caller holds its lock */
async function removeFiles(folder) {
  // mail.lock goes last: whoever waits for it would make another file of that name, and take it for the lock.
  for (const name of await readdir(folder))
    if (name !== MAIL_LOCK) await rm(join(folder, name), { recursive: true, force: true })
  await rm(folder, { recursive: true, force: true, maxRetries: REMOVAL_TRIES })
}
