/**
 * Headers for keys that ask only for fields of which mail programs make their lists: these stand by themselves, 32
 * messages in a row, so that nothing of the content is read.
 */
import { runSnapshot } from '../../database/transaction.js'
import { chooseFields } from '../../mime/field-choice.js'
import { newlineOf } from '../../mime/header.js'
import { BlockReader } from '../block-reader.js'
import { readApartRow, readListRow } from '../read-page.js'

/** @typedef {import('../../mime/field-choice.js').FieldChoice} FieldChoice */
/** @typedef {import('../../mime/field-choice.js').LinesPlace} LinesPlace */
/** @typedef {import('../../mime/listed-fields.js').ApartKind} ApartKind */

const LF = 10

const BLANK_LINE_BYTES = 2

const NOTHING = Buffer.alloc(0)

/**
 * @param {readonly import('./plan.js').LeafNode[]} leaves - of a plan
 * @returns {FieldChoice | null} of all fields that they ask for; null if there are none, or one has no name that a field could
 *   have
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
  if (!choice.isToldBy(fields, at, packed?.end ?? fields.length)) return null
  const block = Buffer.allocUnsafe(choice.sizeOf(fields, at))
  const placeOf = (/** @type {ApartKind} */ kind) =>
    choice.apart.has(kind) ? placeOfLines(db, blocks, kind, contentId) : { bytes: NOTHING, at: 0 }
  const apart = {
    received: placeOf('received'),
    signatures: placeOf('signatures'),
    rest: placeOf('rest')
  }
  choice.copy(fields, at, apart, block, 0)
  // Lines that end by CR alone would be one line with the blank one behind them, which ends by CR and LF.
  const hasUsualLineEnds = newlineOf(block.subarray(0, -BLANK_LINE_BYTES)) === LF
  return hasUsualLineEnds ? block : null
}

/**
 * @param {import('better-sqlite3-multiple-ciphers').Database} db
 * @param {BlockReader} blocks
 * @param {ApartKind} kind
 * @param {number} contentId
 * @returns {LinesPlace}
 */
function placeOfLines(db, blocks, kind, contentId) {
  const packed = blocks.holding(kind, contentId)
  return packed
    ? { bytes: packed.bytes, at: packed.start }
    : { bytes: readApartRow(db, kind, contentId) ?? NOTHING, at: 0 }
}
