import assert from 'node:assert/strict'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { MailError } from '../../../src/errors.js'
import { isBusy, toMailError } from '../../../src/database/sqlite-error.js'

const table = /** @type {[string, string][]} */ ([
  ['SQLITE_CORRUPT', 'ACCOUNT_DAMAGED'],
  ['SQLITE_CORRUPT_VTAB', 'ACCOUNT_DAMAGED'],
  ['SQLITE_NOTADB', 'ACCOUNT_DAMAGED'],
  ['SQLITE_FULL', 'DISK_FULL'],
  ['ENOSPC', 'DISK_FULL'],
  ['SQLITE_BUSY', 'BUSY'],
  ['SQLITE_BUSY_SNAPSHOT', 'BUSY'],
  ['SQLITE_IOERR_FSYNC', 'NOT_DURABLE'],
  ['SQLITE_READONLY', 'READ_ONLY'],
  // There are descriptors: it is the file that cannot be opened.
  ['SQLITE_CANTOPEN', 'ACCOUNT_DAMAGED'],
  ['ERR_WORKER_INIT_FAILED', 'OVERLOADED'],
  ['EMFILE', 'OVERLOADED'],
  ['ENFILE', 'OVERLOADED']
])

for (const [code, expected] of table) {
  test(`${code} is ${expected}, with the cause kept for the log`, () => {
    const cause = Object.assign(new Error('SELECT secret FROM table'), { code })
    const mapped = toMailError(cause)
    assert.ok(mapped instanceof MailError)
    assert.equal(mapped.code, expected)
    assert.equal(mapped.cause, cause)
    assert.equal(mapped.message.includes('secret'), false)
    assert.equal(isBusy(cause), expected === 'BUSY')
  })
}

test('what the table does not know stays what it is', () => {
  for (const error of [
    new TypeError('fault'),
    Object.assign(new Error(), { code: 'SQLITE_ERROR' }),
    null
  ])
    assert.equal(toMailError(error), error)
})

test('Node’s own SQLite says by numbers what the other says by names', () => {
  const db = new DatabaseSync(':memory:')
  const thrownBy = (/** @type {() => void} */ work) => {
    try {
      work()
    } catch (error) {
      return error
    }
    throw new Error('nothing was thrown')
  }
  // One page is full at once.
  db.exec('PRAGMA max_page_count = 1')
  const full = thrownBy(() => db.exec('CREATE TABLE t (x)'))
  assert.equal(/** @type {MailError} */ (toMailError(full)).code, 'DISK_FULL')
  assert.equal(isBusy(full), false)
  const busy = Object.assign(new Error('x'), { code: 'ERR_SQLITE_ERROR', errcode: 5 | (2 << 8) })
  assert.equal(isBusy(busy), true)
  assert.equal(/** @type {MailError} */ (toMailError(busy)).code, 'BUSY')
  const wrong = thrownBy(() => db.exec('no SQL'))
  assert.equal(toMailError(wrong), wrong)
  db.close()
})
