/**
 * Puts a salvaged file in the place of a damaged one, which is kept. The new file is verified before, hash by hash; a
 * crash at any moment leaves the old file in its place, or the new one whole.
 */
import { link, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { MailError } from '../../errors.js'
import { syncFile, syncFolder } from '../../support/write-file.js'
import { mailFile } from '../../database/database-files.js'
import { withExclusiveLock } from '../../database/lock.js'
import { pendingMigrations, readMigrations } from '../../database/migrate.js'
import { openEncryptedDatabase } from '../../database/open.js'
import { toMailError } from '../../database/sqlite-error.js'
import { isThere } from '../../support/is-there.js'
import { ACCOUNT_MIGRATIONS, createMailFile } from '../mail-file.js'
import { verifyAll } from '../verify.js'
import { lazyLeafPages } from './leaf-pages.js'
import { tryRead } from './readable-rows.js'
import { salvage } from './salvage.js'
import { transplantPages } from './transplant.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('../mail-file.js').FileOptions} FileOptions
 *
 * @typedef {object} RepairOutcome
 * @property {import('./salvage.js').SalvageReport} report
 * @property {string} keptFile - the damaged file, absolute
 *
 * @typedef {object} RepairProgress
 * @property {'salvage' | 'verify'} step
 * @property {number} done
 * @property {number} total
 */

/** Where the new file is made, within the account's folder. */
const WORK_FOLDER = 'mail.repair'

/**
 * @param {FileOptions} options - of the account
 * @param {object} how
 * @param {number} how.timeoutMs - how long to wait for the last opener to go
 * @param {(progress: RepairProgress) => void} [how.onProgress]
 * @returns {Promise<RepairOutcome>}
 * @throws {MailError} BUSY, KEY_REJECTED or ACCOUNT_DAMAGED where not even the first pages can be read, FILE_TOO_NEW,
 *   DISK_FULL; whatever it throws, the account's file is as it was
 */
export function repairMailFile(options, { timeoutMs, onProgress }) {
  const { folder } = options
  const workFolder = join(folder, WORK_FOLDER)
  return withExclusiveLock(folder, { timeoutMs }, async () => {
    await rm(workFolder, { recursive: true, force: true })
    try {
      const { report, cipher } = await salvageInto(workFolder, options, onProgress)
      await verifyNew(mailFile(workFolder), { ...options, cipher }, onProgress)
      return { report, keptFile: await takePlace(mailFile(workFolder), folder, options.clock) }
    } catch (error) {
      throw toMailError(error)
    } finally {
      await rm(workFolder, { recursive: true, force: true })
    }
  })
}

/**
 * @param {string} folder - of an account
 * @returns {Promise<boolean>} whether there was something left of a repair that was killed; the caller holds mail.lock
 *   exclusively
 */
export async function removeLeftRepair(folder) {
  const workFolder = join(folder, WORK_FOLDER)
  const isLeft = await isThere(workFolder)
  if (isLeft) await rm(workFolder, { recursive: true, force: true })
  return isLeft
}

/**
 * @param {string} folder - of an account
 * @returns {Promise<boolean>} whether a repair is under way, or was killed
 */
export const hasLeftRepair = (folder) => isThere(join(folder, WORK_FOLDER))

/**
 * @param {string} workFolder
 * @param {FileOptions} options
 * @param {((progress: RepairProgress) => void) | undefined} onProgress
 */
async function salvageInto(workFolder, options, onProgress) {
  const { key, clock } = options
  const path = mailFile(options.folder)
  const { db: from, cipher } = openEncryptedDatabase({
    path,
    key,
    cipher: options.cipher,
    isBlocking: true,
    mayEndEarly: true
  })
  // `transplantPages` drops SQLite's locks, which are not needed: mail.lock keeps others away.
  const leafPages = lazyLeafPages(() =>
    transplantPages(
      path,
      join(workFolder, 'pages.db'),
      { cipher, key },
      /** @type {number} */ (from.pragma('page_size', { simple: true }))
    )
  )
  try {
    // A file of a newer program is none of ours to read; where the list of migrations is lost, the file is taken for one of ours.
    tryRead(() => pendingMigrations(from, readMigrations(ACCOUNT_MIGRATIONS)))
    // What lies only in the log must get into the file that is kept; and the log must not be taken for that of the new file.
    from.pragma('wal_checkpoint(TRUNCATE)')
    await createMailFile({ ...options, folder: workFolder, cipher })
    const { db: to } = openEncryptedDatabase({
      path: mailFile(workFolder),
      key,
      cipher,
      isBlocking: true
    })
    try {
      to.exec('DELETE FROM mailboxes; DELETE FROM subscriptions')
      const report = salvage(from, to, {
        nowMs: clock.nowMs(),
        leafPages: leafPages.get,
        onProgress: ({ done, total }) => onProgress?.({ step: 'salvage', done, total })
      })
      return { report, cipher }
    } finally {
      to.close()
    }
  } finally {
    leafPages.close()
    from.close()
  }
}

/**
 * @param {string} path
 * @param {FileOptions} options
 * @param {((progress: RepairProgress) => void) | undefined} onProgress
 * @throws {MailError} ACCOUNT_DAMAGED
 */
async function verifyNew(path, { key, cipher }, onProgress) {
  const { db } = openEncryptedDatabase({ path, key, cipher, isBlocking: true })
  try {
    const { problems } = verifyAll(db, ({ done, total }) =>
      onProgress?.({ step: 'verify', done, total })
    )
    if (problems.length > 0)
      throw new MailError('ACCOUNT_DAMAGED', { detail: `the new file: ${problems[0]}` })
    db.pragma('wal_checkpoint(TRUNCATE)')
  } finally {
    db.close()
  }
}

/**
 * @param {string} newFile - verified, closed
 * @param {string} folder - of the account
 * @param {import('../../support/clock.js').Clock} clock
 * @returns {Promise<string>} the damaged file
 */
async function takePlace(newFile, folder, clock) {
  const path = mailFile(folder)
  if (await isThere(`${path}-wal`))
    throw new MailError('BUSY', { detail: 'the -wal file is still there' })
  const time = new Date(clock.nowMs()).toISOString().replaceAll(/[:.]/g, '-')
  const keptFile = `${path}.damaged-${time}`
  await syncFile(newFile)
  // A second name first, so that there is a mail.db at every moment.
  await link(path, keptFile)
  // A disk may keep the new name without the second one, or with a log that was removed before.
  await syncFolder(folder)
  await rename(newFile, path)
  await syncFolder(folder)
  return keptFile
}
