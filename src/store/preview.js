/**
 * Previews of messages (RFC 8970): made when they are first asked for, and kept beside what else is stored of a
 * content.
 */
import { decodePartTree } from '../mime/part-tree.js'
import {
  MAX_PREVIEW_BYTES,
  MAX_PREVIEW_PARTS,
  PreviewReader,
  previewParts
} from '../mime/preview.js'
import { Slicer } from '../support/slicer.js'
import { prepared } from '../database/statement.js'
import { readContentRange } from './content-reader.js'
import { tryWrite } from './try-write.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */
/** @typedef {import('./account-database.js').AccountDatabase} AccountDatabase */
/** @typedef {import('./read-messages.js').MessageRecord} MessageRecord */

/** Bytes that are decoded at once: as a rule the preview is in the first of them. */
const PIECE_BYTES = 16 * 1024

/**
 * @param {AccountDatabase} database
 * @param {MessageRecord} record - read with `partTree`
 * @param {{ isLazy: boolean }} options - `isLazy`: only what is there already
 * @returns {Promise<string | null>} '' when there is nothing to show; null when it is not there
 * @throws {import('../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED
 */
export async function readPreview(database, record, { isLazy }) {
  const { contentId } = record
  const known = await database.readSettled((db) =>
    prepared(db, 'SELECT preview FROM message_meta WHERE content_id = ?', 'value').get(contentId)
  )
  if (typeof known === 'string') return known
  if (isLazy) return null
  const preview = await makePreview(database, record)
  const sql = 'UPDATE message_meta SET preview = ? WHERE content_id = ?'
  const keep = (/** @type {Database} */ db) => prepared(db, sql).run(preview, contentId)
  // It can be made again: no need to wait for the disk.
  if (!database.isReadOnly) await tryWrite(() => database.write(keep, { isLazy: true }))
  return preview
}

/**
 * @param {AccountDatabase} database
 * @param {MessageRecord} record
 * @returns {Promise<string>}
 */
async function makePreview(database, { contentId, partTree }) {
  if (partTree === undefined) throw new Error('the part tree was not read')
  const slicer = new Slicer()
  let bytesLeft = MAX_PREVIEW_BYTES
  for (const part of previewParts(decodePartTree(partTree)).slice(0, MAX_PREVIEW_PARTS)) {
    const end = Math.min(part.bodyEnd, part.headerEnd + bytesLeft)
    const preview = await previewOfPart({ database, contentId, part, end, slicer })
    if (preview !== '') return preview
    bytesLeft -= end - part.headerEnd
    if (bytesLeft === 0) break
  }
  return ''
}

/**
 * @param {object} options
 * @param {AccountDatabase} options.database
 * @param {number} options.contentId
 * @param {import('../mime/part-tree.js').PartNode} options.part
 * @param {number} options.end - offset in the message up to which it is looked at
 * @param {Slicer} options.slicer
 * @returns {Promise<string>} '' when there is nothing to show
 */
async function previewOfPart({ database, contentId, part, end, slicer }) {
  const reader = new PreviewReader(part)
  for await (const bytes of readContentRange(database, contentId, part.headerEnd, end)) {
    for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
      await slicer.breathe()
      if (reader.push(bytes.subarray(at, at + PIECE_BYTES))) return reader.end()
    }
  }
  return reader.end()
}
