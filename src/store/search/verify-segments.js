/**
 * Checks that the segments of the index can be read to their end, and that each indexed content is in one.
 */
import { prepared } from '../../database/statement.js'
import { readIndexState } from './index-rows.js'
import { INDEX_VERSION } from './index-text.js'
import { SegmentCursor } from './segment-cursor.js'
import { TERM_CLASS } from './segment-format.js'
import { readSegments } from './segment-rows.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** Contents that are named: more tell nothing more. */
const MAX_NAMED = 5

/**
 * @param {Database} db
 * @returns {string[]} problems
 * @throws {import('../../errors.js').MailError} ACCOUNT_DAMAGED
 */
export function segmentProblems(db) {
  // An older program's index is about to be made anew, in steps.
  if (readIndexState(db).textVersion !== INDEX_VERSION) return []
  const missing = new Set(
    /** @type {number[]} */ (
      prepared(
        db,
        `SELECT id FROM contents c WHERE hash IS NOT NULL
           AND id <= (SELECT listed_through FROM search_state)
           AND NOT EXISTS (SELECT 1 FROM search_listed p WHERE p.content_id = c.id)`,
        'value'
      ).all()
    )
  )
  for (const row of readSegments(db)) {
    const cursor = new SegmentCursor(db, row)
    for (; cursor.termClass !== -1; cursor.advance(db)) {
      const postings = cursor.postings(db)
      if (cursor.termClass !== TERM_CLASS.CONTENTS) continue
      for (const posting of postings) missing.delete(row.base + (posting >>> 1))
    }
  }
  return [...missing]
    .slice(0, MAX_NAMED)
    .map((id) => `content in no segment of the index, number ${id}`)
}
