/**
 * Rows of `keywords`. Everything here runs inside a transaction or read of the caller.
 */
import { MailError } from '../errors.js'
import { prepared } from '../database/statement.js'
import { KeywordTable, MAX_KEYWORDS } from './flags.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {{ number: number, name: string }} KeywordRow
 */

/**
 * @param {Database} db
 * @returns {KeywordRow[]} by number
 */
export function readKeywords(db) {
  return /** @type {KeywordRow[]} */ (
    prepared(db, 'SELECT number, name FROM keywords ORDER BY number').all()
  )
}

/**
 * The keywords as they are in this transaction, as far as `names` are concerned: another process may have made one since.
 *
 * @param {Database} db
 * @param {readonly string[]} names - flags and keywords of a request
 * @param {KeywordTable} known - the account's table
 * @returns {KeywordTable} `known` itself where it says the same of them
 */
export function newestKeywords(db, names, known) {
  if (names.every((name) => known.find(name))) return known
  const rows = readKeywords(db)
  if (rows.length === known.names.length) return known
  const table = new KeywordTable()
  table.load(rows)
  return table
}

/**
 * The keywords as they are in this transaction, with numbers for the new ones among `names`. The account's own table
 * is not touched: the transaction may still fail.
 *
 * @param {Database} db
 * @param {readonly string[]} names - flags and keywords of a request
 * @param {KeywordTable} known - the account's table; used as it is when it has all of them
 * @param {{ mayLack?: boolean }} [options] - `mayLack`: names for which there is no number left are missing in the table
 * @returns {KeywordTable}
 * @throws {MailError} LIMIT when there is no number left; CANNOT for what is no flag
 */
export function withKeywords(db, names, known, { mayLack = false } = {}) {
  if (known.missing(names).length === 0) return known
  const rows = readKeywords(db)
  const table = new KeywordTable()
  table.load(rows)
  const missing = table.missing(names)
  const used = new Set(rows.map(({ number }) => number))
  for (let number = 0; missing.length > 0; number++) {
    if (number >= MAX_KEYWORDS) {
      if (mayLack) break
      throw new MailError('LIMIT', { detail: 'keywords used up' })
    }
    if (used.has(number)) continue
    const name = /** @type {string} */ (missing.shift())
    prepared(db, 'INSERT INTO keywords (number, name) VALUES (?, ?)').run(number, name)
    rows.push({ number, name })
  }
  table.load(rows)
  return table
}
