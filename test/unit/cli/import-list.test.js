import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { importList } from '../../../src/cli/imap-import-list.js'
import { scratchFolder } from '../../helpers/process.js'

/** In the place of a copy: takes its passwords, tells how far it is, then ends well. */
const COPY = `process.stdin.on('end', () => {
  console.log('INBOX: 1 of 3, 1/s, 2 s left')
  console.log('copied 3, there already 0')
  console.log('1 folders')
}).resume()`

test('a line that is none ends the list after what is under way, which is told', async (t) => {
  const file = join(scratchFolder(t, 'list'), 'list.tsv')
  writeFileSync(file, 'imaps://a@old.example.net\tx\tann@example.org\ty\nno fields\n', {
    mode: 0o600
  })
  /** @type {[string, number, string | null][]} */
  const told = []
  const list = importList({
    file,
    parallel: 2,
    command: [process.execPath, '-e', COPY, '--'],
    signal: new AbortController().signal,
    onAccount: ({ account, code, report }) => told.push([account, code, report])
  })
  await assert.rejects(list, /line 2 has not four fields/)
  assert.deepEqual(told, [['ann@example.org', 0, 'copied 3, there already 0']])
})

test('what an account tells comes letter by letter, however much it is', async (t) => {
  const file = join(scratchFolder(t, 'list'), 'list.tsv')
  writeFileSync(file, 'imaps://a@old.example.net\tx\tann@example.org\ty\n', { mode: 0o600 })
  // Of odd length, so that what is read at once ends amid a letter sooner or later.
  const line = `Entwürfe: ${'ä'.repeat(1000)}`
  const tell = `process.stdin.on('end', () => console.error((process.argv[1] + '\\n').repeat(500))).resume()`
  /** @type {string[][]} */
  const told = []
  await importList({
    file,
    parallel: 1,
    command: [process.execPath, '-e', tell, '--', line],
    signal: new AbortController().signal,
    onAccount: ({ failures }) => told.push(failures)
  })
  assert.deepEqual(told, [Array(500).fill(line)])
})
