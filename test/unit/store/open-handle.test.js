import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3-multiple-ciphers'
import { OpenHandle } from '../../../src/store/open-handle.js'

/**
 * A file with a log in which nothing waits.
 *
 * @param {import('node:test').TestContext} t
 */
function setUp(t) {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-handle-'))
  const path = join(folder, 'mail.db')
  /** @type {import('better-sqlite3-multiple-ciphers').Database[]} */
  const opened = []
  const open = () => {
    const db = new Database(path)
    opened.push(db)
    return db
  }
  t.after(() => {
    for (const db of opened) db.close()
    rmSync(folder, { recursive: true })
  })
  const db = open()
  db.pragma('journal_mode = WAL')
  db.exec('CREATE TABLE messages (text TEXT)')
  db.pragma('wal_checkpoint(PASSIVE)')
  return { path, db, open }
}

/**
 * Writes so much that the file or its log grows: the times of files go by ticks.
 *
 * @param {import('better-sqlite3-multiple-ciphers').Database} db
 */
const write = (db) => db.exec('INSERT INTO messages VALUES (zeroblob(100000))')

for (const others of ['stays', 'is closed again']) {
  test(`what another writes while the file is being closed shows, also where it ${others}`, (t) => {
    const { path, db, open } = setUp(t)
    const other = open()
    const onClose = () => {
      write(other)
      if (others === 'is closed again') other.close()
    }
    const handle = new OpenHandle({ db, path, reopen: open, onWake: () => {}, onClose })
    handle.sleep(() => {})
    assert.equal(handle.hasChangedAsleep, true)
  })
}

test('what the close itself does to the log shows as nothing', (t) => {
  const { path, db, open } = setUp(t)
  const handle = new OpenHandle({ db, path, reopen: open, onWake: () => {}, onClose: () => {} })
  handle.sleep(() => {})
  assert.equal(handle.hasChangedAsleep, false)
  const other = open()
  other.prepare('SELECT * FROM messages').all()
  assert.equal(handle.hasChangedAsleep, false)
  write(other)
  assert.equal(handle.hasChangedAsleep, true)
})
