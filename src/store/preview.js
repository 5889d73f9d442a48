/**
 * Previews of messages (RFC 8970): made when they are first asked for, and kept beside what else is stored of a
 * content.
 */
import { MailError } from '../errors.js'
import { decodePartTree } from '../mime/part-tree.js'
import { MAX_PREVIEW_BYTES, previewPart, previewText } from '../mime/preview.js'
import { prepared } from '../database/statement.js'
import { readContentRange } from './content-reader.js'

/** @typedef {import('./account-database.js').AccountDatabase} AccountDatabase */
/** @typedef {import('./read-messages.js').MessageRecord} MessageRecord */

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
  if (!database.isReadOnly) await keepPreview(database, contentId, preview)
  return preview
}

/**
 * @param {AccountDatabase} database
 * @param {number} contentId
 * @param {string} preview
 */
async function keepPreview(database, contentId, preview) {
  const sql = 'UPDATE message_meta SET preview = ? WHERE content_id = ?'
  try {
    // It can be made again: no need to wait for the disk.
    await database.write((db) => prepared(db, sql).run(preview, contentId), undefined, {
      isLazy: true
    })
  } catch (error) {
    // Mail can be read from a full or busy disk.
    if (!(error instanceof MailError) || !error.temporary) throw error
  }
}

/**
 * @param {AccountDatabase} database
 * @param {MessageRecord} record
 * @returns {Promise<string>}
 */
async function makePreview(database, { contentId, partTree }) {
  if (partTree === undefined) throw new Error('the part tree was not read')
  const part = previewPart(decodePartTree(partTree))
  if (part === null) return ''
  const end = Math.min(part.bodyEnd, part.headerEnd + MAX_PREVIEW_BYTES)
  /** @type {Buffer[]} */
  const pieces = []
  for await (const piece of readContentRange(database, contentId, part.headerEnd, end))
    pieces.push(piece)
  return previewText(part, Buffer.concat(pieces))
}
