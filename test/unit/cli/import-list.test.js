import assert from 'node:assert/strict'
import { chmodSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { importList } from '../../../src/cli/imap-import-list.js'
import { scratchFolder } from '../../helpers/process.js'

/** In the place of a copy: takes its passwords, tells how far it is, then ends well. */
const COPY = `process.stdin.on('end', () => {
  console.log('INBOX: 1 of 3, 1/s, 2 s left')
  console.log('copied 3, there already 0')
  console.log('1 folder')
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
  // 2 would say that nothing was done.
  await assert.rejects(list, { exitCode: 1 })
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

/**
 * @param {import('node:test').TestContext} t
 * @param {string | Buffer} content
 */
function listFile(t, content) {
  const file = join(scratchFolder(t, 'list'), 'list.tsv')
  writeFileSync(file, content, { mode: 0o600 })
  return file
}

const TWO = ['ann', 'bob']
  .map((name) => `imaps://${name}@old.example.net\ttheirs\t${name}@example.org\tours\n`)
  .join('')

test('a list with NUL bytes, as UTF-16 has them, is refused', async (t) => {
  /** @type {string[]} */
  const told = []
  const list = importList({
    file: listFile(t, Buffer.from(TWO, 'utf16le')),
    parallel: 2,
    command: [process.execPath, '-e', COPY, '--'],
    signal: new AbortController().signal,
    onAccount: ({ account }) => told.push(account)
  })
  await assert.rejects(list, /line 1 has a NUL byte/)
  assert.deepEqual(told, [])
})

test('of a list that is none, or not its owner’s alone, nothing begins', async (t) => {
  const fields = ['imaps://a@old.example.net', 'theirs', 'ann@example.org', 'ours']
  const files = [fields.slice(1), [...fields, 'more']].map((each) =>
    listFile(t, `# a remark\n\n${each.join('\t')}\n`)
  )
  const open = listFile(t, TWO)
  chmodSync(open, 0o640)
  const cases = [
    ...files.map((file) => /** @type {const} */ ([file, /line 3 has not four fields/])),
    /** @type {const} */ ([open, /chmod 600/]),
    /** @type {const} */ ([dirname(open), /is a folder/]),
    /** @type {const} */ ([`${open}.no`, /cannot be read \(ENOENT\)/])
  ]
  for (const [file, message] of cases) {
    const list = importList({
      file,
      parallel: 1,
      command: [process.execPath, '-e', COPY, '--'],
      signal: new AbortController().signal,
      onAccount: () => assert.fail(file)
    })
    await assert.rejects(list, { exitCode: 2, message })
  }
})

test('once interrupted, accounts that wait for their turn do not begin either', async (t) => {
  const interrupt = new AbortController()
  /** @type {string[]} */
  const told = []
  await importList({
    file: listFile(t, TWO),
    parallel: 1,
    command: [process.execPath, '-e', COPY, '--'],
    signal: interrupt.signal,
    onAccount: ({ account }) => {
      told.push(account)
      interrupt.abort()
    }
  })
  assert.deepEqual(told, ['ann@example.org'])
})

test('an account whose process is killed says so, and is one in part', async (t) => {
  /** @type {unknown[]} */
  const told = []
  const counts = await importList({
    file: listFile(t, TWO),
    parallel: 2,
    command: [process.execPath, '-e', "process.kill(process.pid, 'SIGKILL')", '--'],
    signal: new AbortController().signal,
    onAccount: ({ report, failures }) => told.push([report, failures])
  })
  assert.deepEqual(counts, { whole: 0, partly: 2, failed: 0 })
  assert.deepEqual(told, Array(2).fill([null, ['ended by SIGKILL']]))
})

for (const [what, command] of /** @type {[string, string[]][]} */ ([
  ['whose arguments are refused', [process.execPath, 'a\0b']],
  ['that is not there', ['/nowhere/letterlock']]
])) {
  test(`a program ${what} is the failure of each account`, async (t) => {
    /** @type {[string, number, number][]} */
    const told = []
    const counts = await importList({
      file: listFile(t, TWO),
      parallel: 2,
      command,
      signal: new AbortController().signal,
      onAccount: ({ account, code, failures }) => told.push([account, code, failures.length])
    })
    assert.deepEqual(counts, { whole: 0, partly: 0, failed: 2 })
    assert.deepEqual(told.sort(), [
      ['ann@example.org', 2, 1],
      ['bob@example.org', 2, 1]
    ])
  })
}

for (const isAborted of [false, true]) {
  test(`no password is left behind ${isAborted ? 'where nothing begins any more' : 'an import'}`, async (t) => {
    const file = listFile(t, TWO)
    const from = t.mock.method(Buffer, 'from')
    /** @type {string[]} */
    const told = []
    await importList({
      file,
      parallel: 1,
      command: [process.execPath, '-e', COPY, '--'],
      signal: isAborted ? AbortSignal.abort() : new AbortController().signal,
      onAccount: ({ account }) => told.push(account)
    })
    const copies = from.mock.calls.map(({ result }) => /** @type {Buffer} */ (result))
    from.mock.restore()
    assert.equal(told.length, isAborted ? 0 : 2)
    assert.ok(copies.length > 0)
    for (const secret of ['theirs', 'ours'])
      assert.ok(copies.every((bytes) => !bytes.includes(secret)))
  })
}
