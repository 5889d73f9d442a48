/**
 * The entries of a folder. Names of files are bytes and need not be UTF-8 (those of archives that came from Windows often are
 * not): a path made of such a name's text would name no file, so paths stay bytes here.
 */
import { Buffer, isUtf8 } from 'node:buffer'
import { readdir } from 'node:fs/promises'

/**
 * @typedef {object} FolderEntry
 * @property {string} name - for people and for keys
 * @property {Buffer} path
 * @property {boolean} isFolder - false for a link to a folder
 * @property {boolean} isLink
 */

/** So many files are read ahead while the message before them is stored: one at a time, each would wait for the disk alone. */
export const FILES_AHEAD = 8

const SEPARATOR = Buffer.from('/')

/**
 * @param {string | Buffer} folder
 * @returns {Promise<FolderEntry[]>}
 * @throws what the file system throws
 */
export async function readEntries(folder) {
  const entries = await readdir(folder, { withFileTypes: true, encoding: 'buffer' })
  return entries.map((entry) => ({
    name: entry.name.toString(isUtf8(entry.name) ? 'utf8' : 'latin1'),
    path: pathIn(folder, entry.name),
    isFolder: entry.isDirectory(),
    isLink: entry.isSymbolicLink()
  }))
}

/**
 * @param {string | Buffer} folder
 * @param {string | Buffer} name
 * @returns {Buffer}
 */
function pathIn(folder, name) {
  return Buffer.concat([Buffer.from(folder), SEPARATOR, Buffer.from(name)])
}

/**
 * @param {string} place - of a folder that cannot be read, for the report
 * @param {unknown} error - why
 * @returns {import('./import-item.js').ImportItem} which fails when it is read: one such folder keeps no other back
 */
export function unreadableItem(place, error) {
  return {
    name: place,
    importKeyParts: [place],
    folder: [],
    flags: [],
    internalDate: null,
    fallbackDate: null,
    hasFromLine: false,
    sizeHint: null,
    async *open() {
      throw error
    }
  }
}

/** @returns {Error} left out without a word, a whole mailbox would be missed; followed, it might be somebody else's, or lead in a circle */
export const linkError = () => new Error('a link to a folder; import what it leads to by itself')
