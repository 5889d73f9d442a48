/**
 * Collects SQLite's query plans for the statements that our code runs.
 */

/** @typedef {import('better-sqlite3-multiple-ciphers').Database} Database */

/**
 * @param {Database} db
 * @param {string[]} plans - steps of each statement that is prepared are added
 * @returns {Database} a stand-in for `db`, to be given to our code in its place
 */
export const explaining = (db, plans) =>
  new Proxy(db, {
    get: (target, name) =>
      name === 'prepare'
        ? (/** @type {string} */ sql) => {
            const steps = /** @type {{ detail: string }[]} */ (
              target.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...[...sql].filter((c) => c === '?'))
            )
            plans.push(...steps.map(({ detail }) => detail))
            return target.prepare(sql)
          }
        : Reflect.get(target, name)
  })
