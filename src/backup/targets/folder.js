/**
 * Backups in a folder: of another disk, or of a mounted share.
 */
import { constants } from 'node:fs'
import { copyFile, mkdir, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import { errorCodeOf, toMailError } from '../../database/sqlite-error.js'
import { MailError } from '../../errors.js'
import { syncFolder } from '../../support/write-file.js'

/** What is being written has such a name; a killed run leaves it, and the next one removes it. */
const TEMPORARY = /\.[0-9a-f]{12}\.tmp$/

/**
 * @template T
 * @param {() => Promise<T>} work
 * @returns {Promise<T | null>} null where a file is missing
 */
async function unlessMissing(work) {
  try {
    return await work()
  } catch (error) {
    if (errorCodeOf(error) === 'ENOENT') return null
    throw toMailError(error)
  }
}

/**
 * @param {string} folder - absolute; made at the first write
 * @returns {import('./target.js').BackupTarget}
 */
export function openFolderTarget(folder) {
  const pathOf = (/** @type {string} */ name) => join(folder, ...name.split('/'))

  /**
   * @param {string} name
   * @param {(temporary: string) => Promise<void>} write
   */
  async function place(name, write) {
    const path = pathOf(name)
    const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
    try {
      const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 })
      await write(temporary)
      const handle = await open(temporary, 'r')
      await handle.sync().finally(() => handle.close())
      await rename(temporary, path)
      await syncFolder(dirname(path))
      if (made !== undefined) await syncFolder(dirname(made))
    } catch (error) {
      await rm(temporary, { force: true })
      throw toMailError(error)
    }
  }

  /**
   * @param {string} prefix
   * @returns {AsyncGenerator<import('./target.js').StoredObject, void, void>}
   */
  async function* list(prefix) {
    const names = await readdir(pathOf(prefix), { withFileTypes: true }).catch((error) => {
      if (errorCodeOf(error) === 'ENOENT') return []
      throw toMailError(error)
    })
    names.sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of names) {
      const name = `${prefix}${entry.name}`
      if (entry.isDirectory()) yield* list(`${name}/`)
      else if (TEMPORARY.test(name)) await rm(pathOf(name), { force: true })
      else {
        const found = await unlessMissing(() => stat(pathOf(name)))
        if (found) yield { name, size: found.size }
      }
    }
  }

  return {
    label: folder,
    put: (name, bytes) =>
      place(name, async (temporary) => {
        const handle = await open(temporary, 'wx', 0o600)
        await handle.writeFile(bytes).finally(() => handle.close())
      }),
    putFile: (name, path) =>
      place(name, (temporary) =>
        copyFile(path, temporary, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL)
      ),
    get: (name) => unlessMissing(() => readFile(pathOf(name))),
    getRange: async (name, offset, length) => {
      const handle = await unlessMissing(() => open(pathOf(name), 'r'))
      if (!handle) throw new MailError('BACKUP_DAMAGED', { detail: `${name} is missing` })
      try {
        const bytes = Buffer.allocUnsafe(length)
        const { bytesRead } = await handle.read(bytes, 0, length, offset)
        if (bytesRead < length)
          throw new MailError('BACKUP_DAMAGED', { detail: `${name} is too short` })
        return bytes
      } finally {
        await handle.close()
      }
    },
    size: async (name) => (await unlessMissing(() => stat(pathOf(name))))?.size ?? null,
    list,
    remove: async (names) => {
      for (const name of names) await rm(pathOf(name), { force: true })
    },
    close: async () => {}
  }
}
