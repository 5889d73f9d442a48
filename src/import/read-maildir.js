/**
 * A Maildir (cr.yp.to/proto/maildir.html): one file a message in `cur` and `new`, flags after `:2,` in the name. Subfolders
 * of Maildir++ (`.Sent`, `.Lists.Node`) go to mailboxes below the chosen one. Dovecot's `dovecot-keywords` names the
 * letters a … z.
 *
 * The date: delivery writes the same second into the name and into the file's time; an IMAP server that files an older
 * message sets the file's time back; a copy has a later one. So the earlier of the two is the message's.
 */
import { createReadStream } from 'node:fs'
import { readdir, readFile, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { decodeMailboxName } from '../imap/protocol/values/mailbox-name.js'
import { SyntaxFailure } from '../imap/protocol/syntax-failure.js'
import { dateFromMs } from './import-item.js'

/** @typedef {import('./import-item.js').ImportItem} ImportItem */
/** @typedef {import('./import-item.js').ImportSource} ImportSource */
/**
 * @typedef {object} MaildirFile
 * @property {string} path
 * @property {string} place - relative to the source
 * @property {string} name - of the file
 * @property {string[]} folder
 * @property {Map<string, string>} keywords - by letter
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
 * @param {string} path
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
  const subfolders = await listSubfolders(path)
  const files = await listFolder(path, '', [])
  for (const name of subfolders) files.push(...(await listFolder(path, name, decodeFolder(name))))
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
        yield await maildirItem(file)
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
    async *open() {
      yield* createReadStream(path)
    }
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
 * @returns {Promise<string[]>} names like `.Sent`
 */
async function listSubfolders(root) {
  const entries = await readdir(root, { withFileTypes: true })
  const names = []
  for (const entry of entries) {
    if (!entry.isDirectory() || !/^\.[^.]/.test(entry.name)) continue
    if (await isMaildir(join(root, entry.name))) names.push(entry.name)
  }
  return names.sort()
}

/**
 * @param {string} root
 * @param {string} subfolder - '' for the Maildir itself
 * @param {string[]} folder
 * @returns {Promise<MaildirFile[]>} in the order of arrival, as far as the names tell it
 */
async function listFolder(root, subfolder, folder) {
  const keywords = await readKeywords(join(root, subfolder))
  /** @type {MaildirFile[]} */
  const files = []
  for (const part of ['cur', 'new']) {
    const entries = await readdir(join(root, subfolder, part), { withFileTypes: true })
    for (const { name } of entries.filter((entry) => isMessage(entry))) {
      const place = join(subfolder, part, name)
      files.push({ path: join(root, place), place, name, folder, keywords })
    }
  }
  return files.sort((left, right) => (left.name < right.name ? -1 : 1))
}

/**
 * @param {import('node:fs').Dirent} entry
 * @returns {boolean}
 */
function isMessage(entry) {
  return !entry.isDirectory() && !entry.name.startsWith('.')
}

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
 * @param {string} folder
 * @returns {Promise<Map<string, string>>} keyword by letter
 */
async function readKeywords(folder) {
  const text = await readFile(join(folder, 'dovecot-keywords'), 'utf8').catch(() => '')
  const lines = text.matchAll(/^(\d{1,2}) (\S+)$/gm)
  return new Map(
    [...lines].map(([, index, name]) => [String.fromCharCode(97 + Number(index)), name ?? ''])
  )
}
