/**
 * Reads what can be read of a damaged table. A page that fails takes the rows on it along; those before and after it
 * are reached by their keys.
 */
import { isMailError } from '../../errors.js'
import { toMailError } from '../../database/sqlite-error.js'
import { prepared } from '../../database/statement.js'

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/** Rows of one read. */
const PAGE_ROWS = 200

/** Keys that are tried one by one behind the last good row; a page of `messages` holds fewer rows than that. */
const NEAR_KEYS = 512

/** No key is larger. */
const MAX_KEY = Number.MAX_SAFE_INTEGER

/** What a read of a damaged page gives. */
export const UNREADABLE = Symbol('unreadable')

/**
 * @template T
 * @param {() => T} read
 * @returns {T | typeof UNREADABLE}
 * @throws anything that is no damage
 */
export function tryRead(read) {
  try {
    return read()
  } catch (error) {
    if (isMailError(toMailError(error), 'ACCOUNT_DAMAGED')) return UNREADABLE
    throw error
  }
}

/**
 * Rows of a table whose key is an integer.
 *
 * @param {Database} db
 * @param {object} table
 * @param {string} table.name
 * @param {string} table.key - its INTEGER PRIMARY KEY
 * @param {string} table.columns - SQL; the key must be among them under its name
 * @param {() => void} onGap - called for each stretch of keys that cannot be read
 * @returns {Generator<any, void>} by key
 */
export function* readableRows(db, { name, key, columns }, onGap) {
  const page = prepared(
    db,
    `SELECT ${columns} FROM ${name} WHERE ${key} > ? ORDER BY ${key} LIMIT ? + 0`
  )
  let after = -1
  for (;;) {
    // Row by row where a page of rows fails: those before the damage are read as well.
    let rows = tryRead(() => page.all(after, PAGE_ROWS))
    const isWhole = rows !== UNREADABLE
    if (rows === UNREADABLE) rows = tryRead(() => page.all(after, 1))
    if (rows === UNREADABLE) {
      onGap()
      const next = nextReadable(db, { name, key }, after)
      if (next === null) return
      after = next - 1
      continue
    }
    for (const row of rows) yield row
    const last = /** @type {any} */ (rows[rows.length - 1])
    if (last === undefined || (isWhole && rows.length < PAGE_ROWS)) return
    after = last[key]
  }
}

/**
 * @param {Database} db
 * @param {{ name: string, key: string }} table
 * @param {number} after - the last key before the damage
 * @returns {number | null} the first key behind it; null if there is none
 */
function nextReadable(db, { name, key }, after) {
  const find = prepared(
    db,
    `SELECT ${key} FROM ${name} WHERE ${key} >= ? ORDER BY ${key} LIMIT 1`,
    'value'
  )
  const probe = (/** @type {number} */ from) =>
    tryRead(() => /** @type {number | undefined} */ (find.get(from)))
  let low = after + 1
  for (let step = 1; ; step = step < NEAR_KEYS ? step + 1 : step * 2) {
    const from = Math.min(after + 1 + step, MAX_KEY)
    const found = probe(from)
    if (found !== UNREADABLE) return firstReadable(probe, low, from) ?? null
    if (from === MAX_KEY) return null
    low = from
  }
}

/**
 * @param {(from: number) => number | undefined | typeof UNREADABLE} probe
 * @param {number} low - key from which nothing can be read
 * @param {number} high - key from which something can
 * @returns {number | undefined} the first key that can be read
 */
function firstReadable(probe, low, high) {
  while (high - low > 1) {
    const middle = low + Math.floor((high - low) / 2)
    if (probe(middle) === UNREADABLE) low = middle
    else high = middle
  }
  return /** @type {number | undefined} */ (probe(high))
}

/**
 * Rows of a small table in the order of its key: those before the first damaged page, and those after the last.
 *
 * @param {Database} db
 * @param {string} select - without ORDER BY
 * @param {readonly string[]} keys - columns of the key
 * @param {() => void} onGap - called when something cannot be read
 * @returns {any[]}
 */
export function readableEnds(db, select, keys, onGap) {
  const [first, isWhole] = readFrom(db, `${select} ORDER BY ${keys.join(', ')}`)
  if (isWhole) return first
  onGap()
  const [last] = readFrom(db, `${select} ORDER BY ${keys.map((key) => `${key} DESC`).join(', ')}`)
  const nameOf = (/** @type {any} */ row) => JSON.stringify(keys.map((key) => row[key]))
  const known = new Set(first.map(nameOf))
  return [...first, ...last.filter((row) => !known.has(nameOf(row)))]
}

/**
 * @param {Database} db
 * @param {string} sql
 * @returns {[any[], boolean]} the rows up to the first that cannot be read, and whether those are all
 */
function readFrom(db, sql) {
  /** @type {any[]} */
  const rows = []
  const isWhole = tryRead(() => {
    for (const row of db.prepare(sql).iterate()) rows.push(row)
  })
  return [rows, isWhole !== UNREADABLE]
}
