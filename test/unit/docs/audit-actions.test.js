import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { AUDIT_ACTIONS } from '../../../src/accounts/audit-actions.js'

const FILE = new URL('../../../docs/admin.md', import.meta.url)

test('docs/admin.md explains each action of the audit log once, and no other', () => {
  const [, table = ''] = readFileSync(FILE, 'utf8').split('| `action` | tells |')
  const [rows = ''] = table.split('\n\n')
  const explained = [...rows.matchAll(/^\| ([^|]+) \|/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name)
  )
  assert.deepEqual(explained.sort(), [...AUDIT_ACTIONS].sort())
})
