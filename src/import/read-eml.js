/**
 * Messages as loose files. A file's time cannot be trusted (that of a copy is the day of copying): an mbox line or the Date
 * header comes first, the file's time last. A file may be packed.
 */
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { MailError } from '../errors.js'
import { isAppleDouble } from './apple-double.js'
import { readAhead } from './byte-source.js'
import { dateFromMs } from './import-item.js'

/** @typedef {import('./import-item.js').ImportItem} ImportItem */
/** @typedef {import('./import-item.js').ImportSource} ImportSource */

/**
 * @typedef {object} EmlFile
 * @property {string | Buffer} path
 * @property {string} place - relative to the source
 */

/**
 * @param {string} path - one message
 * @param {(file: EmlFile) => Promise<ImportItem>} [itemOf]
 * @returns {ImportSource}
 */
export function openEmlFile(path, itemOf = emlItem) {
  const place = basename(path)
  /** @type {ImportSource} */
  const source = {
    name: place,
    format: 'eml',
    unit: 'messages',
    total: 1,
    position: 0,
    ignoredCount: 0,
    async *items() {
      yield await itemOf({ path, place })
      source.position++
    }
  }
  return source
}

/**
 * To be called where a source had no message: files that are none may be mail in a form that this reader does not know, and to
 * import nothing of it is no success.
 *
 * @param {number} ignoredCount - files beside the messages, of which there were none
 * @throws {MailError} FORMAT_UNKNOWN
 */
export function requireMessages(ignoredCount) {
  if (ignoredCount > 0) throw new MailError('FORMAT_UNKNOWN', { detail: 'no message in it' })
}

/**
 * @param {EmlFile & { folder?: string[], flags?: string[] }} file - `folder`: below the chosen mailbox
 * @returns {Promise<ImportItem>}
 */
export async function emlItem({ path, place, folder = [], flags = [] }) {
  // A file that cannot be read is this message's failure, not the run's: open() tells it.
  const stats = await stat(path).catch(() => null)
  return {
    name: place,
    importKeyParts: place.split('/'),
    folder,
    flags,
    internalDate: null,
    fallbackDate: stats && dateFromMs(stats.mtimeMs),
    hasFromLine: true,
    sizeHint: stats && stats.size,
    open: await readAhead(path, stats)
  }
}

/**
 * @param {string} name - of a file, or its path
 * @returns {boolean} whether it is taken for a message
 */
export function isEmlName(name) {
  return /\.eml$/i.test(name) && !isAppleDouble(name)
}
