/**
 * Headers for keys that ask only for fields of which mail programs make their lists: these stand by themselves, 32
 * messages in a row, so that nothing of the content is read.
 */
import { runSnapshot } from '../../database/transaction.js'
import { chooseFields } from '../../mime/header-fields.js'
import { newlineOf } from '../../mime/header.js'
import { BlockReader } from '../block-reader.js'
import { readListRow, readReceivedRow } from '../read-page.js'

/** @typedef {import('../../mime/header-fields.js').FieldChoice} FieldChoice */

const LF = 10

const BLANK_LINE_BYTES = 2

const NO_LINES = { bytes: Buffer.alloc(0), start: 0 }

/**
 * @param {readonly import('./plan.js').LeafNode[]} leaves - of a plan
 * @returns {FieldChoice | null} of all fields that they ask for; null if there are none, or one is not listed
 */
export function chooseListed(leaves) {
  const names = leaves.flatMap(({ key }) => (key.op === 'header' ? [key.field] : []))
  return names.length > 0 ? chooseFields(names) : null
}

/**
 * @param {import('../read-messages.js').Source} database
 * @param {readonly number[]} contentIds
 * @param {FieldChoice} choice
 * @returns {Promise<(Buffer | null)[]>} of each the chosen fields, as a header block in memory of its own; null where
 *   they are not listed
 */
export async function readListedHeaders(database, contentIds, choice) {
  return await database.readSettled((db) =>
    // A thread may pack rows into blocks at any time: between two reads a row would be in neither.
    runSnapshot(db, () => {
      const blocks = new BlockReader(db)
      return contentIds.map((contentId) => readChosen(db, blocks, contentId, choice))
    })
  )
}

/**
 * @param {import('better-sqlite3-multiple-ciphers').Database} db
 * @param {BlockReader} blocks
 * @param {number} contentId
 * @param {FieldChoice} choice
 * @returns {Buffer | null} null: they are not listed, or cannot be told apart as they are
 */
function readChosen(db, blocks, contentId, choice) {
  const packed = blocks.holding('fields', contentId)
  const fields = packed?.bytes ?? readListRow(db, 'fields', contentId)
  if (fields === null) return null
  const at = packed?.start ?? 0
  const block = Buffer.allocUnsafe(choice.sizeOf(fields, at))
  const received = choice.needsReceived ? readReceived(db, blocks, contentId) : NO_LINES
  choice.copy(fields, at, received.bytes, received.start, block, 0)
  // Lines that end by CR alone would be one line with the blank one behind them, which ends by CR and LF.
  const hasUsualLineEnds = newlineOf(block.subarray(0, -BLANK_LINE_BYTES)) === LF
  return hasUsualLineEnds ? block : null
}

/**
 * @param {import('better-sqlite3-multiple-ciphers').Database} db
 * @param {BlockReader} blocks
 * @param {number} contentId
 * @returns {{ bytes: Buffer, start: number }}
 */
function readReceived(db, blocks, contentId) {
  const packed = blocks.holding('received', contentId)
  return packed ?? { bytes: readReceivedRow(db, contentId) ?? NO_LINES.bytes, start: 0 }
}
