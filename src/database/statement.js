/**
 * Prepared statements by their text, kept for as long as their connection: SQL stands where it is used, and is
 * compiled once.
 */

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {import('better-sqlite3-multiple-ciphers').Statement} Statement
 * @typedef {'object' | 'array' | 'value'} RowShape - `value`: the first column alone
 */

/** @type {WeakMap<Database, Map<string, Statement>>} */
const caches = new WeakMap()

/**
 * @param {Database} db
 * @param {string} sql - of a fixed set of texts: the cache has no bound
 * @param {RowShape} [shape] - how rows come back; default as objects
 * @returns {Statement}
 */
export function prepared(db, sql, shape = 'object') {
  let cache = caches.get(db)
  if (!cache) caches.set(db, (cache = new Map()))
  const key = `${shape} ${sql}`
  let statement = cache.get(key)
  if (!statement) {
    statement = db.prepare(sql)
    if (shape === 'array') statement.raw(true)
    if (shape === 'value') statement.pluck(true)
    cache.set(key, statement)
  }
  return statement
}
