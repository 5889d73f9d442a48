/**
 * A Maildir (cr.yp.to/proto/maildir.html): one file a message in `cur` and `new`, flags after `:2,` in the name. Subfolders
 * of Maildir++ (`.Sent`, `.Lists.Node`) go to mailboxes below the chosen one. Dovecot's `dovecot-keywords` names the
 * letters a … z. Files may be packed with gzip or zstd, as Dovecot's zlib plugin leaves them.
 *
 * The date: delivery writes the same second into the name and into the file's time; an IMAP server that files an older
 * message sets the file's time back; a copy has a later one. So the earlier of the two is the message's.
 */
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { decodeMailboxName } from '../imap/protocol/values/mailbox-name.js'
import { SyntaxFailure } from '../imap/protocol/syntax-failure.js'
import { readUnpacked } from './byte-source.js'
import { pathIn, readEntries, unreadableItem } from './folder-entries.js'
import { dateFromMs } from './import-item.js'
import { KEYWORD } from './mailbox-headers.js'

/** @typedef {import('./import-item.js').ImportItem} ImportItem */
/** @typedef {import('./import-item.js').ImportSource} ImportSource */
/**
 * @typedef {object} MaildirFile
 * @property {Buffer} path
 * @property {string} place - relative to the source
 * @property {string} name - of the file
 * @property {string[]} folder
 * @property {Map<string, string>} keywords - by letter
 *
 * @typedef {{ place: string, error: unknown }} UnreadableFolder
 */

/** @type {Record<string, string>} */
const FLAG_LETTERS = {
  D: '\\Draft',
  F: '\\Flagged',
  P: '$Forwarded',
  R: '\\Answered',
  S: '\\Seen',
  T: '\\Deleted'
}

/**
 * @param {string | Buffer} path
 * @returns {Promise<boolean>} whether the folder is a Maildir
 */
export async function isMaildir(path) {
  const names = await readdir(path)
  return names.includes('cur') && names.includes('new')
}

/**
 * @param {string} path
 * @returns {Promise<ImportSource>}
 * @throws what the file system throws
 */
export async function openMaildir(path) {
  const files = await listMaildir(path)
  /** @type {ImportSource} */
  const source = {
    name: basename(path),
    format: 'maildir',
    unit: 'messages',
    total: files.length,
    position: 0,
    ignoredCount: 0,
    async *items() {
      for (const file of files) {
        yield 'error' in file ? unreadableItem(file.place, file.error) : await maildirItem(file)
        source.position++
      }
    }
  }
  return source
}

/**
 * @param {MaildirFile} file
 * @returns {Promise<ImportItem>}
 */
async function maildirItem({ path, place, name, folder, keywords }) {
  // The name changes with the flags, and `new` becomes `cur` at the first look: only the part before the colon stays.
  const [unique = name, letters = ''] = name.split(/[:;!]2,/)
  const stats = await stat(path).catch(() => null)
  return {
    name: place,
    importKeyParts: [...folder, unique],
    folder,
    flags: flagsOf(letters, keywords),
    internalDate: dateFromMs(earliestMs(unique, stats?.mtimeMs)),
    fallbackDate: null,
    hasFromLine: true,
    sizeHint: stats && stats.size,
    open: () => readUnpacked(path)
  }
}

/**
 * @param {string} unique - `seconds.rest`
 * @param {number | undefined} mtimeMs
 * @returns {number} 0 when neither is known
 */
function earliestMs(unique, mtimeMs) {
  const nameMs = Number(/^(\d{8,11})\./.exec(unique)?.[1] ?? 0) * 1000
  const known = [nameMs, mtimeMs ?? 0].filter((ms) => ms > 0)
  return known.length === 0 ? 0 : Math.min(...known)
}

/**
 * @param {string} letters
 * @param {Map<string, string>} keywords
 * @returns {string[]}
 */
function flagsOf(letters, keywords) {
  return [...letters]
    .map((letter) => FLAG_LETTERS[letter] ?? keywords.get(letter))
    .filter((flag) => flag !== undefined)
}

/**
 * @param {string} root
 * @returns {Promise<(MaildirFile | UnreadableFolder)[]>} of the Maildir itself, then of its subfolders by name
 * @throws what the file system throws, where it is about the Maildir itself
 */
async function listMaildir(root) {
  /** @type {(MaildirFile | UnreadableFolder)[]} */
  const files = await listFolder(root, { place: '', folder: [] })
  const entries = await readEntries(root)
  const subfolders = entries.filter(({ name, isFolder }) => isFolder && /^\.[^.]/.test(name))
  for (const { name, path } of subfolders.sort(byName)) {
    try {
      if (!(await isMaildir(path))) continue
      const found = await listFolder(path, { place: `${name}/`, folder: decodeFolder(name) })
      for (const file of found) files.push(file)
    } catch (error) {
      files.push({ place: name, error })
    }
  }
  return files
}

/**
 * @param {string | Buffer} path
 * @param {{ place: string, folder: string[] }} where - `place`: before the places of its files
 * @returns {Promise<MaildirFile[]>} in the order of arrival, as far as the names tell it
 */
async function listFolder(path, { place, folder }) {
  const keywords = await readKeywords(path)
  /** @type {MaildirFile[]} */
  const files = []
  for (const part of ['cur', 'new']) {
    for (const entry of await readEntries(pathIn(path, part))) {
      const { name } = entry
      if (entry.isFolder || name.startsWith('.')) continue
      files.push({ path: entry.path, place: `${place}${part}/${name}`, name, folder, keywords })
    }
  }
  return files.sort(byName)
}

/**
 * @param {{ name: string }} left
 * @param {{ name: string }} right
 * @returns {number}
 */
const byName = (left, right) => (left.name < right.name ? -1 : 1)

/**
 * @param {string} name - `.Lists.Node`, in modified UTF-7
 * @returns {string[]}
 */
function decodeFolder(name) {
  return name
    .slice(1)
    .split('.')
    .filter((part) => part !== '')
    .map(decodePart)
}

/**
 * @param {string} part
 * @returns {string} as it stands when it is no modified UTF-7
 */
function decodePart(part) {
  try {
    return decodeMailboxName(Buffer.from(part), { isUtf8: false })
  } catch (error) {
    if (error instanceof SyntaxFailure) return part
    throw error
  }
}

/**
 * @param {string | Buffer} folder
 * @returns {Promise<Map<string, string>>} keyword by letter; what cannot be a keyword in IMAP is none
 */
async function readKeywords(folder) {
  const text = await readFile(pathIn(folder, 'dovecot-keywords'), 'latin1').catch(() => '')
  const lines = [...text.matchAll(/^(\d{1,2}) (\S+)$/gm)]
  return new Map(
    lines
      .map(([, index, name = '']) => /** @type {const} */ ([Number(index), name]))
      .filter(([, name]) => KEYWORD.test(name))
      .map(([index, name]) => [String.fromCharCode(97 + index), name])
  )
}
