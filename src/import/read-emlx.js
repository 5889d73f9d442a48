/**
 * A message as Apple Mail keeps it:
 *
 *     1234              the length of the message in bytes, in decimal
 *     From: …           the message
 *     <?xml …           a property list: flags, and when it was received
 *
 * Apple Mail may keep the attachments of a message in files beside it, and the rest in `N.partial.emlx`.
 */
import { constants, createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { isAppleDouble } from './apple-double.js'
import { requireFile } from './byte-source.js'
import { unreadableItem } from './folder-entries.js'
import { dateFromMs } from './import-item.js'

/** @typedef {import('./import-item.js').ImportItem} ImportItem */

const FIRST_LINE = /^(\d{1,12})[ \t]*\r?\n/
const FIRST_LINE_BYTES = 64

/** At most so many bytes of a property list are read: it has a few hundred, with the flags in them. */
const LIST_BYTES = 64 * 1024

/**
 * Bits of `flags`.
 *
 * @type {[number, string][]}
 */
const FLAG_BITS = [
  [1 << 0, '\\Seen'],
  [1 << 1, '\\Deleted'],
  [1 << 2, '\\Answered'],
  [1 << 4, '\\Flagged'],
  [1 << 6, '\\Draft'],
  [1 << 8, '$Forwarded'],
  [1 << 24, '$Junk']
]

/**
 * @param {string} name - of a file, or its path
 * @returns {boolean} whether it is taken for such a message
 */
export function isEmlxName(name) {
  return /\.emlx$/i.test(name) && !isAppleDouble(name)
}

/**
 * @param {object} file
 * @param {string | Buffer} file.path
 * @param {string} file.place - relative to the source
 * @param {string[]} [file.folder] - below the chosen mailbox
 * @returns {Promise<ImportItem>} which fails when it is read, where it is no whole message
 */
export async function emlxItem({ path, place, folder = [] }) {
  if (/\.partial\.emlx$/i.test(place))
    return unreadableItem(place, new Error('a part of a message: export the mailbox in Apple Mail'))
  try {
    const { start, bytes, list, mtimeMs } = await readFrame(path)
    return {
      name: place,
      importKeyParts: place.split('/'),
      folder,
      flags: flagsOf(list),
      internalDate: dateFromMs(numberOf(list, 'date-received') * 1000),
      fallbackDate: dateFromMs(mtimeMs),
      hasFromLine: false,
      sizeHint: bytes,
      async *open() {
        if (bytes > 0) yield* createReadStream(path, { start, end: start + bytes - 1 })
      }
    }
  } catch (error) {
    return unreadableItem(place, error)
  }
}

/**
 * @param {string | Buffer} path
 * @returns {Promise<{ start: number, bytes: number, list: string, mtimeMs: number }>} `start`, `bytes`: of the message
 * @throws {Error} where the file is no emlx; and what the file system throws
 */
async function readFrame(path) {
  // Without O_NONBLOCK, opening a named pipe would wait until somebody writes into it.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = await file.stat()
    requireFile(stats)
    const read = async (/** @type {number} */ at, /** @type {number} */ length) => {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(length), 0, length, at)
      return buffer.toString('latin1', 0, bytesRead)
    }
    const [line = '', digits] = FIRST_LINE.exec(await read(0, FIRST_LINE_BYTES)) ?? []
    if (digits === undefined) throw new Error('its first line is not the length of a message')
    const start = line.length
    const bytes = Number(digits)
    if (start + bytes > stats.size) throw new Error('its end is missing')
    const list = await read(start + bytes, Math.min(LIST_BYTES, stats.size - start - bytes))
    return { start, bytes, list, mtimeMs: stats.mtimeMs }
  } finally {
    await file.close()
  }
}

/**
 * @param {string} list
 * @returns {string[]}
 */
function flagsOf(list) {
  const bits = numberOf(list, 'flags')
  return FLAG_BITS.filter(([bit]) => (bits & bit) !== 0).map(([, flag]) => flag)
}

/**
 * @param {string} list
 * @param {string} key
 * @returns {number} 0 where it has none
 */
function numberOf(list, key) {
  const pattern = new RegExp(`<key>${key}</key>\\s*<(?:integer|real)>(\\d{1,15})`)
  return Number(pattern.exec(list)?.[1] ?? 0)
}
