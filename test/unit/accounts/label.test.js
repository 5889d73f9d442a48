/** What an operator or a person may call things. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { requireLabel } from '../../../src/accounts/label.js'

test('a label has no control characters, which a terminal would obey', () => {
  for (const label of ['', 'my phone', 'Äcme 1', '电话', '📱'])
    assert.doesNotThrow(() => requireLabel(label), label)
  for (const label of ['a\tb', 'a\nb', 'a\u001b[2Jb', 'a\u007fb', 'a\u009bb', '\0'])
    assert.throws(() => requireLabel(label), { code: 'LABEL_REFUSED' }, JSON.stringify(label))
})

test('a label has an end', () => {
  assert.doesNotThrow(() => requireLabel('x'.repeat(100)))
  assert.throws(() => requireLabel('x'.repeat(101)), { code: 'LIMIT' })
})
