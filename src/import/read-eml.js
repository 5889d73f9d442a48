/**
 * Messages as loose files: a folder with `.eml` files at any depth, or one such file. Links to folders are not followed,
 * so that a loop of them cannot be endless. The files carry no date of their own that could be trusted (a copy has
 * the day of copying): an mbox line or the Date header stands first, the file's time last. A file may be packed.
 */
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { MailError } from '../errors.js'
import { readUnpacked } from './byte-source.js'
import { readEntries, unreadableItem } from './folder-entries.js'
import { dateFromMs } from './import-item.js'

/** @typedef {import('./import-item.js').ImportItem} ImportItem */
/** @typedef {import('./import-item.js').ImportSource} ImportSource */

/**
 * @typedef {object} EmlFile
 * @property {string | Buffer} path
 * @property {string} place - relative to the source
 * @property {unknown} [error] - what kept a folder from being read
 */

/**
 * @param {string} path - a folder
 * @returns {Promise<ImportSource>}
 * @throws what the file system throws
 */
export async function openEmlFolder(path) {
  const found = await listFiles(path, '')
  const files = found.filter(({ place, error }) => error !== undefined || isEmlName(place))
  files.sort((left, right) => comparePlaces(left.place, right.place))
  const ignoredCount = found.length - files.length
  return emlSource({ path, files, ignoredCount, format: 'folder' })
}

/**
 * @param {string} path - one message
 * @returns {ImportSource}
 */
export function openEmlFile(path) {
  const files = [{ path, place: basename(path) }]
  return emlSource({ path, files, ignoredCount: 0, format: 'eml' })
}

/**
 * @param {{ path: string, files: EmlFile[], ignoredCount: number, format: 'folder' | 'eml' }} found
 * @returns {ImportSource}
 */
function emlSource({ path, files, ignoredCount, format }) {
  /** @type {ImportSource} */
  const source = {
    name: basename(path),
    format,
    unit: 'messages',
    total: files.length,
    position: 0,
    ignoredCount,
    async *items() {
      for (const file of files) {
        const { place, error } = file
        yield error === undefined ? await emlItem(file) : unreadableItem(place, error)
        source.position++
      }
      if (files.length === 0) requireMessages(ignoredCount)
    }
  }
  return source
}

/**
 * Where there are files and none is a message, the mail is in a form that this reader does not know: that nothing came in is no
 * success.
 *
 * @param {number} ignoredCount - files beside the messages, of which there were none
 * @throws {MailError} FORMAT_UNKNOWN
 */
export function requireMessages(ignoredCount) {
  if (ignoredCount > 0) throw new MailError('FORMAT_UNKNOWN', { detail: 'no message in it' })
}

/**
 * @param {EmlFile} file
 * @returns {Promise<ImportItem>}
 */
async function emlItem({ path, place }) {
  // A file that is not to be read is this message's failure, not the run's: open() tells it.
  const stats = await stat(path).catch(() => null)
  return {
    name: place,
    importKeyParts: place.split('/'),
    folder: [],
    flags: [],
    internalDate: null,
    fallbackDate: stats && dateFromMs(stats.mtimeMs),
    hasFromLine: true,
    sizeHint: stats && stats.size,
    open: () => readUnpacked(path)
  }
}

/**
 * @param {string | Buffer} folder
 * @param {string} place - of the folder, '' for the source itself
 * @returns {Promise<EmlFile[]>} at any depth
 * @throws what the file system throws, where it is the source itself
 */
async function listFiles(folder, place) {
  const files = []
  for (const { name, path, isFolder } of await readEntries(folder)) {
    const below = place === '' ? name : `${place}/${name}`
    if (!isFolder) files.push({ path, place: below })
    else {
      const found = await listFiles(path, below).catch((error) => [{ path, place: below, error }])
      // Not spread over the arguments of a call: there may be any number.
      for (const file of found) files.push(file)
    }
  }
  return files
}

/**
 * @param {string} name - of a file, or its path
 * @returns {boolean} whether it is taken for a message; `._1.eml` is what macOS keeps of `1.eml` beside it, in archives and on
 *   disks of other systems
 */
export function isEmlName(name) {
  return /\.eml$/i.test(name) && !/(^|\/)\._[^/]*$/.test(name)
}

/** `9.eml` stands before `10.eml`, the same on every machine. */
const comparePlaces = new Intl.Collator('en', { numeric: true }).compare
