/**
 * The scratch folder lies with the mail: users and deliveries would be refused for as long as a large mailbox is copied
 * there, if nothing were left to them.
 */
import { statfs } from 'node:fs/promises'
import { MailError } from '../errors.js'

/** Of the disk, this share is left to the mail, a twentieth, but no more than so many bytes. */
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
