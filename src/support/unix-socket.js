/**
 * Unix sockets that stand for a service: what a killed process has left is removed, and who may connect is set.
 */
import { once } from 'node:events'
import { chmod, chown, lstat, readFile, readdir, rm, stat } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { dirname, join } from 'node:path'
import { MailError } from '../errors.js'

/** Longest path of a unix socket, bytes (sun_path less its NUL). */
const MAX_PATH_BYTES = 107

/** Stands for "do not change" in chown(2). */
const UNCHANGED = -1

/**
 * Removes the socket that a killed process has left.
 *
 * @param {string} path
 * @throws {MailError} CONFIG_INVALID where it is somebody's file: listening would say that another program listens there
 */
export async function removeStaleSocket(path) {
  try {
    if (!(await lstat(path)).isSocket())
      throw new MailError('CONFIG_INVALID', { detail: `${path} is no socket, and stays as it is` })
    // A socket that answers belongs to the other workers, which share it; and so may one that does not answer just now.
    if (await isAbandoned(path)) await rm(path)
  } catch (error) {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error
  }
}

/** A socket younger than this, ms, may be bound only: it answers nobody until its process listens, a moment later. */
const BINDING_MS = 60_000

/**
 * @param {string} folder - of sockets that processes of this program make
 * @param {number} nowMs - wall clock
 * @returns {Promise<number>} sockets of processes that are gone which were removed
 */
export async function removeAbandonedSockets(folder, nowMs) {
  let removed = 0
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    if (!entry.isSocket()) continue
    const path = join(folder, entry.name)
    try {
      const { mtimeMs } = await lstat(path)
      if (Math.abs(nowMs - mtimeMs) < BINDING_MS || !(await isAbandoned(path))) continue
      await rm(path)
      removed++
    } catch (error) {
      // ENOENT: its own process, or another one that cleans up, was faster.
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'ENOENT') throw error
    }
  }
  return removed
}

/**
 * Listening where the folder is missing fails with EACCES, which sends whoever reads it to look at permissions.
 *
 * @param {string} setting - that names the socket
 * @param {string} path - of the socket
 * @throws {MailError} CONFIG_INVALID where there is no such folder
 */
export async function requireFolderOf(setting, path) {
  const folder = dirname(path)
  const found = await stat(folder).catch((/** @type {NodeJS.ErrnoException} */ error) => {
    // Listening itself says what else is wrong with the folder.
    if (error.code !== 'ENOENT' && error.code !== 'ENOTDIR') return null
    throw new MailError('CONFIG_INVALID', {
      detail: `${setting}: there is no folder ${folder}`,
      cause: error
    })
  })
  if (found?.isDirectory() === false)
    throw new MailError('CONFIG_INVALID', { detail: `${setting}: ${folder} is no folder` })
}

/**
 * @param {string} path - of a socket within the data folder
 * @throws {MailError} CONFIG_INVALID where the system takes no path of that length
 */
export function requireShortPath(path) {
  if (Buffer.byteLength(path) <= MAX_PATH_BYTES) return
  throw new MailError('CONFIG_INVALID', {
    detail: `the data folder's path is too long for a socket: ${path}`
  })
}

/**
 * @param {string} path - of a unix socket
 * @returns {Promise<boolean>} whether nobody listens there any more
 */
async function isAbandoned(path) {
  const socket = createConnection({ path })
  try {
    await once(socket, 'connect')
    return false
  } catch (error) {
    return /** @type {NodeJS.ErrnoException} */ (error).code === 'ECONNREFUSED'
  } finally {
    socket.destroy()
  }
}

/**
 * @param {string} path - of a socket that is bound
 * @param {{ mode: number, group: number | null }} access - `group` null: as the folder and the process have made it
 */
export async function setSocketAccess(path, { mode, group }) {
  if (group !== null) await chown(path, UNCHANGED, group)
  await chmod(path, mode)
}

/**
 * Node cannot ask the system's name services; a group that is not in the file is given as a number.
 *
 * @param {string} group - a name, a number, or empty
 * @param {string} [file] - for tests
 * @returns {Promise<number | null>} null for empty
 * @throws {MailError} CONFIG_INVALID where there is no such group
 */
export async function groupNumber(group, file = '/etc/group') {
  if (group === '') return null
  if (/^\d{1,10}$/.test(group)) return Number(group)
  for (const line of (await readFile(file, 'utf8')).split('\n')) {
    const [name, , number] = line.split(':')
    if (name === group) return Number(number)
  }
  throw new MailError('CONFIG_INVALID', { detail: `there is no group ${group} in ${file}` })
}
