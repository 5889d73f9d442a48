/**
 * Puts one account's mailbox back as it was: into a new folder, verified, then in the present one's place while nobody
 * has it open (src/accounts/restored.js). What stood there is kept beside it.
 */
import { randomBytes } from 'node:crypto'
import { existsSync } from 'node:fs'
import { readdir, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { settleSwitch } from '../accounts/restored.js'
import { MailError, isMailError } from '../errors.js'
import { requireEnough } from '../support/room.js'
import { makeFolderDurably } from '../support/write-file.js'
import { requireEntry } from './choose.js'
import { removeStaged, STAGED } from './left-restores.js'
import { materialize } from './materialize.js'
import { connectOwners } from './owner-client.js'
import { readSnapshot } from './snapshot-store.js'

/**
 * @typedef {import('../accounts/directory-port.js').Account} Account
 * @typedef {import('../accounts/directory-port.js').DirectoryPort} DirectoryPort
 */

/** How often the owners are asked to close the mailbox: a mail program may be back at once. */
const CLOSE_TRIES = 5

/** Each time, the lock is waited for so long, ms. */
const LOCK_WAIT_MS = 6_000

/**
 * @param {object} input
 * @param {DirectoryPort} input.directory
 * @param {import('./targets/target.js').BackupTarget} input.target
 * @param {import('./repository.js').Generation} input.generation
 * @param {Account} input.account
 * @param {string} input.data - the data folder
 * @param {import('../support/clock.js').Clock} input.clock
 * @param {(bytes: number) => void} [input.onRead]
 * @param {number} [input.timeoutMs] - how long each time the lock is waited for
 * @returns {Promise<{ replaced: string | null, copiedAtMs: number }>} the folder where the mailbox of before lies (null: there
 *   was none), and the time that the account is back at
 * @throws {MailError} BACKUP_MISSING, BACKUP_DAMAGED, BACKUP_UNREACHABLE, DISK_FULL; RESTORE_REFUSED where the account got
 *   another key since, or the restore was called off meanwhile; BUSY where somebody keeps the mailbox open: nothing has changed then
 */
export async function restoreAccount({
  directory,
  target,
  generation,
  account,
  data,
  clock,
  onRead,
  timeoutMs = LOCK_WAIT_MS
}) {
  const entry = requireEntry(generation, account.id)
  await requireSameKey(directory, account, entry.keyEpoch)
  // Somebody may have removed the account's folder.
  await makeFolderDurably(account.folder)
  const earlier = await directory.findRestore(account.id)
  // A restore that was killed amid its switch may have left no mailbox in place, and this one might still be called off.
  if (earlier?.state === 'switching') await settleSwitch({ directory, account, timeoutMs })
  // What killed restores left is as large as the mailbox. No other one is under way: a host runs one at a time.
  await removeStaged(account.folder, earlier?.staged)
  await requireEnough(account.folder, entry.bytes)
  const name = `${generation.name}-${randomBytes(4).toString('hex')}`
  const staged = `${STAGED}${name}`
  const replaced = `replaced-${name}`
  const stagedFolder = join(account.folder, staged)
  const replacedFolder = join(account.folder, replaced)
  try {
    const snapshot = await readSnapshot(target, entry.snapshot)
    await materialize({ target, snapshot, folder: stagedFolder, ...(onRead && { onRead }) })
    await directory.beginRestore({
      accountId: account.id,
      generation: generation.name,
      state: 'asked',
      staged,
      replaced,
      cipher: /** @type {import('../database/setup-pragma.js').Cipher | null} */ (snapshot.cipher),
      requestedAtMs: clock.nowMs(),
      keyEpoch: entry.keyEpoch
    })
    await switchWhenClosed({ directory, account, data, timeoutMs })
    // The restore's row may have gone on, and be over by now: what tells is this folder, which only the switch makes.
    if (!existsSync(replacedFolder))
      throw new MailError('RESTORE_REFUSED', {
        detail: 'it was called off meanwhile: by another restore, or because the account was reset'
      })
    await removeStaged(account.folder, staged)
    const isKept = (await readdir(replacedFolder)).length > 0
    if (!isKept) await rmdir(replacedFolder)
    return { replaced: isKept ? replacedFolder : null, copiedAtMs: entry.copiedAtMs }
  } catch (error) {
    // Calls this restore off, unless somebody who has just opened the mailbox is at it already. Another restore's folder stays.
    await directory.advanceRestore(account.id, { from: 'asked', to: null, staged })
    const pending = await directory.findRestore(account.id)
    if (pending?.staged !== staged) await rm(stagedFolder, { recursive: true, force: true })
    throw error
  }
}

/**
 * Checked before anything is fetched, and once more by `beginRestore`.
 *
 * @param {DirectoryPort} directory
 * @param {Account} account
 * @param {number} keyEpoch - of the backup
 */
async function requireSameKey(directory, account, keyEpoch) {
  const now = await directory.findAccount(account.id)
  const isRekeyed = now?.keyEpoch !== keyEpoch || (await directory.findRekey(account.id)) !== null
  if (isRekeyed)
    throw new MailError('RESTORE_REFUSED', {
      detail: 'the account has got another key since; restore it under another name'
    })
}

/**
 * @param {{ directory: DirectoryPort, account: Account, data: string, timeoutMs: number }} input
 */
async function switchWhenClosed({ directory, account, data, timeoutMs }) {
  for (let attempt = 1; ; attempt++) {
    const owners = await connectOwners(join(data, 'run'))
    try {
      for (const owner of owners) await owner.ask({ op: 'close', accountId: account.id })
    } finally {
      for (const owner of owners) owner.close()
    }
    try {
      await settleSwitch({ directory, account, timeoutMs })
      return
    } catch (error) {
      if (!isMailError(error, 'BUSY') || attempt === CLOSE_TRIES) throw error
    }
  }
}
