/**
 * What the fields' index, FTS5 over Subject, From, To and Cc, says of a term.
 */
import { prepared } from '../../database/statement.js'
import { hasTrigram, phraseQuery, trigramRange } from './terms.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** Rows of the first look: a tenth of a millisecond where most contents have the term. */
const FIRST_ROWS = 512

/**
 * @typedef {object} FieldRows
 * @property {number[]} rows - ids of contents, ascending; where they are `maxRows`, there may be more
 * @property {boolean} isExact - whether they have the term for certain
 */

/**
 * FTS5 answers in one go, and goes through every content that has the term's trigrams in any of the fields: a hundred thousand
 * for a term that most messages have in From, and some in Cc. How long that takes is estimated from the first rows; most terms
 * have no more.
 *
 * @param {Database} db
 * @param {string} term - askable
 * @param {string} column - of `search_header`
 * @param {{ maxRows: number, maxMs: number }} limits - of what is read
 * @returns {FieldRows | null} null where all rows are likely to be more, or to take longer
 */
export function rowsWithTerm(db, term, column, { maxRows, maxMs }) {
  if (!hasTrigram(term)) return rowsWithTrigram(db, term, column, maxRows)
  if (maxMs === Infinity) return rowsWithPhrase(db, term, column, maxRows)
  const startedMs = performance.now()
  const first = rowsWithPhrase(db, term, column, FIRST_ROWS)
  const lastRow = first.rows.at(-1) ?? 0
  if (first.rows.length < FIRST_ROWS) return first
  const lookedAtMs = performance.now() - startedMs
  const top = /** @type {number} */ (prepared(db, 'SELECT max(id) FROM contents', 'value').get())
  const share = top / lastRow
  const isLong = first.rows.length * share >= maxRows || lookedAtMs * share >= maxMs
  return isLong ? null : rowsWithPhrase(db, term, column, maxRows)
}

/**
 * @param {Database} db
 * @param {string} term - askable, with a trigram
 * @param {string} column - of `search_header`
 * @param {number} maxRows
 * @returns {FieldRows}
 */
function rowsWithPhrase(db, term, column, maxRows) {
  const { query, isExact } = phraseQuery(term, column)
  const select = prepared(
    db,
    'SELECT rowid FROM search_header WHERE search_header MATCH ? ORDER BY rowid LIMIT ? + 0',
    'value'
  )
  return { rows: /** @type {number[]} */ (select.all(query, maxRows)), isExact }
}

/**
 * A query of FTS5 must have a trigram; the list of all trigrams (fts5vocab) can be asked for a shorter term.
 *
 * @param {Database} db
 * @param {string} term - askable, without a trigram
 * @param {string} column - of `search_header`
 * @param {number} maxRows - a content has one row for each place where it has the term
 * @returns {FieldRows}
 */
function rowsWithTrigram(db, term, column, maxRows) {
  db.exec(
    'CREATE VIRTUAL TABLE IF NOT EXISTS temp.search_header_places USING fts5vocab (main, search_header, instance)'
  )
  const select = prepared(
    db,
    'SELECT doc FROM search_header_places WHERE term BETWEEN ? AND ? AND col = ? LIMIT ? + 0',
    'value'
  )
  const places = /** @type {number[]} */ (select.all(...trigramRange(term), column, maxRows))
  const rows = places.length < maxRows ? [...new Set(places)].sort((a, b) => a - b) : places
  return { rows, isExact: true }
}
