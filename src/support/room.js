/**
 * Copies of mailboxes lie with the mail: where they fill the disk, users and deliveries are refused meanwhile.
 */
import { statfs } from 'node:fs/promises'
import { MailError } from '../errors.js'

/** This share of the disk is left to the mail, a twentieth, but at most so many bytes. */
const RESERVED_SHARE = 1 / 20
const MAX_RESERVED_BYTES = 1024 ** 3

/**
 * @param {string} path - of the scratch folder, or in it
 * @param {number} bytes - that may be written there next
 * @throws {MailError} SCRATCH_FULL
 */
export async function requireRoom(path, bytes) {
  const { bavail, blocks, bsize } = await statfs(path)
  const reserved = Math.min(blocks * bsize * RESERVED_SHARE, MAX_RESERVED_BYTES)
  if (bavail * bsize - bytes < reserved) throw new MailError('SCRATCH_FULL')
}

/**
 * For what an operator asks for, which may take all there is: it is not begun where it could not come to its end.
 *
 * @param {string} path - of a folder
 * @param {number} bytes - that are to be written there
 * @throws {MailError} DISK_FULL
 */
export async function requireEnough(path, bytes) {
  const { bavail, bsize } = await statfs(path)
  const free = bavail * bsize
  if (free < bytes)
    throw new MailError('DISK_FULL', { detail: `${bytes} bytes are needed, ${free} are free` })
}
