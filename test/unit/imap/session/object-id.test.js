import { test } from 'node:test'
import assert from 'node:assert/strict'
import { contentIdOf, emailIdOf, mailboxIdOf } from '../../../../src/imap/session/object-id.js'

test('an EMAILID leads back to its content, and nothing else does (RFC 8474 §5.1)', () => {
  for (const contentId of [1, 42, Number.MAX_SAFE_INTEGER]) {
    assert.equal(contentIdOf(emailIdOf(contentId)), contentId)
  }
  for (const id of ['', 'M', 'M01', 'm1', 'F1', 'M1x', 'M9007199254740993', 'M99999999999999999']) {
    assert.equal(contentIdOf(id), null, id)
  }
})

test('identifiers are of the characters that may be (RFC 8474 §7)', () => {
  for (const id of [emailIdOf(2 ** 37), mailboxIdOf(2_097_151)])
    assert.match(id, /^[A-Za-z0-9_-]+$/)
})
