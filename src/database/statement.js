/**
 * Prepared statements by their text, kept for as long as their connection: SQL stands where it is used, and is
 * compiled once.
 *
 * A bound limit is written `LIMIT ? + 0`: SQLite plans with the value of a bare one, and compiles the statement anew
 * whenever another is bound, or the same again (4 → 17 µs for the rows of eight mailboxes).
 */

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('better-sqlite3-multiple-ciphers').Statement} Statement
 * @typedef {'object' | 'array' | 'value'} RowShape - `value`: the first column alone
 */

/** @typedef {Record<RowShape, Map<string, Statement>>} Cache */

/** @type {WeakMap<Database, Cache>} */
const caches = new WeakMap()

/** @returns {Cache} */
const noStatements = () => ({ object: new Map(), array: new Map(), value: new Map() })

/**
 * @param {Database} db
 * @param {string} sql - of a fixed set of texts: the cache has no bound
 * @param {RowShape} [shape] - how rows come back; default as objects
 * @returns {Statement}
 */
export function prepared(db, sql, shape = 'object') {
  let cache = caches.get(db)
  if (!cache) caches.set(db, (cache = noStatements()))
  // The text itself is the key: its hash is known, while a key put together here would be hashed anew at each use.
  let statement = cache[shape].get(sql)
  if (!statement) {
    statement = db.prepare(sql)
    if (shape === 'array') statement.raw(true)
    if (shape === 'value') statement.pluck(true)
    cache[shape].set(sql, statement)
  }
  return statement
}
