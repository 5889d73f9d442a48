/**
 * A Maildir (cr.yp.to/proto/maildir.html): one file a message in `cur` and `new`, flags after `:2,` in the name. Subfolders
 * of Maildir++ (`.Sent`, `.Lists.Node`) and of Dovecot's LAYOUT=fs (`Lists/Node`) go to mailboxes below the chosen one.
 * `cur` or `new` may be missing where it was empty: many ways to copy files leave empty folders out. Dovecot's
 * `dovecot-keywords` names the letters a … z. Files may be packed with gzip or zstd, as Dovecot's zlib plugin leaves them.
 *
 * The date: delivery writes the same second into the name and into the file's time; an IMAP server that files an older
 * message sets the file's time back; a copy has a later one. So the earlier of the two is the message's.
 *
 * Mail programs may be at work there: a file that has another name at its turn, because its flags have changed or it has gone
 * from `new` to `cur`, is found again, and one that is gone is no message any more.
 */
import { lstat, readFile, stat } from 'node:fs/promises'
import { basename } from 'node:path'
import { isKeyword } from '../imap/protocol/values/flag.js'
import { decodeMailboxName } from '../imap/protocol/values/mailbox-name.js'
import { SyntaxFailure } from '../imap/protocol/syntax-failure.js'
import { mapAhead } from '../support/map-ahead.js'
import { readAhead } from './byte-source.js'
import { FILES_AHEAD, linkError, readEntries, unreadableItem } from './folder-entries.js'
import { dateFromMs } from './import-item.js'
import { isEmlName } from './read-eml.js'
import { MBOX_ENDING } from './read-mbox.js'

/** @typedef {import('./folder-entries.js').FolderEntry} FolderEntry */
/** @typedef {import('./import-item.js').ImportItem} ImportItem */
/** @typedef {import('./import-item.js').ImportSource} ImportSource */
/**
 * @typedef {object} MaildirFile
 * @property {Buffer} path
 * @property {string} place - relative to the source
 * @property {string} name - of the file
 * @property {string[]} folder
 * @property {Map<string, string>} keywords - by letter
 * @property {NamesNow} namesNow - of its Maildir
 *
 * @typedef {{ place: string, error: unknown }} UnreadableFolder
 *
 * @typedef {object} Listing
 * @property {(MaildirFile | UnreadableFolder)[]} files
 * @property {number} ignoredCount - files that lie in no Maildir
 */

/** The folders of a Maildir that messages are in. */
const MESSAGE_FOLDERS = ['cur', 'new']

/** The folders that make a Maildir; folders of other names are mailboxes. */
const OWN_FOLDERS = [...MESSAGE_FOLDERS, 'tmp']

/** The name of a message's file: it begins with the second of the delivery, or has flags. */
const MESSAGE_NAME = /^\d{9,11}\.|[:;!]2,/

/**
 * @param {string} name - of a file
 * @returns {boolean} whether an export may have written it, and somebody packed it
 */
const isExported = (name) => isEmlName(name) || MBOX_ENDING.test(name)

/**
 * @param {string} place - of a file
 * @returns {boolean} whether it lies where a Maildir has its messages, and is called as they are
 */
export function isMaildirPlace(place) {
  const [part = '', name = ''] = place.split('/').slice(-2)
  return MESSAGE_FOLDERS.includes(part) && MESSAGE_NAME.test(name) && !isExported(name)
}

/** The mark that the flags stand behind. */
const FLAGS_AT = /[:;!]2,/

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
 * @returns {Promise<boolean>} whether the folder is a Maildir: `cur` and `new` may be folders of an export as well, called
 *   after mailboxes; where one of the two is missing, the files in the other tell it
 * @throws what the file system throws
 */
export async function isMaildir(path) {
  const parts = (await readEntries(path)).filter(({ name }) => MESSAGE_FOLDERS.includes(name))
  /** @type {string[]} */
  const places = []
  let hasFolders = false
  for (const part of parts) {
    for (const { name, isFolder } of await readEntries(part.path).catch(() => [])) {
      if (isFolder) hasFolders = true
      else if (!name.startsWith('.')) places.push(`${part.name}/${name}`)
    }
  }
  if (parts.length < MESSAGE_FOLDERS.length) return places.some(isMaildirPlace)
  return places.length === 0 ? !hasFolders : places.some((place) => !isExported(place))
}

/**
 * @param {string} path
 * @returns {Promise<ImportSource>}
 * @throws what the file system throws
 */
export async function openMaildir(path) {
  const { files, ignoredCount } = await listMaildir(path)
  /** @type {ImportSource} */
  const source = {
    name: basename(path),
    format: 'maildir',
    unit: 'messages',
    total: files.length,
    position: 0,
    ignoredCount,
    async *items() {
      for await (const item of mapAhead(files, itemOf, { ahead: () => FILES_AHEAD })) {
        if (item) yield item
        source.position++
      }
    }
  }
  return source
}

/**
 * @param {MaildirFile | UnreadableFolder} file
 * @returns {Promise<ImportItem | null>} null where it is gone
 */
const itemOf = async (file) =>
  'error' in file ? unreadableItem(file.place, file.error) : await maildirItem(file)

/**
 * @param {MaildirFile} file
 * @returns {Promise<ImportItem | null>} null where it is gone
 */
async function maildirItem({ path: listedPath, place, name: listedName, namesNow, ...where }) {
  const { folder, keywords } = where
  const unique = uniqueOf(listedName)
  let path = listedPath
  let name = listedName
  let stats = await statIfThere(path)
  while (stats === null) {
    const found = await namesNow.find(unique)
    if (!found) return null
    ;({ path, name } = found)
    stats = await statIfThere(path)
  }
  const [, letters = ''] = name.split(FLAGS_AT)
  return {
    name: place,
    importKeyParts: [...folder, unique],
    folder,
    flags: flagsOf(letters, keywords),
    internalDate: dateFromMs(earliestMs(unique, stats?.mtimeMs)),
    fallbackDate: null,
    hasFromLine: true,
    sizeHint: stats?.size ?? null,
    open: await readAhead(path, stats)
  }
}

/**
 * @param {Buffer} path
 * @returns {Promise<import('node:fs').Stats | undefined | null>} null where nothing is there; undefined where that cannot be
 *   told: reading it tells why
 */
async function statIfThere(path) {
  try {
    return await stat(path)
  } catch (error) {
    const isGone = /** @type {NodeJS.ErrnoException} */ (error).code === 'ENOENT'
    // A link that leads nowhere is not gone.
    return isGone && !(await lstat(path).catch(() => null)) ? null : undefined
  }
}

/**
 * A file's name changes with the flags, and its folder from `new` to `cur` at the first look: only the part before the colon
 * stays.
 *
 * @param {string} name - of a file
 * @returns {string}
 */
const uniqueOf = (name) => name.split(FLAGS_AT, 1)[0] ?? name

/** The present names of the files of one Maildir: read when a file is not where it was, and again when it is not there either. */
class NamesNow {
  #root
  /** @type {Map<string, FolderEntry>} by unique part: the files that `find` has not given since */
  #entries = new Map()

  /** @param {string | Buffer} root */
  constructor(root) {
    this.#root = root
  }

  /**
   * @param {string} unique
   * @returns {Promise<FolderEntry | undefined>} the file as it is called now; undefined where it is gone
   */
  async find(unique) {
    if (!this.#entries.has(unique)) await this.#read()
    const entry = this.#entries.get(unique)
    this.#entries.delete(unique)
    return entry
  }

  async #read() {
    const parts = partsOf(await readEntries(this.#root).catch(() => []))
    const entries = new Map()
    for (const { path } of parts) {
      for (const entry of await readEntries(path).catch(() => []))
        entries.set(uniqueOf(entry.name), entry)
    }
    // Replaced as a whole: meanwhile, other files that are read ahead may be looked for.
    this.#entries = entries
  }
}

/**
 * @param {string} unique - `seconds.rest`
 * @param {number | undefined} mtimeMs
 * @returns {number} the earlier of the two times; 0 when neither is known
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
 * @returns {Promise<Listing>} of the Maildir itself, then of its subfolders by name
 * @throws what the file system throws about the Maildir itself
 */
async function listMaildir(root) {
  /** @type {Listing} */
  const listing = { files: [], ignoredCount: 0 }
  await listFolder(root, { place: '', folder: [] }, listing)
  return listing
}

/**
 * @param {string | Buffer} path
 * @param {{ place: string, folder: string[] }} where - `place`: before the places of its files
 * @param {Listing} listing - grows: by its messages in the order of arrival, as far as the names tell it, and by those of its
 *   subfolders, at any depth
 */
async function listFolder(path, { place, folder }, listing) {
  const entries = await readEntries(path)
  const parts = partsOf(entries)
  const keywords = await readKeywords(entries)
  const namesNow = new NamesNow(path)
  /** @type {MaildirFile[]} */
  const files = []
  for (const part of parts) {
    for (const { name, path: filePath, isFolder } of await readEntries(part.path)) {
      if (isFolder || name.startsWith('.')) continue
      const filePlace = `${place}${part.name}/${name}`
      files.push({ path: filePath, place: filePlace, name, folder, keywords, namesNow })
    }
  }
  for (const file of files.sort(byName)) listing.files.push(file)
  // Files beside `cur` and `new` are those of mail programs, and are not counted.
  if (parts.length === 0) listing.ignoredCount += entries.filter((entry) => !entry.isFolder).length
  for (const { name, path: linkPath, isLink } of entries) {
    if (!isLink || OWN_FOLDERS.includes(name)) continue
    const isFolder = (await stat(linkPath).catch(() => null))?.isDirectory()
    if (isFolder) listing.files.push({ place: `${place}${name}`, error: linkError() })
  }
  const below = entries.filter(({ name, isFolder }) => isFolder && !OWN_FOLDERS.includes(name))
  for (const { name, path: pathBelow } of below.sort(byName)) {
    const where = { place: `${place}${name}/`, folder: [...folder, ...levelsOf(name)] }
    await listFolder(pathBelow, where, listing).catch((error) => {
      listing.files.push({ place: `${place}${name}`, error })
    })
  }
}

/**
 * @param {FolderEntry[]} entries - of a Maildir
 * @returns {FolderEntry[]} `new` before `cur`: the other way round, a message that goes to `cur` meanwhile would be missed
 */
const partsOf = (entries) =>
  entries
    .filter(({ name }) => MESSAGE_FOLDERS.includes(name))
    .sort(byName)
    .reverse()

/**
 * @param {{ name: string }} left
 * @param {{ name: string }} right
 * @returns {number}
 */
const byName = (left, right) => (left.name < right.name ? -1 : 1)

/**
 * @param {string} name - of a subfolder, in modified UTF-7: `.Lists.Node`, or one level as LAYOUT=fs has it
 * @returns {string[]}
 */
function levelsOf(name) {
  const parts = name.startsWith('.') ? name.split('.') : [name]
  return parts.filter((part) => part !== '').map(decodePart)
}

/**
 * @param {string} part
 * @returns {string} the decoded part; the part as it stands when it is no modified UTF-7
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
 * @param {FolderEntry[]} entries - of a folder
 * @returns {Promise<Map<string, string>>} keyword by letter; what cannot be a keyword in IMAP is none
 */
async function readKeywords(entries) {
  const entry = entries.find(({ name }) => name === 'dovecot-keywords')
  const isFile = entry && (await stat(entry.path).catch(() => null))?.isFile()
  const text = isFile ? await readFile(entry.path, 'latin1').catch(() => '') : ''
  const lines = [...text.matchAll(/^(\d{1,2}) (\S+)$/gm)]
  return new Map(
    lines
      .map(([, index, name = '']) => /** @type {const} */ ([Number(index), name]))
      .filter(([, name]) => isKeyword(name))
      .map(([index, name]) => [String.fromCharCode(97 + index), name])
  )
}
