import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import test from 'node:test'
import { BackupProgress } from '../../../src/cli/backup-progress.js'
import { timeLeft } from '../../../src/cli/progress-view.js'
import { createAccounts, letterlock, MAIN, scratchFolder } from '../../helpers/process.js'
import { missing } from '../../helpers/programs.js'

const ANN = 'ann@example.org'

/** What a terminal is told: go back to where the bar began; show the cursor; break lines. */
const BACK = '\x1b8'
const CURSOR = '\x1b[?25h'
const BREAKS = '\x1b[?7h'

/**
 * @param {string} command
 * @returns {{ stdout: string, status: number | null }} what it wrote on a terminal, and how it ended
 */
const onTerminal = (command) =>
  spawnSync('script', ['-qec', command, '/dev/null'], { encoding: 'utf8' })

/**
 * @param {(progress: BackupProgress) => void} work
 * @param {boolean} isTTY
 */
function shown(work, isTTY) {
  let text = ''
  const terminal = new Writable({
    write: (chunk, _, done) => {
      text += chunk
      done()
    }
  })
  const stream = Object.assign(terminal, { isTTY, columns: 200, cursorTo: () => true })
  const progress = new BackupProgress(/** @type {any} */ (stream), 'backing up')
  work(progress)
  progress.stop()
  return stripVTControlCharacters(text)
}

test('a bar on a terminal, by bytes, with accounts; nothing elsewhere', () => {
  const work = (/** @type {BackupProgress} */ progress) => {
    progress.update({ accounts: 0, accountsTotal: 2, bytes: 0, bytesTotal: 2000 })
    progress.update({ accounts: 1, accountsTotal: 2, bytes: 1000, bytesTotal: 2000 })
  }
  const bar = shown(work, true)
  assert.match(bar, /^backing up ░+ 0 % \| 0 B of 2\.0 kB \| 0 of 2 accounts \| /)
  assert.match(bar, /backing up █+░+ 50 % \| 1\.0 kB of 2\.0 kB \| 1 of 2 accounts \| /)
  assert.equal(shown(work, false), '')
})

test('the bar of one account alone counts no accounts: none would be done until the end', () => {
  const bar = shown((progress) => {
    progress.update({ accounts: 0, accountsTotal: 1, bytes: 2000, bytesTotal: 2000 })
  }, true)
  assert.match(bar, /100 % \| 2\.0 kB of 2\.0 kB \| [^|]+ left/)
})

test('time left is told in words while nothing is known about it', () => {
  assert.equal(timeLeft('INF'), 'some time')
  assert.equal(timeLeft('NULL'), 'some time')
  assert.equal(timeLeft(4), '4.0 s')
  assert.equal(timeLeft(7300), '2.0 h')
})

test(
  'what a restore has to say stands below its bar, where no prompt is written over it',
  { skip: missing('script') },
  async (t) => {
    const folder = scratchFolder(t, 'bar')
    const [data, password] = [join(folder, 'data'), join(folder, 'password')]
    mkdirSync(data)
    writeFileSync(password, 'pass\n')
    await createAccounts(data, [ANN])
    for (const command of ['init', 'run'])
      assert.equal((await letterlock(['backup', command, '--data', data])).code, 0)
    const restore = `${process.execPath} ${MAIN} backup restore ${ANN} --data ${data}`
    for (const [options, expected] of /** @type {const} */ ([
      ['--yes', /ann@example\.org is as it was.*\r\n.*kept in/],
      [`--as ann2@example.org --password-stdin < ${password}`, /recovery code: llrec-/]
    ])) {
      const { stdout, status } = onTerminal(`${restore} ${options}`)
      assert.equal(status, 0, stdout)
      assert.match(stdout, /restoring .* 100 %/)
      assert.match(String(stdout.split(BACK).at(-1)), expected)
    }
  }
)

test(
  'a command that a signal ends amid its bars leaves the terminal as it was',
  { skip: missing('script') },
  (t) => {
    const folder = new URL('../../../src/cli/', import.meta.url)
    const program = join(scratchFolder(t, 'bar'), 'program.mjs')
    const single = `import { TerminalBar } from '${folder}terminal-bar.js'
      new TerminalBar(process.stdout, '{bar}').update(1, 2)`
    // As the imports, which come to their end by themselves at the first Ctrl-C.
    const several = `import { ProgressView } from '${folder}progress-view.js'
      const { stdout, stderr } = process
      process.once('SIGINT', () => setTimeout(() => process.kill(process.pid, 'SIGINT'), 10))
      const clock = { nowMs: () => 1 }
      new ProgressView({ stdout, stderr, clock }, { format: '{bar}' }).bars.create(2, 1)`
    for (const [bars, signal, expected] of /** @type {const} */ ([
      [single, 'SIGINT', 130],
      [several, 'SIGINT', 130],
      [several, 'SIGTERM', 143],
      [several, 'SIGHUP', 129]
    ])) {
      writeFileSync(
        program,
        `${bars}
        setTimeout(() => process.kill(process.pid, '${signal}'), 10)
        setInterval(() => {}, 1000)`
      )
      const { stdout, status } = onTerminal(`${process.execPath} ${program}`)
      assert.equal(status, expected)
      for (const sign of [CURSOR, BREAKS])
        assert.ok(stdout.includes(sign), `${signal}: ${JSON.stringify(stdout)}`)
    }
  }
)
