import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { importList } from '../../../src/cli/imap-import-list.js'
import { scratchFolder } from '../../helpers/process.js'

/** In the place of a copy: takes its passwords, then ends well. */
const COPY = "process.stdin.on('end', () => process.exit(0)).resume()"

test('a line that is none ends the list after what is under way, which is told', async (t) => {
  const file = join(scratchFolder(t, 'list'), 'list.tsv')
  writeFileSync(file, 'imaps://a@old.example.net\tx\tann@example.org\ty\nno fields\n', {
    mode: 0o600
  })
  /** @type {[string, number][]} */
  const told = []
  const list = importList({
    file,
    parallel: 2,
    command: [process.execPath, '-e', COPY, '--'],
    signal: new AbortController().signal,
    onAccount: ({ account, code }) => told.push([account, code])
  })
  await assert.rejects(list, /line 2 has not four fields/)
  assert.deepEqual(told, [['ann@example.org', 0]])
})
