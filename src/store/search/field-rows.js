/**
 * What the fields' index, FTS5 over Subject, From, To and Cc, says of a term.
 */
import { prepared } from '../../database/statement.js'
import { hasTrigram, phraseQuery, trigramRange } from './terms.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/**
 * @typedef {object} FieldRows
 * @property {number[]} rows - ids of contents, ascending; `maxRows`: there may be more
 * @property {boolean} isExact - whether they have the term for certain
 */

/**
 * @param {Database} db
 * @param {string} term - askable
 * @param {string} column - of `search_header`
 * @param {number} maxRows - that are read
 * @returns {FieldRows}
 */
export const rowsWithTerm = (db, term, column, maxRows) =>
  (hasTrigram(term) ? rowsWithPhrase : rowsWithTrigram)(db, term, column, maxRows)

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
 * A query of FTS5 must have a trigram; the list of them all can be asked for less.
 *
 * @param {Database} db
 * @param {string} term - askable, without a trigram
 * @param {string} column - of `search_header`
 * @param {number} maxRows - of one content for each place where it has the term
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
