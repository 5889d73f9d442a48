import assert from 'node:assert/strict'
import { test } from 'node:test'
import { normalizeMailboxName, requireMailboxName } from '../../../src/store/mailbox-name.js'

const names = /** @type {[string, string][]} */ ([
  ['inbox', 'INBOX'],
  ['InBox/Sub', 'INBOX/Sub'],
  ['inboxes', 'inboxes'],
  ['Inbox2', 'Inbox2'],
  ['a/inbox', 'a/inbox'],
  ['Entwürfe', 'Entwürfe']
])

for (const [given, stored] of names)
  test(`${given} is stored as ${stored}`, () => {
    assert.equal(normalizeMailboxName(given), stored)
    assert.equal(requireMailboxName(given), stored)
  })

test('a trailing delimiter is dropped', () => assert.equal(requireMailboxName('a/b/'), 'a/b'))

for (const name of ['', '/', 'a//b', '/a', 'a//', 'a\u0000b', 'a\nb', 'a\u007f', '\ud800'])
  test(`${JSON.stringify(name)} is no mailbox name`, () =>
    assert.throws(() => requireMailboxName(name), { code: 'CANNOT' }))

test('a name is at most 1,024 bytes and 40 levels long', () => {
  assert.equal(requireMailboxName('x'.repeat(1024)).length, 1024)
  assert.throws(() => requireMailboxName('x'.repeat(1025)), { code: 'LIMIT' })
  assert.throws(() => requireMailboxName('ü'.repeat(513)), { code: 'LIMIT' })
  assert.ok(requireMailboxName(Array(40).fill('a').join('/')))
  assert.throws(() => requireMailboxName(Array(41).fill('a').join('/')), { code: 'LIMIT' })
})
