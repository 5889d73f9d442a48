/**
 * A message as a file of its own, with its date as the file's time.
 */
import { open, rm } from 'node:fs/promises'
import { writeAll } from '../support/write-all.js'

/**
 * @param {string} path - must not exist
 * @param {Pick<import('./export-mailbox.js').ExportedMessage, 'internalDate' | 'read'>} message
 * @throws what reading and the file system throw; no part of the message stays then
 */
export async function writeMessageFile(path, { internalDate, read }) {
  const file = await open(path, 'wx', 0o600)
  try {
    for await (const piece of read()) await writeAll(file, piece)
    const seconds = Math.max(internalDate.epochSeconds, 0)
    await file.utimes(seconds, seconds)
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
}
