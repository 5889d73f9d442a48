/**
 * What SQLite's query planner knows of the sizes of tables. Of small ones it shall know nothing: our statements are written for
 * large tables, which is what it takes those for that it knows nothing of. Told that a table has one row, it reads all of it instead
 * of looking a row up, and whoever has the file open by then does so however much comes after: in a mailbox that had one
 * message when it was opened, and got 10,000 then, a page of a list took 88 ms instead of 1 (measured).
 */
import { prepared } from './statement.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** From so many rows on, and any more, the planner looks rows up wherever it can (tried with all statements). */
const MANY_ROWS = 1000

/** 0x10002: all tables, those that were never analysed too; `analysis_limit` bounds what is read. 1: only say what would be done. */
const OPTIMIZE_SAYING = 0x10003

/** @param {Database} db - of which nobody waits: it takes some milliseconds */
export function refreshStatistics(db) {
  const commands = /** @type {{ optimize: string }[]} */ (
    db.pragma(`optimize = ${OPTIMIZE_SAYING}`)
  )
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
 * Those that were small when an earlier version looked at them.
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
