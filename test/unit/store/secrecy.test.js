/**
 * No word of any message, folder name or keyword is in any file in the clear, whatever is done.
 */
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'

const WORKER = fileURLToPath(new URL('../../helpers/secret-work.js', import.meta.url))
const hasStrace = spawnSync('strace', ['-V']).status === 0

/** Built at run time, so that the module's own source does not hold the words. */
const MARKERS = ['body', 'subject', 'folder', 'keyword', 'import', 'spool', 'spill'].map((what) =>
  ['Zz9marker', what, 'Qx7'].join('')
)

/**
 * @param {string} folder
 * @returns {string[]} all files below it
 */
function filesBelow(folder) {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, name))
    .filter((path) => statSync(path).isFile())
}

/** @param {import('node:test').TestContext} t */
function scratch(t) {
  const folder = mkdtempSync(join(tmpdir(), 'letterlock-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

test('no marker is in any file of the account, while it is open and afterwards', (t) => {
  const folder = scratch(t)
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [WORKER, join(folder, 'account'), 'look'],
    {
      encoding: 'latin1',
      maxBuffer: 2 ** 30
    }
  )
  assert.equal(status, 0, stderr)
  for (const marker of MARKERS) {
    assert.equal(stdout.includes(marker), false)
    for (const path of filesBelow(folder))
      assert.equal(readFileSync(path).includes(marker), false, `${marker} in ${path}`)
  }
})

test(
  'no marker is in anything that is written to any file, temporary ones included',
  {
    skip: !hasStrace && 'strace is not on this machine'
  },
  (t) => {
    const folder = scratch(t)
    const trace = join(folder, 'trace')
    const account = join(folder, 'account')
    const calls = 'trace=write,pwrite64,writev,pwritev'
    const { status, stderr } = spawnSync(
      'strace',
      ['-f', '-s', '1000000', '-e', calls, '-o', trace, process.execPath, WORKER, account, 'work'],
      { encoding: 'latin1' }
    )
    assert.equal(status, 0, stderr)
    const written = readFileSync(trace)
    assert.ok(written.includes('plain-control-word'))
    assert.ok(written.includes('pwrite64('))
    for (const marker of MARKERS) assert.equal(written.includes(marker), false, marker)
  }
)
