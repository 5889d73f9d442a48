/**
 * Messages as loose files: a folder with `.eml` files at any depth, or one such file. Links to folders are not followed,
 * so that a loop of them cannot be endless. The files carry no date of their own that could be trusted (a copy has
 * the day of copying): an mbox line or the Date header stands first, the file's time last.
 */
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, join, relative, sep } from 'node:path'
import { dateFromMs } from './import-item.js'

/** @typedef {import('./import-item.js').ImportItem} ImportItem */
/** @typedef {import('./import-item.js').ImportSource} ImportSource */

/**
 * @param {string} path - a folder
 * @returns {Promise<ImportSource>}
 * @throws what the file system throws
 */
export async function openEmlFolder(path) {
  const { files, ignoredCount } = await listEmlFiles(path)
  return emlSource({ path, files, ignoredCount, format: 'folder' })
}

/**
 * @param {string} path - one message
 * @returns {ImportSource}
 */
export function openEmlFile(path) {
  return emlSource({ path, files: [path], ignoredCount: 0, format: 'eml' })
}

/**
 * @param {{ path: string, files: string[], ignoredCount: number, format: 'folder' | 'eml' }} found
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
        yield await emlItem(file, format === 'eml' ? basename(file) : relative(path, file))
        source.position++
      }
    }
  }
  return source
}

/**
 * @param {string} file
 * @param {string} place - relative to the source
 * @returns {Promise<ImportItem>}
 */
async function emlItem(file, place) {
  // A file that is not to be read is this message's failure, not the run's: open() tells it.
  const stats = await stat(file).catch(() => null)
  return {
    name: place,
    importKeyParts: place.split(sep),
    folder: [],
    flags: [],
    internalDate: null,
    fallbackDate: stats && dateFromMs(stats.mtimeMs),
    hasFromLine: true,
    sizeHint: stats && stats.size,
    async *open() {
      yield* createReadStream(file)
    }
  }
}

/**
 * @param {string} root
 * @returns {Promise<{ files: string[], ignoredCount: number }>} in the order of their names
 */
async function listEmlFiles(root) {
  const entries = await readdir(root, { withFileTypes: true, recursive: true })
  const files = entries.filter((entry) => !entry.isDirectory())
  const wanted = files
    .filter(({ name }) => isEmlName(name))
    .map((entry) => join(entry.parentPath, entry.name))
  return { files: wanted.sort(comparePlaces), ignoredCount: files.length - wanted.length }
}

/**
 * @param {string} name
 * @returns {boolean} whether a file of this name is taken for a message
 */
export function isEmlName(name) {
  return /\.eml$/i.test(name)
}

/** `9.eml` stands before `10.eml`, the same on every machine. */
const comparePlaces = new Intl.Collator('en', { numeric: true }).compare
