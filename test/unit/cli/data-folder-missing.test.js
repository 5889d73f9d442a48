import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { letterlock, scratchFolder } from '../../helpers/process.js'

const ANNA = 'anna@example.org'
const PASSWORD = { input: 'secret\n' }

test('no command makes a data folder where the name of one is mistyped', async (t) => {
  const data = join(scratchFolder(t, 'mistyped'), 'data')
  const commands = [
    ['account', 'list'],
    ['account', 'show', ANNA],
    ['spool', 'list'],
    ['audit', 'export'],
    ['token', 'list'],
    ['token', 'create'],
    ['tenant', 'list'],
    ['maintain'],
    ['check', ANNA, '--password-stdin'],
    ['backup', 'init'],
    ['backup', 'list'],
    ['backup', 'run'],
    ['backup', 'restore', ANNA]
  ]
  for (const command of commands) {
    const { code, stdout, stderr } = await letterlock([...command, '--data', data], PASSWORD)
    const title = command.join(' ')
    assert.notEqual(code, 0, title)
    assert.equal(stdout, '', title)
    assert.equal(
      stderr,
      `letterlock: There is no Letterlock data in ${data}: say where it is with --data, or LETTERLOCK_DATA\n`,
      title
    )
    assert.equal(existsSync(data), false, title)
  }
})

test('account create names the data folder that it makes, and no other', async (t) => {
  const data = join(scratchFolder(t, 'made'), 'data')
  const create = (/** @type {string} */ address) =>
    letterlock(['account', 'create', address, '--password-stdin', '--data', data], PASSWORD)
  assert.equal((await create(ANNA)).stderr, `a new data folder: ${data}\n`)
  assert.equal((await create('ben@example.org')).stderr, '')
})

test('a data folder that is a file, or below one, is named in one line', async (t) => {
  const file = join(scratchFolder(t, 'file'), 'file')
  writeFileSync(file, '')
  for (const data of [file, join(file, 'data')]) {
    const options = ['--password-stdin', '--data', data]
    const { code, stderr } = await letterlock(['account', 'create', ANNA, ...options], PASSWORD)
    assert.equal(code, 1)
    assert.equal(
      stderr,
      `a new data folder: ${data}\nletterlock: There is no ${data}/directory.db: what should be a folder above it is a file (ENOTDIR)\n`
    )
  }
})

test(
  'a data folder that cannot be made is named in one line',
  { skip: !existsSync('/proc/self') },
  async () => {
    const options = ['--password-stdin', '--data', '/proc/none']
    const { code, stderr } = await letterlock(['account', 'create', ANNA, ...options], PASSWORD)
    assert.equal(code, 1)
    assert.match(stderr, /\nletterlock: The folder \/proc\/none cannot be made \(ENOENT\)\n$/)
  }
)
