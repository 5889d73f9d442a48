/**
 * Where the parts of a message are, as far as that has been kept.
 */
import { prepared } from '../database/statement.js'
import { isStale } from './meta-rows.js'

/**
 * @param {import('better-sqlite3-multiple-ciphers').Database} db
 * @param {import('./block-reader.js').BlockReader} blocks
 * @param {number} contentId
 * @returns {Buffer | null} of src/mime/part-tree.js; null: it has to be made
 */
export function readPartTree(db, blocks, contentId) {
  const packed = blocks.entry('partTree', contentId)
  if (packed !== null) return packed
  const row = /** @type {[number, Buffer] | undefined} */ (
    prepared(
      db,
      'SELECT builder_version, part_tree FROM message_structures WHERE content_id = ?',
      'array'
    ).get(contentId)
  )
  return row === undefined || isStale(row[0]) ? null : row[1]
}
