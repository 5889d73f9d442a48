/**
 * The one backup of a host at a time, and its scratch folder.
 */
import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { lockAlone } from '../database/lock.js'
import { MailError, isMailError } from '../errors.js'

const LOCK = 'backup.lock'
const SCRATCH = 'backup-'

/**
 * Runs `work` while no other process of this host does anything of the kind. What one that was killed left in its
 * scratch folder goes first.
 *
 * @template T
 * @param {string} data - the data folder
 * @param {(scratchFolder: string) => Promise<T>} work
 * @returns {Promise<T>}
 * @throws {MailError} BACKUP_RUNNING
 */
export async function withBackupLock(data, work) {
  const runFolder = join(data, 'run')
  const tempFolder = join(data, 'tmp')
  for (const folder of [runFolder, tempFolder])
    await mkdir(folder, { recursive: true, mode: 0o700 })
  const lock = await lockAlone(runFolder, LOCK).catch((cause) => {
    throw isMailError(cause, 'BUSY') ? new MailError('BACKUP_RUNNING', { cause }) : cause
  })
  const scratch = join(tempFolder, `${SCRATCH}${process.pid}`)
  try {
    for (const name of await readdir(tempFolder))
      if (name.startsWith(SCRATCH)) await rm(join(tempFolder, name), { recursive: true })
    await mkdir(scratch, { mode: 0o700 })
    return await work(scratch)
  } finally {
    try {
      await rm(scratch, { recursive: true, force: true })
    } finally {
      // The next run removes what could not be removed now: this process must not keep that run out.
      lock.release()
    }
  }
}
