import assert from 'node:assert/strict'
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
    // There are descriptors: what SQLite cannot open is something else.
    Object.assign(new Error(), { code: 'SQLITE_CANTOPEN' }),
    null
  ])
    assert.equal(toMailError(error), error)
})
