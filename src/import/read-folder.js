/**
 * A folder with mail in it, at any depth. Loose messages go to the chosen mailbox; each mailbox there becomes one below it:
 *
 *     1.eml, sub/2.eml                          NAME
 *     Inbox, Inbox.sbd/2019                     NAME/Inbox, NAME/Inbox/2019: mboxes of Thunderbird
 *     Inbox/cur/1.eml, Inbox.sbd/2019/cur/2.eml the same, where it keeps a file per message
 *     Work.mbox/mbox, Work/Old.mbox/mbox        NAME/Work, NAME/Work/Old: as Apple Mail exports
 *     Work.mbox/…/Messages/1.emlx               NAME/Work: as Apple Mail keeps it
 *     Work.mbox, Work/Old.mbox                  NAME/Work, NAME/Work/Old: as our own export writes
 *     inbox/1, lists/node/2                     NAME/inbox, NAME/lists/node: folders of MH
 *
 * Where there is nothing but Maildirs (as mbsync keeps an account), the folder is read as a Maildir without messages of its own.
 * Beside other mail, Maildirs are reported, for they are read in another way.
 *
 * Links to folders are not followed, because they may form a loop. One that leads out of the folder is reported.
 */
import { realpath, stat } from 'node:fs/promises'
import { basename, sep } from 'node:path'
import { decodeUtf7, isExactUtf7 } from '../imap/protocol/values/modified-utf7.js'
import { mapAhead } from '../support/map-ahead.js'
import { readHead } from './byte-source.js'
import { FILES_AHEAD, linkError, readEntries, unreadableItem } from './folder-entries.js'
import { flagsFromHeader } from './mailbox-headers.js'
import { emlItem, isEmlName, requireMessages } from './read-eml.js'
import { emlxItem, isEmlxName } from './read-emlx.js'
import { isMaildirPlace, openMaildir } from './read-maildir.js'
import { isMhHead, isMhIndex, isMhMessageOfMbox, MhReader } from './read-mh.js'
import {
  HEADER_LOOK_BYTES,
  headerOf,
  isMboxHead,
  MBOX_ENDING,
  MBOX_HEAD_BYTES,
  openMbox
} from './read-mbox.js'

/** @typedef {import('./import-item.js').ImportItem} ImportItem */
/** @typedef {import('./import-item.js').ImportSource} ImportSource */
/** @typedef {import('./mbox-splitter.js').MboxQuoting} MboxQuoting */

/**
 * @typedef {object} FoundFile
 * @property {string | Buffer} path
 * @property {string} place - relative to the source
 * @property {unknown} [error] - why the file, or a folder, could not be read
 * @property {boolean} [isFolder] - whether the place is a folder, or a link to one
 *
 * @typedef {FoundFile & { kind: 'eml' | 'emlx' | 'mbox' | 'mh' | 'unreadable', bytes: number }} MailFile - 0 bytes where nobody has
 *   asked for them
 */

/** Endings of a folder that stands for a mailbox. */
const FOLDER_ENDING = /\.(sbd|mbox)$/i

/** The index that Thunderbird keeps beside an mbox. */
const INDEX = /\.msf$/i

/**
 * @param {string} path - a folder
 * @param {{ quoting: MboxQuoting }} options
 * @returns {Promise<ImportSource>}
 * @throws what the file system throws
 */
export async function openFolder(path, { quoting }) {
  const { files, ignoredCount, maildirs } = await findMail(path)
  // openMaildir reports folders that cannot be read by itself.
  const isAllMaildirs = files.every(({ isFolder }) => isFolder === true)
  if (isAllMaildirs && maildirs.length > 0) return await openMaildir(path)
  const error = new Error('a Maildir beside other mail; import it by itself')
  for (const place of maildirs) files.push({ path, place, error, kind: 'unreadable', bytes: 0 })
  // Progress is counted in bytes where there is an mbox, which may have any number of messages.
  const countsBytes = files.some(({ kind }) => kind === 'mbox')
  if (countsBytes) await addSizes(files)
  const mh = new MhReader()
  let done = 0
  /** @type {ImportSource | null} */
  let mbox = null
  return {
    name: basename(path),
    format: 'folder',
    unit: countsBytes ? 'bytes' : 'messages',
    total: countsBytes ? files.reduce((sum, { bytes }) => sum + bytes, 0) : files.length,
    ignoredCount,
    get position() {
      return done + (mbox?.position ?? 0)
    },
    async *items() {
      const begin = async (/** @type {MailFile} */ file) => ({ file, item: await itemOf(file, mh) })
      for await (const { file, item } of mapAhead(files, begin, { ahead: () => FILES_AHEAD })) {
        if (item === null) {
          try {
            mbox = await openMbox(file.path, { quoting, place: file.place })
            const folder = levelsOf(file.place, basename(path))
            for await (const message of mbox.items()) yield { ...message, folder }
          } catch (error) {
            yield unreadableItem(file.place, error)
          }
          mbox = null
        } else yield item
        done += countsBytes ? file.bytes : 1
      }
      if (files.length === 0) requireMessages(ignoredCount)
    }
  }
}

/**
 * @param {MailFile} file
 * @param {MhReader} mh
 * @returns {Promise<ImportItem | null>} null for an mbox, which is read when it is its turn
 */
async function itemOf({ kind, error, ...file }, mh) {
  if (kind === 'mbox') return null
  if (kind === 'eml') return await emlItem({ ...file, ...(await storedWith(file)) })
  if (kind === 'mh') return await mh.itemOf(file)
  if (kind === 'emlx') return await emlxItem({ ...file, folder: appleLevelsOf(file.place) })
  return unreadableItem(file.place, error)
}

/**
 * @param {FoundFile} file - an `.eml`
 * @returns {Promise<{ folder: string[], flags: string[] }>} the mailbox and flags of one that Thunderbird keeps, in `cur` or
 *   `new`; none of any other
 */
async function storedWith({ path, place }) {
  const folders = place.split('/').slice(0, -1)
  if (!/^(cur|new)$/.test(folders.pop() ?? '')) return { folder: [], flags: [] }
  // A file that cannot be read fails at its turn.
  const head = await readHead(path, HEADER_LOOK_BYTES).catch(() => Buffer.alloc(0))
  return {
    folder: folders.map((name) => levelOf(name, FOLDER_ENDING)),
    flags: flagsFromHeader(headerOf(head))
  }
}

/**
 * @param {string} root
 * @returns {Promise<{ files: MailFile[], ignoredCount: number, maildirs: string[] }>} in the order of their places; `maildirs`:
 *   places of the outermost
 * @throws what the file system throws about the root itself
 */
async function findMail(root) {
  /** @type {MailFile[]} */
  const files = []
  /** @type {Set<string>} */
  const maildirs = new Set()
  /** @type {Set<string>} */
  const mhFolders = new Set()
  let ignoredCount = 0
  const realRoot = await realpath(root)
  for (const found of await listFiles(root, '')) {
    const kind = await kindOf(found, realRoot)
    if (kind === 'mh' || isMhIndex(found.place)) mhFolders.add(folderOf(found.place))
    if (kind === 'maildir') maildirs.add(found.place.split('/').slice(0, -2).join('/'))
    else if (kind === 'other') ignoredCount++
    else if (kind !== 'empty') files.push({ ...found, kind, bytes: 0 })
  }
  for (const file of files) {
    if (file.kind !== 'mbox' || !mhFolders.has(folderOf(file.place))) continue
    // A file that cannot be read fails at its turn.
    if (await isMhMessageOfMbox(file).catch(() => false)) file.kind = 'mh'
  }
  files.sort((left, right) => comparePlaces(left.place, right.place))
  return { files, ignoredCount, maildirs: outermost(maildirs) }
}

/** @param {string} place - of a file */
const folderOf = (place) => place.slice(0, Math.max(0, place.lastIndexOf('/')))

/**
 * @param {ReadonlySet<string>} places - of folders
 * @returns {string[]} those that lie in none of the others
 */
const outermost = (places) =>
  [...places]
    .filter(
      (place) =>
        !place.split('/').some((_, at, names) => at > 0 && places.has(names.slice(0, at).join('/')))
    )
    .sort(comparePlaces)

/** @param {MailFile[]} files - get the sizes that they have now */
async function addSizes(files) {
  for (const file of files) {
    if (file.kind !== 'unreadable') file.bytes = (await statIfThere(file.path))?.size ?? 0
  }
}

/**
 * @param {FoundFile} file - gets an `error` where it turns out that it cannot be read
 * @param {string} realRoot - of the folder that is imported
 * @returns {Promise<MailFile['kind'] | 'maildir' | 'empty' | 'other'>} `maildir`: a message of one; `empty`: what stands for a
 *   mailbox without messages, or belongs to one
 */
async function kindOf(file, realRoot) {
  if (file.error !== undefined) return 'unreadable'
  if (isEmlName(file.place)) return 'eml'
  if (isEmlxName(file.place)) return 'emlx'
  if (isMaildirPlace(file.place)) return 'maildir'
  const stats = await statIfThere(file.path)
  if (stats?.isDirectory()) {
    // A link to a folder within the source is passed over: that folder's mail comes in anyway. The folder may have gone since.
    const target = await realpath(file.path).catch(() => '')
    if (`${target}${sep}`.startsWith(`${realRoot}${sep}`)) return 'other'
    file.error = linkError()
    file.isFolder = true
    return 'unreadable'
  }
  if (!stats?.isFile()) return 'other'
  if (stats.size === 0 || INDEX.test(file.place) || isMhIndex(file.place)) return 'empty'
  try {
    const head = await readHead(file.path, MBOX_HEAD_BYTES)
    if (isMboxHead(file.place, head)) return 'mbox'
    return isMhHead(file.place, head) ? 'mh' : 'other'
  } catch (error) {
    // A file that we may not read may have mail in it; one that is packed otherwise, or badly, is taken for something else.
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EACCES') return 'other'
    file.error = error
    return 'unreadable'
  }
}

/**
 * @param {string | Buffer} path
 * @returns {Promise<import('node:fs').Stats | null>}
 */
const statIfThere = (path) => stat(path).catch(() => null)

/**
 * @param {string} place - of an mbox
 * @param {string} root - name of the folder that is imported
 * @returns {string[]} the mailbox below the chosen one
 */
function levelsOf(place, root) {
  const folders = place.split('/')
  const file = folders.pop() ?? ''
  const isInside = file === 'mbox' && FOLDER_ENDING.test(folders.at(-1) ?? root)
  return [
    ...folders.map((name) => levelOf(name, FOLDER_ENDING)),
    ...(isInside ? [] : [levelOf(file, MBOX_ENDING)])
  ]
}

/**
 * @param {string} place - of a message of Apple Mail, whose mailboxes have other folders in them
 * @returns {string[]} the mailbox below the chosen one
 */
const appleLevelsOf = (place) =>
  place
    .split('/')
    .filter((name) => FOLDER_ENDING.test(name))
    .map((name) => levelOf(name, FOLDER_ENDING))

/**
 * @param {string} name - of a file or folder; in modified UTF-7 where Thunderbird keeps an IMAP account
 * @param {RegExp} ending
 * @returns {string}
 */
function levelOf(name, ending) {
  const level = name.replace(ending, '') || name
  const read = /^[ -~]*$/.test(level) ? decodeUtf7(level) : null
  // `Tom&Tim-2019` was written by no encoder; `&APw-&AN8-` was, by one that encodes each letter by itself.
  return read !== null && isExactUtf7(level) ? read : level
}

/**
 * @param {string | Buffer} folder
 * @param {string} place - of the folder, '' for the source itself
 * @returns {Promise<FoundFile[]>} at any depth
 * @throws what the file system throws about the source itself
 */
async function listFiles(folder, place) {
  const files = []
  for (const { name, path, isFolder } of await readEntries(folder)) {
    const below = place === '' ? name : `${place}/${name}`
    if (!isFolder) files.push({ path, place: below })
    else {
      const found = await listFiles(path, below).catch((error) => [
        { path, place: below, error, isFolder: true }
      ])
      // Not spread over the arguments of one call, which takes a limited number.
      for (const file of found) files.push(file)
    }
  }
  return files
}

/** `9.eml` stands before `10.eml`, the same on every machine. */
const comparePlaces = new Intl.Collator('en', { numeric: true }).compare
