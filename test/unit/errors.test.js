import { test } from 'node:test'
import assert from 'node:assert/strict'
import { ERROR_TABLE, MailError, isMailError } from '../../src/errors.js'

test('an error carries its code, its public text, and keeps detail and cause out of both', () => {
  const error = new MailError('OVER_QUOTA', { detail: 'alice@example.org', cause: new Error('x') })
  assert.equal(error.message, ERROR_TABLE.OVER_QUOTA.text)
  assert.ok(!error.message.includes('alice'))
  assert.equal(error.temporary, false)
  assert.ok(isMailError(error, 'OVER_QUOTA'))
  assert.ok(!isMailError(new Error('x'), 'OVER_QUOTA'))
})

test('every code has a sentence for the client', () => {
  for (const [code, { text }] of Object.entries(ERROR_TABLE))
    assert.match(text, /^[A-Z][^.]+$/, code)
})
