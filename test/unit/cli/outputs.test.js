import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  writeFileSync
} from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  createAccounts,
  ENVIRONMENT,
  letterlock,
  MAIN,
  scratchFolder
} from '../../helpers/process.js'
import { missing } from '../../helpers/programs.js'

const ANN = 'ann@example.org'

/**
 * @param {import('node:test').TestContext} t
 * @returns {Promise<{ data: string, source: string }>} a data folder with an account, a folder with mail
 */
async function setUp(t) {
  const folder = scratchFolder(t, 'outputs')
  const [data, source] = [join(folder, 'data'), join(folder, 'source')]
  for (const path of [data, source]) mkdirSync(path)
  await createAccounts(data, [ANN])
  for (let n = 0; n < 20; n++) writeFileSync(join(source, `${n}.eml`), `Subject: ${n}\n\nbody\n`)
  return { data, source }
}

/**
 * @param {string[]} args
 * @param {number | 'closed'} stdout - a descriptor; `closed`: a pipe that nobody reads
 * @returns {Promise<{ code: number | null, stderr: string }>}
 */
async function withOutput(args, stdout) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['pipe', stdout === 'closed' ? 'pipe' : stdout, 'pipe'],
    env: ENVIRONMENT
  })
  child.stdout?.destroy()
  let stderr = ''
  child.stderr?.on('data', (chunk) => (stderr += chunk))
  child.stdin?.end('pass\n')
  const [code] = await once(child, 'close')
  return { code, stderr }
}

test('a pipe that nobody reads any longer ends no work, and is no fault', async (t) => {
  const { data, source } = await setUp(t)
  const commands = [
    ['import', '--password-stdin', source],
    ['check', ANN, '--password-stdin'],
    ['export', '--account', ANN, '--password-stdin', join(data, '..', 'out')],
    ['audit', 'export']
  ]
  for (const command of commands) {
    const ended = await withOutput([...command, '--data', data], 'closed')
    assert.deepEqual(ended, { code: 0, stderr: '' }, command.join(' '))
  }
  assert.ok(existsSync(join(data, '..', 'out', 'INBOX.mbox')))
})

test(
  'what could not be written is told, for it may have been shown this once',
  { skip: !existsSync('/dev/full') && 'this system has no /dev/full' },
  async (t) => {
    const { data } = await setUp(t)
    const full = openSync('/dev/full', 'w')
    t.after(() => closeSync(full))
    const created = ['account', 'create', 'ben@example.org', '--password-stdin']
    for (const command of [created, ['audit', 'export']]) {
      const { code, stderr } = await withOutput([...command, '--data', data], full)
      assert.equal(code, 1, stderr)
      assert.match(stderr, /^letterlock: the output cannot be written \(ENOSPC\)$/m)
      assert.doesNotMatch(stderr, /\bat .*:\d+:\d+/)
    }
  }
)

test(
  'a batch ends where the recovery codes cannot be written, and names the accounts of which they are lost',
  { skip: !existsSync('/dev/full') && 'this system has no /dev/full' },
  async (t) => {
    const { data } = await setUp(t)
    // So many are under way at once, and some more.
    const lines = Array.from({ length: 2 * availableParallelism() + 8 }, (_, index) => index)
    const full = openSync('/dev/full', 'w')
    t.after(() => closeSync(full))
    for (const stdout of /** @type {const} */ ([full, 'closed'])) {
      const domain = `${stdout}.example`
      const file = join(data, '..', domain)
      writeFileSync(file, lines.map((index) => `u${index}@${domain}\tsecret\n`).join(''))
      const create = ['account', 'create', '--batch', file, '--data', data]
      const { code, stderr } = await withOutput(create, stdout)
      assert.equal(code, 1)
      assert.match(stderr, /^letterlock: The recovery codes cannot be written \((ENOSPC|EPIPE)\)/m)
      const list = await letterlock(['account', 'list', '--domain', domain, '--data', data])
      const made = [...list.stdout.matchAll(/^\S+/gm)].map(([address]) => address)
      assert.deepEqual(
        [...stderr.matchAll(/^\s*(u\S+@\S+)$/gm)].map(([, address]) => address),
        made
      )
      assert.ok(made.length > 0 && made.length < lines.length)
    }
  }
)

test('an audit log goes on behind an id, and behind nothing else', async (t) => {
  const { data } = await setUp(t)
  const run = (/** @type {string} */ id) =>
    letterlock(['audit', 'export', '--after-id', id, '--data', data])
  assert.equal((await run('0')).code, 0)
  for (const id of ['', 'abc', '-1', '1.5']) {
    const { code, stdout, stderr } = await run(id)
    assert.deepEqual([code, stdout], [2, ''])
    assert.equal(stderr, `letterlock: “${id}” is no id of an event\n`)
  }
})

test('a recovery key of backups that could not be shown is not taken: nothing is sealed to it', async (t) => {
  const { data } = await setUp(t)
  const full = openSync('/dev/full', 'w')
  t.after(() => closeSync(full))
  for (const stdout of /** @type {const} */ ([full, 'closed'])) {
    const { code, stderr } = await withOutput(['backup', 'init', '--data', data], stdout)
    assert.equal(code, 2)
    assert.match(stderr, /^letterlock: The recovery key could not be shown \((ENOSPC|EPIPE)\)/m)
  }
  const { code, stdout } = await letterlock(['backup', 'init', '--data', data])
  assert.equal(code, 0)
  assert.match(stdout, /^recovery key: AGE-SECRET-KEY/)
})

test(
  'a portable file is written where a file can have one name only, and never over one that is there',
  { skip: missing('strace') },
  async (t) => {
    const { data } = await setUp(t)
    const out = join(data, '..', 'ann.letterlock')
    // As a USB stick with FAT answers.
    const wrapper = ['strace', '-f', '-qq', '-o', '/dev/null', '-e', 'inject=/^link:error=EPERM']
    const write = (/** @type {string[]} */ ...trouble) =>
      letterlock(['export', '--account', ANN, '--file', out, '--password-stdin', '--data', data], {
        input: 'pass\n',
        wrapper: [...wrapper, ...trouble]
      })
    // Nor is there an empty one where the last step fails.
    assert.equal((await write('-e', 'inject=/^rename:error=EIO')).code, 2)
    assert.deepEqual(readdirSync(join(data, '..')).sort(), ['data', 'source'])
    const { code, stderr } = await write()
    assert.equal(code, 0, stderr)
    const bytes = readFileSync(out)
    assert.equal(bytes.subarray(0, 10).toString('latin1').startsWith('letterlock'), true)
    assert.equal((await write()).code, 2)
    assert.deepEqual(readFileSync(out), bytes)
    assert.deepEqual(readdirSync(join(data, '..')).sort(), ['ann.letterlock', 'data', 'source'])
  }
)
