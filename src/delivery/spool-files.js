/**
 * File-system calls of the spool, with their failures as this program's errors.
 */

import { mkdir, opendir, readdir, stat, unlink } from 'node:fs/promises'
import { dirname } from 'node:path'
import { MailError } from '../errors.js'
import { isThereSync } from '../support/is-there.js'
import { syncFolder } from '../support/write-file.js'

/** The folder within a spool for files that are being written. */
export const TEMPORARY_FOLDER = 'tmp'

const FULL_DISK_CODES = new Set(['ENOSPC', 'EDQUOT'])
/** Codes of errors that are about one file; other trouble (no descriptors left, a file that went away) passes. */
const UNREADABLE_CODES = new Set(['EIO', 'EACCES', 'EPERM', 'EISDIR', 'ELOOP'])

/** @param {string} folder */
export async function makeFolder(folder) {
  try {
    await mkdir(folder, { mode: 0o700 })
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    throw error
  }
  await syncFolder(dirname(folder))
}

/** @param {string} folder */
export async function readFolder(folder) {
  try {
    return await readdir(folder)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return []
    throw error
  }
}

/**
 * @param {string} folder
 * @param {number} bufferSize - so many entries are read at a time
 */
export async function openFolderIfThere(folder, bufferSize) {
  try {
    return await opendir(folder, { bufferSize })
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/** @param {string} path */
export async function statIfThere(path) {
  try {
    return await stat(path)
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw error
  }
}

/**
 * @param {string} path
 * @returns {boolean} whether there is no file at the path
 * @throws {MailError} OVERLOADED where the file system does not tell: not BUSY, which the transaction that asks would wait out
 */
export function isGone(path) {
  try {
    return !isThereSync(path)
  } catch (cause) {
    throw new MailError('OVERLOADED', { detail: `spool: ${codeOf(cause)}`, cause })
  }
}

/** @param {string} path */
export async function removeIfThere(path) {
  try {
    await unlink(path)
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') throw error
  }
}

/**
 * @template T
 * @param {() => Promise<T>} work - on files
 * @returns {Promise<T>}
 */
export async function asMailError(work) {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof MailError) throw cause
    const code = FULL_DISK_CODES.has(codeOf(cause)) ? 'DISK_FULL' : 'NOT_DURABLE'
    throw new MailError(code, { detail: `spool: ${codeOf(cause)}`, cause })
  }
}

/**
 * @template T
 * @param {() => Promise<T>} work - that reads one file
 * @returns {Promise<T>}
 */
export async function asReadError(work) {
  try {
    return await work()
  } catch (cause) {
    const code = UNREADABLE_CODES.has(codeOf(cause)) ? 'UNSEAL_FAILED' : 'BUSY'
    throw new MailError(code, { detail: `spool: ${codeOf(cause)}`, cause })
  }
}

/** @param {unknown} error */
export function codeOf(error) {
  return String(/** @type {{ code?: unknown } | null} */ (error)?.code ?? 'unknown')
}
