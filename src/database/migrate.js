/**
 * Numbered SQL files bring a database to the schema of this program: each is applied once, in order, in an exclusive
 * transaction, and remembered with the checksum of its text.
 */
import { createHash } from 'node:crypto'
import { readFileSync, readdirSync } from 'node:fs'
import { basename } from 'node:path'
import { MailError } from '../errors.js'

/**
 * @typedef {import('better-sqlite3-multiple-ciphers').Database} Database
 * @typedef {object} Migration
 * @property {number} version - the number that the file's name begins with
 * @property {string} name - the file's name
 * @property {string} sql
 * @property {string} checksum - SHA-256 of the file, hexadecimal
 */

const HISTORY = `
CREATE TABLE IF NOT EXISTS schema_migrations (
  version INTEGER PRIMARY KEY, -- number of the file
  name TEXT NOT NULL, -- name of the file when it was applied
  checksum TEXT NOT NULL, -- SHA-256 of the file's bytes, hexadecimal
  applied_at INTEGER NOT NULL -- when, milliseconds since 1970
) STRICT`

const FILE_NAME = /^(\d{4})-[a-z0-9-]+\.sql$/

/**
 * @param {URL} folder - folder of files named `0001-what-it-does.sql`, numbered without a gap
 * @returns {Migration[]} in order
 * @throws {Error} when a number is missing or stands twice
 */
export function readMigrations(folder) {
  const base = folder.href.endsWith('/') ? folder : new URL(`${folder.href}/`)
  const names = readdirSync(base).filter((name) => FILE_NAME.test(name))
  return names.sort().map((name, index) => {
    const version = Number(FILE_NAME.exec(name)?.[1])
    if (version !== index + 1)
      throw new Error(`Migration ${name} is not number ${index + 1} of its folder`)
    const bytes = readFileSync(new URL(name, base))
    const checksum = createHash('sha256').update(bytes).digest('hex')
    return { version, name, sql: bytes.toString('utf8'), checksum }
  })
}

/**
 * @param {Database} db
 * @returns {{ version: number, checksum: string }[]}
 */
function appliedMigrations(db) {
  const exists = db
    .prepare("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'schema_migrations'")
    .get()
  if (!exists) return []
  return /** @type {{ version: number, checksum: string }[]} */ (
    db.prepare('SELECT version, checksum FROM schema_migrations ORDER BY version').all()
  )
}

/**
 * The migrations that the file lacks.
 *
 * @param {Database} db
 * @param {Migration[]} migrations - of readMigrations
 * @returns {Migration[]}
 * @throws {MailError} FILE_TOO_NEW when the file has a version that this program does not know;
 *   SCHEMA_MISMATCH when a migration that was applied has been edited since
 */
export function pendingMigrations(db, migrations) {
  const applied = appliedMigrations(db)
  for (const row of applied) {
    const known = migrations[row.version - 1]
    if (!known) throw tooNew(db, Math.max(...applied.map(({ version }) => version)), migrations)
    if (known.checksum !== row.checksum)
      throw new MailError('SCHEMA_MISMATCH', { detail: `checksum of migration ${known.name}` })
  }
  return migrations.slice(applied.length)
}

/**
 * @param {Database} db
 * @param {number} version - the file's
 * @param {Migration[]} migrations - that this program knows
 * @returns {MailError} FILE_TOO_NEW, with the versions, for somebody who has gone back to an older program
 */
function tooNew(db, version, { length }) {
  const file = `${basename(db.name)} has schema ${version}, and this program knows none above ${length}`
  return new MailError('FILE_TOO_NEW', {
    detail: `${file}: start the newer one again, or see docs/operations.md, “Upgrading”`
  })
}

/**
 * Brings the file to the newest of these schemas. A file that has it already is only read. A new one gets all migrations in one
 * transaction, which waits for the disk once.
 *
 * @param {Database} db - not inside a transaction
 * @param {Migration[]} migrations - of readMigrations
 * @param {{ clock: import('../support/clock.js').Clock }} options
 * @returns {number} how many migrations were applied
 * @throws {MailError} FILE_TOO_NEW, SCHEMA_MISMATCH
 */
export function migrate(db, migrations, { clock }) {
  let count = 0
  while (pendingMigrations(db, migrations).length > 0) {
    db.exec('BEGIN EXCLUSIVE')
    try {
      // Read again under the lock: another process may have applied some meanwhile.
      const pending = pendingMigrations(db, migrations)
      const isNew = pending.length === migrations.length
      const next = isNew ? pending : pending.slice(0, 1)
      for (const migration of next) apply(db, migration, clock.nowMs())
      db.exec('COMMIT')
      count += next.length
    } finally {
      if (db.inTransaction) db.exec('ROLLBACK')
    }
  }
  return count
}

/**
 * @param {Database} db - in a transaction
 * @param {Migration} migration
 * @param {number} nowMs
 */
function apply(db, { version, name, checksum, sql }, nowMs) {
  db.exec(HISTORY)
  db.exec(sql)
  db.prepare(
    'INSERT INTO schema_migrations (version, name, checksum, applied_at) VALUES (?, ?, ?, ?)'
  ).run(version, name, checksum, nowMs)
}
