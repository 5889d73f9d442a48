import { test } from 'node:test'
import assert from 'node:assert/strict'
import {
  contentIdOf,
  emailIdOf,
  mailboxIdOf,
  mayBeThreadId,
  threadIdOf
} from '../../../../src/imap/session/object-id.js'

test('an EMAILID leads back to its content, and nothing else does (RFC 8474 §5.1)', () => {
  for (const contentId of [1, 42, Number.MAX_SAFE_INTEGER]) {
    assert.equal(contentIdOf(emailIdOf(contentId)), contentId)
  }
  for (const id of ['', 'M', 'M01', 'm1', 'F1', 'M1x', 'M9007199254740993', 'M99999999999999999']) {
    assert.equal(contentIdOf(id), null, id)
  }
})

test('identifiers are of the characters that may be (RFC 8474 §7)', () => {
  const thread = threadIdOf({ threadRoot: '<a@x>', contentId: 1 })
  const alone = threadIdOf({ threadRoot: null, contentId: 2 ** 37 })
  for (const id of [emailIdOf(2 ** 37), mailboxIdOf(2_097_151), thread, alone])
    assert.match(id, /^[A-Za-z0-9_-]+$/)
})

test('a THREADID hangs together with the message that began the thread, and with nothing else (RFC 8474 §5.2)', () => {
  const begun = (/** @type {string} */ threadRoot, contentId = 1) =>
    threadIdOf({ threadRoot, contentId })
  assert.equal(begun('<a@x>', 1), begun('<a@x>', 2))
  assert.notEqual(begun('<a@x>'), begun('<A@x>'))
  assert.notEqual(threadIdOf({ contentId: 1 }), threadIdOf({ contentId: 2 }))
  for (const id of [begun('<a@x>'), threadIdOf({ contentId: 1 })]) assert.ok(mayBeThreadId(id), id)
  for (const id of ['', 'T', 'T01', 'M1', 't1', `${begun('<a@x>')}x`])
    assert.ok(!mayBeThreadId(id), id)
})
