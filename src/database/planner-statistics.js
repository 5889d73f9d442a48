/**
 * Statistics of table sizes for SQLite's query planner. Small tables must have none: a table without statistics counts as large,
 * and that is what our statements are written for. Told that a table has one row, the planner reads all of it instead
 * of looking a row up, and does so for as long as the file is open, however much the table grows: in a mailbox that grew from
 * one message to 10,000, a page of a list took 88 ms instead of 1 (measured).
 */
import { prepared } from './statement.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** In tables of at least so many rows the planner looks rows up wherever it can (tried with all statements). */
const MANY_ROWS = 1000

/** 0x10002: all tables, those that were never analysed too; 1: say what would be done, and do nothing. */
const DRY_RUN = 0x10003

/** @param {Database} db - for which nobody waits: it takes some milliseconds, because `analysis_limit` bounds what is read */
export function refreshStatistics(db) {
  const commands = /** @type {{ optimize: string }[]} */ (db.pragma(`optimize = ${DRY_RUN}`))
  for (const { optimize } of commands) if (isOfLargeTable(db, optimize)) db.exec(optimize)
  forgetSmallTables(db)
}

/**
 * @param {Database} db
 * @param {string} command - ANALYZE "main"."a table"
 * @returns {boolean}
 */
function isOfLargeTable(db, command) {
  const table = command.slice('ANALYZE '.length)
  return db.prepare(`SELECT 1 FROM ${table} LIMIT 1 OFFSET ${MANY_ROWS - 1}`).get() !== undefined
}

/**
 * Removes the statistics that an earlier version made of small tables.
 *
 * @param {Database} db
 */
function forgetSmallTables(db) {
  const isThere = prepared(db, "SELECT 1 FROM sqlite_schema WHERE name = 'sqlite_stat1'").get()
  if (isThere === undefined) return
  const small = prepared(
    db,
    `SELECT tbl FROM sqlite_stat1 GROUP BY tbl HAVING max(CAST(stat AS INTEGER)) < ${MANY_ROWS}`,
    'value'
  ).all()
  for (const table of small) prepared(db, 'DELETE FROM sqlite_stat1 WHERE tbl = ?').run(table)
}
