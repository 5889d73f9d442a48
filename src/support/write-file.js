/**
 * Files that must be whole or absent after a power cut.
 */
import { closeSync, fsync, openSync } from 'node:fs'
import { open, readdir, rename, mkdir, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { promisify } from 'node:util'

const syncWhole = promisify(fsync)

/**
 * Makes a folder's entries durable: which files it has, and under which names.
 *
 * @param {string} folder
 * @param {(descriptor: number) => Promise<void>} [sync] - fsync
 */
export async function syncFolder(folder, sync = syncWhole) {
  // Opened and closed synchronously: for a folder that was just written to, neither waits for the disk.
  const descriptor = openSync(folder, 'r')
  try {
    await sync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/**
 * Makes a folder, and those above it that are missing. What is synced in it later would be gone with its own name, or with that
 * of a folder above it.
 *
 * @param {string} folder
 * @returns {Promise<void>} when the names of all that were made are durable
 */
export async function makeFolderDurably(folder) {
  const path = resolve(folder)
  const above = dirname(path)
  let isNew
  try {
    isNew = await makeFolder(path)
  } catch (error) {
    const { code } = /** @type {NodeJS.ErrnoException} */ (error)
    if (code !== 'ENOENT') throw error
    // Tried once more, and no oftener: where the folder above is there and takes nothing, as an automount whose server is away,
    // Node's own recursion tries for ever. Or somebody else has just made the folder.
    await makeFolderDurably(above)
    isNew = await makeFolder(path)
  }
  if (isNew) await syncFolder(above)
}

/**
 * @param {string} path
 * @returns {Promise<boolean>} false where it was there
 */
async function makeFolder(path) {
  try {
    await mkdir(path, { mode: 0o700 })
    return true
  } catch (error) {
    const found = await stat(path).catch(() => null)
    if (found?.isDirectory()) return false
    throw error
  }
}

/**
 * Makes a whole tree that others have written durable: every file, and every name.
 *
 * @param {string} folder
 */
export async function syncTree(folder) {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) await syncTree(path)
    else await syncFile(path)
  }
  await syncFolder(folder)
}

/** @param {string} path - of a file that others have written, and closed */
export async function syncFile(path) {
  const handle = await open(path, 'r')
  await handle.sync().finally(() => handle.close())
}

/** What a file is called while it is written. */
const UNFINISHED = /\.\d+\.tmp$/

/**
 * @param {string} name - of a file
 * @returns {string | null} the file that was to become of it; null where it is no file that `writeFileDurably` had not
 *   finished when its process was killed
 */
export const unfinishedFile = (name) =>
  UNFINISHED.test(name) ? name.replace(UNFINISHED, '') : null

/**
 * Writes beside the file, syncs, renames over it, and syncs the folder.
 *
 * @param {string} path
 * @param {string | Buffer} content
 * @param {{ mode?: number }} [options] - 0600 unless told
 */
export async function writeFileDurably(path, content, { mode = 0o600 } = {}) {
  await makeFolderDurably(dirname(path))
  const temporary = `${path}.${process.pid}.tmp`
  try {
    const handle = await open(temporary, 'w', mode)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, path)
  } catch (error) {
    // Each start on a full disk would leave another. Where this fails too, the first error says why.
    await rm(temporary, { force: true }).catch(() => {})
    throw error
  }
  await syncFolder(dirname(path))
}
