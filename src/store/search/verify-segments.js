/**
 * Checks that the segments of the index can be read to their end, that they are in the order by which terms are found in
 * them, and that each indexed content is in one. Whether a text has what its postings say is not looked at.
 */
import { prepared } from '../../database/statement.js'
import { readIndexState } from './index-rows.js'
import { INDEX_VERSION } from './index-text.js'
import { SegmentCursor } from './segment-cursor.js'
import { decodeDirectory, TERM_CLASS } from './segment-format.js'
import { readDirectory, readSegments } from './segment-rows.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('./segment-rows.js').SegmentRow} SegmentRow
 */

/** A problem names at most so many contents: more would tell nothing more. */
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
  const isIndexed = (/** @type {number} */ id) => missing.delete(id)
  const wrong = readSegments(db).filter((row) => !isInOrder(db, row, isIndexed))
  return [
    ...wrong.map(({ id }) => `segment of the search index out of order, number ${id}`),
    ...[...missing].map((id) => `content in no segment of the index, number ${id}`)
  ].slice(0, MAX_NAMED)
}

/**
 * @param {Database} db
 * @param {SegmentRow} row
 * @param {(contentId: number) => void} onContent - called with each content of it
 * @returns {boolean} whether terms, and what is posted of them, are where a search looks for them
 */
function isInOrder(db, row, onContent) {
  const { classes, firsts } = decodeDirectory(readDirectory(db, row.id))
  const end = (row.last - row.base + 1) * 2
  let isGood = classes.every((each, at) => each >= (classes[at - 1] ?? each))
  let block = 0
  let lastClass = -1
  let lastTerm = ''
  const cursor = new SegmentCursor(db, row)
  for (; !cursor.isAtEnd; cursor.advance(db)) {
    const { termClass, term } = cursor
    const postings = cursor.postings(db)
    const isAbove = termClass > lastClass || (termClass === lastClass && term > lastTerm)
    if (!isAbove || (postings.at(-1) ?? 0) >= end) isGood = false
    if (classes[block] === termClass && term.startsWith(firsts[block] ?? '')) block++
    lastClass = termClass
    lastTerm = term
    if (termClass !== TERM_CLASS.CONTENTS) continue
    for (const posting of postings) onContent(row.base + (posting >>> 1))
  }
  // All blocks begin with what the directory says, but for those of parts, which the cursor leaves out.
  return isGood && (classes[block] ?? TERM_CLASS.PART) === TERM_CLASS.PART
}
