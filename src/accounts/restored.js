/**
 * A mailbox that comes out of a backup takes the place of the present one while nobody has it open, and is made fit for
 * its clients at the next unlock.
 *
 *     asked ─► switching ─► lift ─► check ─► (no row)
 *       │         │          │        └ everything is read once, in the background
 *       │         │          └ UIDs and MODSEQs are lifted, in one transaction, with the key
 *       │         └ files are being renamed; after a crash whoever comes next goes on
 *       └ staged and verified; may still be called off
 *
 * Until its switch, another restore that is asked for remembers what the one before still waits for: it may be called off, and
 * the mailbox in place is opened meanwhile.
 *
 * The switch renames files within the account's folder, where the spool stays: mail that arrives meanwhile is in its place.
 * Each step can be done again: as long as the staged `mail.db` is there, what stands in the account's folder is the old one.
 */
import { link, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { mailFile } from '../database/database-files.js'
import { withExclusiveLock } from '../database/lock.js'
import { errorCodeOf } from '../database/sqlite-error.js'
import { isMailError } from '../errors.js'
import { isThere } from '../support/is-there.js'
import { makeFolderDurably, syncFolder } from '../support/write-file.js'

/**
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./directory-port.js').DirectoryPort} DirectoryPort
 * @typedef {import('./directory-port.js').PendingRestore} PendingRestore
 */

/** The switch waits at most so many ms for others to close the mailbox. */
const LOCK_TIMEOUT_MS = 30_000

/**
 * An unlock that may go on with the old mailbox waits at most so many ms. A running restore has the mailbox closed by whoever
 * holds it, which takes a moment; one that died before is carried out once the last holder has closed the mailbox.
 */
const ASKED_TIMEOUT_MS = 5000

/**
 * Puts the staged files in place, if a restore asks for it. To be called before the mailbox is opened.
 *
 * @param {object} input
 * @param {DirectoryPort} input.directory
 * @param {Account} input.account
 * @param {number} [input.timeoutMs] - how long to wait for the last opener to go
 * @returns {Promise<PendingRestore | null>} the restore, if it is not over with that: `settleLift` is next
 * @throws {import('../errors.js').MailError} BUSY while somebody has the mailbox open
 */
export async function settleSwitch({ directory, account, timeoutMs = LOCK_TIMEOUT_MS }) {
  const pending = await directory.findRestore(account.id)
  if (pending?.state !== 'asked' && pending?.state !== 'switching') return pending
  await withExclusiveLock(account.folder, { timeoutMs }, async () => {
    const restore = await directory.findRestore(account.id)
    if (!restore) return
    const { staged } = restore
    const isOurs =
      restore.state === 'switching' ||
      (await directory.advanceRestore(account.id, { from: 'asked', to: 'switching', staged }))
    if (!isOurs) return
    await switchFiles(account.folder, restore)
    await directory.advanceRestore(account.id, { from: 'switching', to: 'lift', staged })
    directory.recordMaintenance({ accountId: account.id, isAnew: true })
    directory.audit({
      action: 'restore-switched',
      accountId: account.id,
      detail: { generation: restore.generation, replaced: restore.replaced }
    })
  })
  return await directory.findRestore(account.id)
}

/**
 * `settleSwitch` for an unlock, which does not wait long for a restore that is only asked for: while others use the old
 * mailbox, so may this session. Once the mailbox is open, the pending restore must be looked up again: the switch may have
 * come between.
 *
 * @param {object} input
 * @param {DirectoryPort} input.directory
 * @param {Account} input.account
 * @returns {Promise<PendingRestore | null>} what is left to be done
 * @throws {import('../errors.js').MailError} BUSY while files are being renamed
 */
export async function settleSwitchOrPutOff({ directory, account }) {
  try {
    return await settleSwitch({ directory, account, timeoutMs: ASKED_TIMEOUT_MS })
  } catch (error) {
    if (!isMailError(error, 'BUSY')) throw error
  }
  const pending = await directory.findRestore(account.id)
  return pending?.state === 'asked' ? pending : await settleSwitch({ directory, account })
}

/**
 * @param {string} folder - the account's
 * @param {PendingRestore} restore
 */
async function switchFiles(folder, restore) {
  const staged = join(folder, restore.staged)
  const replaced = join(folder, restore.replaced)
  if (await isThere(mailFile(staged))) {
    const log = `${mailFile(folder)}-wal`
    const stagedLog = `${mailFile(staged)}-wal`
    await makeFolderDurably(replaced)
    // The old log first: it belongs to the old database, and must never lie beside the new one, even if the old one is gone.
    if (!(await isSameFile(log, stagedLog))) await renameIfThere(log, `${mailFile(replaced)}-wal`)
    await renameIfThere(mailFile(folder), mailFile(replaced))
    await syncFolder(replaced)
    await rm(`${mailFile(folder)}-shm`, { force: true })
    await placeSpool(join(staged, 'spool'), join(folder, 'spool'))
    // The new log has both names until all is done: so, if this is cut short, the next run tells it from the old one.
    if (await isThere(stagedLog)) await linkOnce(stagedLog, log)
    // Else a disk may keep the database's new name and lose the log's: the database would lose all that is only in the log.
    await syncFolder(folder)
    await rename(mailFile(staged), mailFile(folder))
    await syncFolder(folder)
  }
  await rm(staged, { recursive: true, force: true })
}

/**
 * Puts back mail that was waiting at the backup: some of it waits still, and what has been taken into the old mailbox since
 * must be delivered into the restored one.
 *
 * @param {string} from
 * @param {string} to
 */
async function placeSpool(from, to) {
  for (const sub of ['', 'aside']) {
    const source = join(from, sub)
    const target = join(to, sub)
    if (!(await isThere(source))) continue
    await makeFolderDurably(target)
    for (const entry of await readdir(source, { withFileTypes: true })) {
      if (!entry.isFile()) continue
      // linkOnce: mail that waits still has its file there.
      await linkOnce(join(source, entry.name), join(target, entry.name))
    }
    await syncFolder(target)
  }
}

/**
 * @param {string} from
 * @param {string} to - may exist: an interrupted switch has made it
 */
async function linkOnce(from, to) {
  await link(from, to).catch((error) => {
    if (errorCodeOf(error) !== 'EEXIST') throw error
  })
}

/**
 * @param {string} one
 * @param {string} other
 * @returns {Promise<boolean>} whether both exist, as names of one file
 */
async function isSameFile(one, other) {
  if (!(await isThere(one)) || !(await isThere(other))) return false
  const [a, b] = await Promise.all([one, other].map((path) => stat(path, { bigint: true })))
  return a?.ino === b?.ino && a?.dev === b?.dev
}

/**
 * @param {string} from
 * @param {string} to
 */
async function renameIfThere(from, to) {
  await rename(from, to).catch((error) => {
    if (errorCodeOf(error) !== 'ENOENT') throw error
  })
}

/**
 * Lifts the UIDs and MODSEQs of a restored mailbox, if that is still to be done. To be called before anybody reads it.
 *
 * @param {object} input
 * @param {DirectoryPort} input.directory
 * @param {import('../store/account-store.js').AccountStore} input.store - just opened, writable
 * @param {PendingRestore | null} input.pending - found when the mailbox was open already
 */
export async function settleLift({ directory, store, pending }) {
  if (pending?.state !== 'lift' && !pending?.isUnlifted) return
  // After a crash between this and the next step the mailbox is lifted a second time, which does no harm.
  const lifts = await store.liftRestored({ lifts: await directory.findLifts(pending.accountId) })
  await directory.noteLifted(pending.accountId, lifts)
}

/**
 * Checks what a restore without the key could not: every page, every message. To be called in the background.
 *
 * @param {object} input
 * @param {DirectoryPort} input.directory
 * @param {import('../store/account-store.js').AccountStore} input.store
 * @param {string} input.accountId
 * @returns {Promise<{ problems: number } | null>} null where there was nothing to check
 */
export async function checkRestored({ directory, store, accountId }) {
  const pending = await directory.findRestore(accountId)
  if (pending?.state !== 'check') return null
  const { problems } = await store.verify()
  directory.audit({
    action: 'restore-checked',
    accountId,
    detail: { generation: pending.generation, problems: problems.length }
  })
  await directory.advanceRestore(accountId, { from: 'check', to: null })
  return { problems: problems.length }
}
