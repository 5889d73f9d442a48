/**
 * A tar archive of `.eml` files, packed or not, read in one pass. Mail of other forms beside them is reported: once it is
 * unpacked, it can be read. A message's date is the time of its member, unless that is zero, as in reproducible archives.
 */
import { basename } from 'node:path'
import { extract } from 'tar-stream'
import { isAppleDouble } from './apple-double.js'
import { openBytes } from './byte-source.js'
import { unreadableItem } from './folder-entries.js'
import { dateFromMs } from './import-item.js'
import { isEmlName, requireMessages } from './read-eml.js'
import { isEmlxName } from './read-emlx.js'
import { isMaildirPlace } from './read-maildir.js'
import { isMhHead } from './read-mh.js'
import { isMboxHead, isMboxName, MBOX_HEAD_BYTES } from './read-mbox.js'
import { counted } from '../support/format.js'

/** @typedef {import('./import-item.js').ImportItem} ImportItem */
/** @typedef {import('./import-item.js').ImportSource} ImportSource */

const BLOCK = 512
const CHECKSUM_AT = 148
const CHECKSUM_END = 156

/**
 * @param {Buffer} head - a file's first bytes
 * @returns {boolean} whether they are the header of a tar's first member (by its checksum)
 */
export function isTarHead(head) {
  if (head.length < BLOCK) return false
  const stated = parseInt(head.toString('latin1', CHECKSUM_AT, CHECKSUM_END).trim(), 8)
  let sum = 0
  for (let at = 0; at < BLOCK; at++) {
    sum += at >= CHECKSUM_AT && at < CHECKSUM_END ? 0x20 : /** @type {number} */ (head[at])
  }
  return sum === stated
}

/**
 * @param {string} path
 * @returns {Promise<ImportSource>}
 * @throws what the file system throws; its items throw on a damaged archive
 */
export async function openTar(path) {
  const bytes = await openBytes(path)
  /** @type {ImportSource} */
  const source = {
    name: basename(path),
    format: 'tar',
    unit: 'bytes',
    total: bytes.totalBytes,
    ignoredCount: 0,
    get position() {
      return bytes.bytesRead
    },
    async *items() {
      // Takes archives of the oldest tar too, which have no names of owners.
      const archive = extract(/** @type {object} */ ({ allowUnknownFormat: true }))
      const feeding = feed(bytes.chunks, archive)
      let hasMessages = false
      let otherMail = 0
      try {
        for await (const entry of archive) {
          const rest = /** @type {AsyncIterable<Buffer>} */ (entry)[Symbol.asyncIterator]()
          const { header } = entry
          if (header.type !== 'directory') {
            if (isEmlName(header.name)) {
              hasMessages = true
              yield tarItem(source.name, header, rest)
            } else if (await isOtherMail(header, rest)) otherMail++
            else source.ignoredCount++
          }
          await drain(rest)
        }
        if (otherMail > 0) {
          const left = new Error(
            `${counted(otherMail, 'file')} with mail, and not .eml: unpack it first`
          )
          // An archive without any message has failed as a whole.
          if (!hasMessages) throw left
          yield unreadableItem(source.name, left)
        } else if (!hasMessages) requireMessages(source.ignoredCount)
      } finally {
        bytes.close()
        archive.destroy()
        await feeding
      }
    }
  }
  return source
}

/**
 * @param {import('tar-stream').Header} member
 * @param {AsyncIterator<Buffer>} bytes - of the member, read as far as need be
 * @returns {Promise<boolean>} whether it is mail that would be read in a folder: by its name, or by how it begins
 */
async function isOtherMail({ name, type, size }, bytes) {
  if (isAppleDouble(name) || (type === 'file' && size === 0)) return false
  if (isEmlxName(name) || isMaildirPlace(name) || isMboxName(name)) return true
  const head = await headOf(bytes)
  return isMboxHead(name, head) || isMhHead(name, head)
}

/**
 * @param {AsyncIterator<Buffer>} bytes
 * @returns {Promise<Buffer>} the first ones
 */
async function headOf(bytes) {
  let head = Buffer.alloc(0)
  while (head.length < MBOX_HEAD_BYTES) {
    const { done, value } = await bytes.next()
    if (done) break
    head = Buffer.concat([head, value])
  }
  return head.subarray(0, MBOX_HEAD_BYTES)
}

/**
 * @param {string} archiveName
 * @param {import('tar-stream').Header} header
 * @param {AsyncIterator<Buffer>} rest
 * @returns {ImportItem}
 */
function tarItem(archiveName, header, rest) {
  return {
    name: `${archiveName}: ${header.name}`,
    importKeyParts: header.name.split('/').filter((part) => part !== '.' && part !== ''),
    folder: [],
    flags: [],
    internalDate: dateFromMs(header.mtime.getTime()),
    fallbackDate: null,
    hasFromLine: true,
    sizeHint: header.size,
    async *open() {
      const obstacle = obstacleOf(header)
      if (obstacle !== null) throw new Error(obstacle)
      yield* untilDone(rest)
    }
  }
}

/**
 * @param {import('tar-stream').Header} header
 * @returns {string | null} why the member's bytes are not the file's; null: they are
 */
function obstacleOf({ type, pax }) {
  if (type === 'link') return 'a hard link: its message stands elsewhere in the archive'
  if (type === 'symlink') return 'a link, which an archive cannot follow'
  const isSparse = Object.keys(pax ?? {}).some((name) => name.startsWith('GNU.sparse.'))
  const isFile = type === 'file' || type === 'contiguous-file'
  return isFile && !isSparse ? null : 'no ordinary file; if it is sparse: tar without --sparse'
}

/**
 * Writes the file into the archive's reader at the reader's pace; an error here destroys the reader, whose consumer is told.
 *
 * @param {AsyncIterable<Buffer>} chunks
 * @param {import('tar-stream').Extract} archive
 */
async function feed(chunks, archive) {
  let goOn = () => {}
  archive.on('drain', () => goOn())
  archive.on('close', () => goOn())
  try {
    for await (const chunk of chunks) {
      if (archive.destroyed) return
      if (archive.write(chunk)) continue
      await new Promise((resolve) => {
        goOn = () => resolve(undefined)
      })
    }
    archive.end(null)
  } catch (error) {
    archive.destroy(/** @type {Error} */ (error))
  }
}

/**
 * Unlike `for await`, leaving this early does not destroy the member's stream, and with it the archive.
 *
 * @param {AsyncIterator<Buffer>} iterator
 * @returns {AsyncGenerator<Buffer>}
 */
async function* untilDone(iterator) {
  for (;;) {
    const { done, value } = await iterator.next()
    if (done) return
    yield value
  }
}

/** @param {AsyncIterator<Buffer>} iterator */
async function drain(iterator) {
  while (!(await iterator.next()).done);
}
