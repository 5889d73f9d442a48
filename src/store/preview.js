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
import { runSnapshot } from '../database/transaction.js'
import { readContentRange } from './content-reader.js'
import { readPreviewRow } from './read-page.js'
import { tryWrite } from './try-write.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */
/** @typedef {import('./account-database.js').AccountDatabase} AccountDatabase */
/** @typedef {import('./read-messages.js').MessageRecord} MessageRecord */

/** Bytes that are decoded at first: as a rule the preview is in them. */
const FIRST_PIECE_BYTES = 1024

/** Bytes that are decoded at once at most. */
const PIECE_BYTES = 16 * 1024

/** What is kept in one transaction, milliseconds: others are to write, too. */
const STEP_MS = 4

/**
 * @param {AccountDatabase} database
 * @param {readonly MessageRecord[]} records - read with `partTree` and, so that they need not be read again, `content`
 * @param {{ isLazy: boolean }} options - `isLazy`: only what is there already
 * @returns {Promise<(string | null)[]>} of the first of them, one at least: before one that has trouble it ends. '' when
 *   there is nothing to show; null when it is not there
 * @throws {import('../errors.js').MailError} MESSAGE_GONE, ACCOUNT_DAMAGED: of the first one
 */
export async function readPreviews(database, records, { isLazy }) {
  const previews = await database.readSettled((db) =>
    runSnapshot(db, () => records.map(({ contentId }) => readPreviewRow(db, contentId)))
  )
  if (isLazy) return previews
  /** @type {[preview: string, contentId: number][]} */
  const made = []
  const slicer = new Slicer()
  for (const [index, record] of records.entries()) {
    if (previews[index] !== null) continue
    try {
      const preview = await makePreview(database, record, slicer)
      previews[index] = preview
      made.push([preview, record.contentId])
    } catch (error) {
      if (index === 0) throw error
      previews.splice(index)
      break
    }
  }
  if (!database.isReadOnly) await keepAll(database, made)
  return previews
}

/**
 * @param {AccountDatabase} database
 * @param {readonly [preview: string, contentId: number][]} made
 */
async function keepAll(database, made) {
  const keepSome = (/** @type {Database} */ db, /** @type {number} */ from) => {
    const keep = prepared(db, 'UPDATE message_meta SET preview = ? WHERE content_id = ?')
    const startedMs = performance.now()
    let at = from
    do keep.run(.../** @type {[string, number]} */ (made[at++]))
    while (at < made.length && performance.now() - startedMs < STEP_MS)
    return at
  }
  // They can be made again: no need to wait for the disk.
  await tryWrite(async () => {
    for (let at = 0; at < made.length;)
      at = await database.write((db) => keepSome(db, at), { isLazy: true })
  })
}

/**
 * @param {AccountDatabase} database
 * @param {MessageRecord} record
 * @param {Slicer} slicer
 * @returns {Promise<string>}
 */
async function makePreview(database, record, slicer) {
  const { partTree } = record
  if (partTree === undefined) throw new Error('the part tree was not read')
  let bytesLeft = MAX_PREVIEW_BYTES
  for (const part of previewParts(decodePartTree(partTree)).slice(0, MAX_PREVIEW_PARTS)) {
    const end = Math.min(part.bodyEnd, part.headerEnd + bytesLeft)
    const preview = await previewOfPart(
      piecesOf(database, record, part.headerEnd, end),
      part,
      slicer
    )
    if (preview !== '') return preview
    bytesLeft -= end - part.headerEnd
    if (bytesLeft === 0) break
  }
  return ''
}

/**
 * @param {AccountDatabase} database
 * @param {MessageRecord} record
 * @param {number} start - in the message
 * @param {number} end - exclusive
 * @returns {Iterable<Buffer> | AsyncIterable<Buffer>}
 */
function piecesOf(database, { content, contentId }, start, end) {
  return content
    ? [content.subarray(start, end)]
    : readContentRange(database, contentId, start, end)
}

/**
 * @param {Iterable<Buffer> | AsyncIterable<Buffer>} pieces - of the part's body, as far as it is looked at
 * @param {import('../mime/part-tree.js').PartNode} part
 * @param {Slicer} slicer
 * @returns {Promise<string>} '' when there is nothing to show
 */
async function previewOfPart(pieces, part, slicer) {
  const reader = new PreviewReader(part)
  let size = FIRST_PIECE_BYTES
  for await (const bytes of pieces) {
    for (let at = 0; at < bytes.length; at += size) {
      if (slicer.isSpent) await slicer.breathe()
      if (at > 0) size = Math.min(2 * size, PIECE_BYTES)
      if (reader.push(bytes.subarray(at, at + size))) return reader.end()
    }
  }
  return reader.end()
}
