/**
 * A tree of `.eml` files: a folder for each mailbox, a file for each message with its UID as name and its date as time.
 * The format has no place for flags.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { FileNames } from './file-names.js'
import { writeMessageFile } from './write-message-file.js'

/**
 * @param {string} folder - there, and empty
 * @returns {import('./export-mailbox.js').ExportTarget}
 */
export function emlTarget(folder) {
  const names = new FileNames()
  return {
    async openMailbox(name) {
      const root = join(folder, ...names.placeOf(name))
      await mkdir(root, { recursive: true, mode: 0o700 })
      return {
        write: async ({ uid, internalDate, read }) => {
          const path = join(root, `${String(uid).padStart(8, '0')}.eml`)
          await writeMessageFile(path, { internalDate, read })
        },
        close: async () => {}
      }
    }
  }
}
