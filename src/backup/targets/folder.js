/**
 * Backups in a folder: of another disk, or of a mounted share.
 */
import { constants } from 'node:fs'
import { copyFile, open, readFile, readdir, rename, rm, stat } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { dirname, join } from 'node:path'
import { errorCodeOf, toMailError } from '../../database/sqlite-error.js'
import { MailError } from '../../errors.js'
import { systemClock } from '../../support/clock.js'
import { MARKER } from '../marker.js'
import { makeFolderDurably, syncFile, syncFolder } from '../../support/write-file.js'

/** A file that is being written has such a name; a killed run leaves it. */
const TEMPORARY = /\.[0-9a-f]{12}\.tmp$/

/** Nobody writes one object for so many ms, however the clocks of a share and of this host differ. */
const LEFTOVER_AGE_MS = 24 * 60 * 60 * 1000

/** Codes that say that the disk does not give back this one file; any other speaks of the folder. */
const UNREADABLE = new Set(['EIO', 'EISDIR', 'ELOOP'])

/**
 * @param {unknown} error - of the file system
 * @param {string} [path] - what it is about, where the system may not say so
 * @returns {unknown} DISK_FULL, or BACKUP_UNREACHABLE: a share that is gone, read-only, another user's
 */
function toTargetError(error, path = '') {
  const known = toMailError(error)
  if (!(error instanceof Error && 'syscall' in error)) return known
  const code = errorCodeOf(known) === 'DISK_FULL' ? 'DISK_FULL' : 'BACKUP_UNREACHABLE'
  const detail = 'path' in error ? error.message : `${error.message} '${path}'`
  return new MailError(code, { detail, cause: error })
}

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
    throw toTargetError(error)
  }
}

/**
 * @template T
 * @param {string} name - of the object
 * @param {() => Promise<T>} read
 * @returns {Promise<T>}
 */
async function unlessUnreadable(name, read) {
  try {
    return await read()
  } catch (cause) {
    const code = errorCodeOf(cause)
    if (!UNREADABLE.has(code)) throw cause
    throw new MailError('BACKUP_DAMAGED', { detail: `${name} cannot be read: ${code}`, cause })
  }
}

/**
 * @param {string} path
 * @param {number} offset
 * @param {number} length - bytes
 * @returns {Promise<Buffer>} shorter at the end of the file
 */
async function readRange(path, offset, length) {
  const handle = await open(path, 'r')
  try {
    const bytes = Buffer.allocUnsafe(length)
    const { bytesRead } = await handle.read(bytes, 0, length, offset)
    return bytes.subarray(0, bytesRead)
  } finally {
    await handle.close()
  }
}

/**
 * Removes it if it can: whoever only looks, on a share that is mounted read-only for instance, need not.
 *
 * @param {string} path
 */
async function removeLeftover(path) {
  await rm(path, { force: true }).catch(() => {})
}

/**
 * @param {string} folder - absolute; made at the first write, where no backups have been seen in it
 * @returns {import('./target.js').BackupTarget}
 */
export function openFolderTarget(folder) {
  const pathOf = (/** @type {string} */ name) => join(folder, ...name.split('/'))
  /** Backups have been seen here: from then on the folder itself is not made. */
  let isSetUp = false

  /**
   * If the disk is unmounted meanwhile, the path names an empty folder of another disk.
   *
   * @throws {MailError} BACKUP_UNREACHABLE
   */
  async function requirePlace() {
    if (!isSetUp || (await unlessMissing(() => stat(pathOf(MARKER)))) !== null) return
    const detail = `${pathOf(MARKER)} has gone: is the disk of the backups still mounted?`
    throw new MailError('BACKUP_UNREACHABLE', { detail })
  }

  /**
   * @param {string} name
   * @param {(temporary: string) => Promise<void>} write
   */
  async function place(name, write) {
    await requirePlace()
    const path = pathOf(name)
    const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
    try {
      await makeFolderDurably(dirname(path))
      await write(temporary)
      await syncFile(temporary)
      await rename(temporary, path)
      await syncFolder(dirname(path))
      if (name === MARKER) isSetUp = true
    } catch (error) {
      // Where that fails too, the first error says why.
      await rm(temporary, { force: true }).catch(() => {})
      throw toTargetError(error, path)
    }
  }

  /**
   * @param {string} prefix
   * @returns {AsyncGenerator<import('./target.js').StoredObject, void, void>}
   */
  async function* list(prefix) {
    const names = await readdir(pathOf(prefix), { withFileTypes: true }).catch((error) => {
      if (errorCodeOf(error) === 'ENOENT') return []
      throw toTargetError(error)
    })
    names.sort((a, b) => (a.name < b.name ? -1 : 1))
    for (const entry of names) {
      const name = `${prefix}${entry.name}`
      if (entry.isDirectory()) yield* list(`${name}/`)
      else {
        const found = await unlessMissing(() => stat(pathOf(name)))
        if (!found) continue
        if (!TEMPORARY.test(name)) yield { name, size: found.size }
        else if (systemClock.nowMs() - found.mtimeMs > LEFTOVER_AGE_MS)
          await removeLeftover(pathOf(name))
      }
    }
  }

  return {
    label: folder,
    folder,
    put: (name, bytes) =>
      place(name, async (temporary) => {
        const handle = await open(temporary, 'wx', 0o600)
        await handle.writeFile(bytes).finally(() => handle.close())
      }),
    putFile: (name, path) =>
      place(name, (temporary) =>
        copyFile(path, temporary, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL)
      ),
    get: async (name) => {
      const bytes = await unlessMissing(() => unlessUnreadable(name, () => readFile(pathOf(name))))
      if (name === MARKER && bytes !== null) isSetUp = true
      return bytes
    },
    getRange: async (name, offset, length) => {
      const bytes = await unlessMissing(() =>
        unlessUnreadable(name, () => readRange(pathOf(name), offset, length))
      )
      if (!bytes) throw new MailError('BACKUP_DAMAGED', { detail: `${name} is missing` })
      if (bytes.length < length)
        throw new MailError('BACKUP_DAMAGED', { detail: `${name} is too short` })
      return bytes
    },
    size: async (name) => (await unlessMissing(() => stat(pathOf(name))))?.size ?? null,
    list,
    remove: async (names) => {
      const folders = new Set(names.map((name) => dirname(pathOf(name))))
      for (const name of names) await unlessMissing(() => rm(pathOf(name)))
      // A generation that a power cut brings back would lack what was removed after it; keys that were erased must not come back.
      for (const changed of folders) await unlessMissing(() => syncFolder(changed))
    },
    close: async () => {}
  }
}
