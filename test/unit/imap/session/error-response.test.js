import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ERROR_TABLE, MailError } from '../../../../src/errors.js'
import { replyToFailure, WrongState } from '../../../../src/imap/session/error-response.js'
import { SyntaxFailure } from '../../../../src/imap/protocol/syntax-failure.js'

/** @type {object[]} */
const logged = []
const logger = {
  warn: (/** @type {object} */ fields) => logged.push(fields),
  error: (/** @type {object} */ fields) => logged.push(fields)
}
const replyTo = (/** @type {unknown} */ error, commandName = 'SELECT') =>
  replyToFailure(error, { commandName, logger })

/** @type {[code: import('../../../../src/errors.js').ErrorCode, command: string, response: string][]} */
const CASES = [
  ['MAILBOX_NOT_FOUND', 'SELECT', 'NONEXISTENT'],
  ['MAILBOX_NOT_FOUND', 'APPEND', 'TRYCREATE'],
  ['MAILBOX_NOT_FOUND', 'COPY', 'TRYCREATE'],
  ['MAILBOX_NOT_FOUND', 'UID MOVE', 'TRYCREATE'],
  ['MAILBOX_EXISTS', 'CREATE', 'ALREADYEXISTS'],
  ['MAILBOX_HAS_CHILDREN', 'DELETE', 'HASCHILDREN'],
  ['CANNOT', 'DELETE', 'CANNOT'],
  ['OVER_QUOTA', 'APPEND', 'OVERQUOTA'],
  ['TOO_BIG', 'APPEND', 'TOOBIG'],
  ['LIMIT', 'STORE', 'LIMIT'],
  ['READ_ONLY', 'STORE', 'READ-ONLY'],
  ['NO_PERMISSION', 'STORE', 'NOPERM'],
  ['AUTHENTICATION_FAILED', 'LOGIN', 'AUTHENTICATIONFAILED'],
  ['TLS_REQUIRED', 'LOGIN', 'PRIVACYREQUIRED'],
  ['THROTTLED', 'LOGIN', 'UNAVAILABLE'],
  ['BUSY', 'STORE', 'INUSE'],
  ['DISK_FULL', 'APPEND', 'UNAVAILABLE'],
  ['NOT_DURABLE', 'APPEND', 'UNAVAILABLE'],
  ['ACCOUNT_DAMAGED', 'FETCH', 'CORRUPTION'],
  ['KEYS_CONTRADICT', 'LOGIN', 'CORRUPTION'],
  ['DIRECTORY_DAMAGED', 'LOGIN', 'UNAVAILABLE'],
  ['MESSAGE_GONE', 'COPY', 'EXPUNGEISSUED']
]

test('each domain error has its response code, and the text of the table', () => {
  for (const [code, command, response] of CASES) {
    const { reply } = replyTo(new MailError(code, { detail: 'secret detail' }), command)
    assert.deepEqual(reply, { status: 'NO', code: response, text: ERROR_TABLE[code].text }, code)
  }
})

test('the wrong state and bad syntax are BAD with the reason, as a strike', () => {
  assert.equal(replyTo(new WrongState('Log in first')).reply.status, 'BAD')
  const { reply } = replyTo(new SyntaxFailure('BAD_SYNTAX', 'Expected a mailbox'))
  assert.deepEqual(reply, { status: 'BAD', code: 'CLIENTBUG', text: 'Expected a mailbox' })
})

test('what nobody expected is SERVERBUG with a reference that the log has, and not a word of the error', () => {
  logged.length = 0
  const error = new TypeError('secret of alice@example.org')
  const { reply, reference } = replyTo(error)
  assert.equal(reply.code, 'SERVERBUG')
  assert.ok(reference !== null && reply.text.includes(reference))
  assert.equal(reply.text.includes('secret'), false)
  assert.deepEqual(logged, [{ command: 'SELECT', reference, err: error }])
})
