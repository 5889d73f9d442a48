import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'

/**
 * @param {string} failure - an expression
 * @returns {{ status: number | null, stdout: string, stderr: string }} of a process in which nobody waits for it
 */
function runWith(failure) {
  const module = (/** @type {string} */ path) =>
    JSON.stringify(new URL(`../../../src/${path}`, import.meta.url).href)
  const script = `
    import { MailError } from ${module('errors.js')}
    import { outliveUnawaited } from ${module('telemetry/unawaited.js')}
    outliveUnawaited({ error: ({ err }, text) => console.log(err.code, text) })
    Promise.reject(${failure})
    setTimeout(() => console.log('still there'), 20)`
  return spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8'
  })
}

test('a foreseen failure that nobody waits for is told, and the process goes on', () => {
  const { status, stdout } = runWith("new MailError('DISK_FULL')")
  assert.equal(status, 0)
  assert.equal(stdout, 'DISK_FULL a failure that nobody waited for\nstill there\n')
})

test('any other ends the process with its reason', () => {
  const { status, stdout, stderr } = runWith("new TypeError('nobody thought of this')")
  assert.notEqual(status, 0)
  assert.equal(stdout, '')
  assert.match(stderr, /TypeError: nobody thought of this/)
})
