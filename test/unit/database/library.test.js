/**
 * How SQLite's library makes rows: one function for statements with the same columns.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import Database from '../../../src/database/library.js'

const LIBRARY = new URL('../../../src/database/library.js', import.meta.url)

const COUNTING = `
    const made = []
    globalThis.Function = new Proxy(Function, {
      apply(target, self, parts) {
        made.push(parts.at(-1))
        return Reflect.apply(target, self, parts)
      }
    })`

/**
 * @param {string} body - of a program that has `Database`; `made` counts the functions that are made from text
 * @returns {unknown} what it prints
 */
function run(body) {
  const program = `
    ${COUNTING}
    const { default: Database } = await import(${JSON.stringify(LIBRARY.href)})
    ${body}`
  const ended = spawnSync(process.execPath, ['--input-type=module', '-e', program])
  assert.equal(ended.stderr.toString(), '')
  return JSON.parse(ended.stdout.toString())
}

test('statements with the same columns make their rows by one function, whichever database they are of', () => {
  const made = run(`
    for (let number = 0; number < 3; number++) {
      const db = new Database(':memory:')
      db.exec('CREATE TABLE m (uid, flags)')
      db.prepare('INSERT INTO m VALUES (?, ?)').run(number, 0)
      db.prepare('SELECT uid, flags FROM m').get()
      db.prepare('SELECT uid, flags FROM m WHERE uid < 10').all()
      db.prepare('SELECT flags, uid FROM m').get()
      // Prepared anew, because its table is another one now.
      const count = db.prepare('SELECT count(*) AS n FROM m')
      count.get()
      db.exec('ALTER TABLE m ADD COLUMN seq')
      count.get()
      db.close()
    }
    console.log(JSON.stringify(made))`)
  assert.deepEqual(made, [
    'return (v0,v1) => ({"uid":v0,"flags":v1})',
    'return (v0,v1) => ({"flags":v0,"uid":v1})',
    'return (v0) => ({"n":v0})'
  ])
})

test('so do those of a thread', () => {
  const made = run(`
    const { Worker } = await import('node:worker_threads')
    // As a module, because the program itself is one.
    const thread = new Worker(\`
      ${COUNTING}
      const { default: Database } = await import(${JSON.stringify(LIBRARY.href)})
      for (let number = 0; number < 3; number++) {
        const db = new Database(':memory:')
        db.prepare('SELECT 1 AS one').get()
        db.close()
      }
      const { parentPort } = await import('node:worker_threads')
      parentPort.postMessage(made)\`, { eval: true })
    thread.once('message', (made) => console.log(JSON.stringify(made)))`)
  assert.deepEqual(made, ['return (v0) => ({"one":v0})'])
})

for (const { title, sql, row } of [
  { title: 'one column', sql: 'SELECT 1 AS a', row: { a: 1 } },
  { title: 'the same names in another order', sql: 'SELECT 1 AS b, 2 AS a', row: { b: 1, a: 2 } },
  { title: 'names that run together alike', sql: 'SELECT 1 AS "b,a"', row: { 'b,a': 1 } },
  { title: 'a name twice: the last one counts', sql: 'SELECT 1 AS a, 2 AS a', row: { a: 2 } },
  { title: 'a name with a quote and a line', sql: `SELECT 1 AS "a""b\nc"`, row: { 'a"b\nc': 1 } },
  { title: 'no name', sql: 'SELECT 1 AS ""', row: { '': 1 } }
]) {
  test(`rows have the columns of their own statement: ${title}`, () => {
    const db = new Database(':memory:')
    for (let time = 0; time < 2; time++) assert.deepEqual(db.prepare(sql).get(), row)
    db.close()
  })
}

test('a row belongs to its caller alone', () => {
  const db = new Database(':memory:')
  const statement = db.prepare('SELECT 1 AS a')
  const row = /** @type {{ a: number }} */ (statement.get())
  row.a = 2
  assert.deepEqual(statement.get(), { a: 1 })
  db.close()
})
