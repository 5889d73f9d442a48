import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import test from 'node:test'
import { BackupProgress } from '../../../src/cli/backup-progress.js'
import { timeLeft } from '../../../src/cli/progress-view.js'

/**
 * @param {(progress: BackupProgress) => void} work
 * @param {boolean} isTTY
 */
function shown(work, isTTY) {
  const stream = Object.assign(new PassThrough(), { isTTY, columns: 200, cursorTo: () => true })
  const progress = new BackupProgress(/** @type {any} */ (stream), 'backing up')
  work(progress)
  progress.stop()
  return stripVTControlCharacters(String(stream.read() ?? ''))
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

test('time left is told in words while nothing is known about it', () => {
  assert.equal(timeLeft('INF'), 'some time')
  assert.equal(timeLeft('NULL'), 'some time')
  assert.equal(timeLeft(4), '4.0 s')
  assert.equal(timeLeft(7300), '2.0 h')
})
