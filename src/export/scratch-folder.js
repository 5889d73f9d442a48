/**
 * Makes folders for copies of mailboxes that are on their way into a portable file, or out of one.
 */
import { randomBytes } from 'node:crypto'
import { mkdirSync } from 'node:fs'

const OWNER_ONLY = 0o700
const NAME_BYTES = 6

/**
 * Announces the folder and then makes it, in the same turn of the event loop: whoever removes the folder when a signal comes
 * knows of it before it is there.
 *
 * @param {string} prefix - path, to which random letters are added
 * @param {(folder: string) => void} onScratch - is told where the folder will be
 * @returns {string} its path
 * @throws what the file system throws
 */
export function makeScratchFolder(prefix, onScratch) {
  const folder = prefix + randomBytes(NAME_BYTES).toString('hex')
  onScratch(folder)
  mkdirSync(folder, { mode: OWNER_ONLY })
  return folder
}
