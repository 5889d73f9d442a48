/**
 * A file that the system does not let this user have, in a sentence: which one, and whose it is.
 */
import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { errorCodeOf } from '../database/sqlite-error.js'
import { isMailError } from '../errors.js'

const REFUSALS = new Set(['EACCES', 'EPERM', 'EROFS'])

/** A folder cannot be made where a file has its name, or its parent takes nothing, as an automount whose server is away. */
const UNMADE = new Set(['EEXIST', 'ENOENT'])

/**
 * @param {string} path
 * @returns {{ path: string, uid: number, mode: string }} those of the file, or of the nearest folder above it that can be
 *   looked at
 */
function ownerOf(path) {
  try {
    const { uid, mode } = statSync(path)
    return { path, uid, mode: (mode & 0o777).toString(8) }
  } catch (error) {
    const parent = dirname(path)
    if (parent === path) throw error
    return ownerOf(parent)
  }
}

/**
 * @param {unknown} fault
 * @returns {{ path: string | undefined, syscall: string | undefined }} which file or socket the error is about, and which call
 */
function placeOf(fault) {
  const { path, syscall, address } = /** @type {NodeJS.ErrnoException & { address?: string }} */ (
    fault ?? {}
  )
  // Node has the path of a socket as `address`, which it uses for hosts as well.
  return { path: path ?? (address?.startsWith('/') ? address : undefined), syscall }
}

/**
 * @param {unknown} error
 * @returns {string | null} null where it is about anything else
 */
export function explainRefusedFile(error) {
  const isWrapped = isMailError(error, 'NOT_DURABLE') || isMailError(error, 'FILE_REFUSED')
  const fault = isWrapped ? error.cause : error
  const code = errorCodeOf(fault)
  // SQLite does not say which file it was.
  if (isMailError(error, 'ACCOUNT_DAMAGED') && error.detail?.startsWith('SQLITE_CANTOPEN'))
    return 'A file of the data folder cannot be opened: see what letterlock doctor says of permissions'
  const { path, syscall } = placeOf(fault)
  if (code === 'ENOTDIR' && path !== undefined)
    return `There is no ${path}: what should be a folder above it is a file (ENOTDIR)`
  if (code === 'ELOOP' && path !== undefined)
    return `${path} cannot be looked at: a symbolic link there leads back to itself (ELOOP)`
  if (UNMADE.has(code) && syscall === 'mkdir' && path !== undefined)
    return `The folder ${path} cannot be made (${code})`
  if (!REFUSALS.has(code) || path === undefined) return null
  if (code === 'EROFS') return `${path} cannot be written: the file system is read-only (EROFS)`
  const uid = process.getuid?.()
  const owner = ownerOf(path)
  if (owner.uid === uid)
    return `${path} cannot be opened (${code}): ${owner.path} is this user’s, with mode ${owner.mode}`
  const whose = `${owner.path === path ? 'it' : owner.path} belongs to user ${owner.uid}`
  return `${path} cannot be opened (${code}): ${whose}, and this runs as user ${uid}`
}
