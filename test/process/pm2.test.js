import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { ENVIRONMENT, scratchFolder } from '../helpers/process.js'

const SCRIPT = fileURLToPath(new URL('../../scripts/cluster.js', import.meta.url))

/**
 * @param {string} data
 * @returns {number[]} ids of the workers that serve from there, whether PM2 knows them or not
 */
function workersOf(data) {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        const variables = readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0')
        // Node gives the second variable to workers of a cluster alone.
        const isOurs = variables.includes(`LETTERLOCK_DATA=${data}`)
        return isOurs && variables.some((variable) => variable.startsWith('NODE_UNIQUE_ID='))
      } catch {
        // It has ended, or is nobody's of this user.
        return false
      }
    })
    .map(Number)
}

test(
  'a reload just after a worker has died leaves one worker in its place, and a stop none',
  { skip: process.platform === 'linux' ? false : 'processes are listed on Linux alone' },
  async (t) => {
    const data = join(scratchFolder(t, 'pm2'), 'data')
    const listen = Object.fromEntries(
      ['IMAP', 'IMAPS', 'LMTP', 'ADMIN'].map((name) => [`LETTERLOCK_${name}_LISTEN`, '127.0.0.1:0'])
    )
    const env = {
      ...ENVIRONMENT,
      ...listen,
      LETTERLOCK_DATA: data,
      LETTERLOCK_CLUSTER_WORKERS: '1'
    }
    const cluster = (/** @type {string} */ command) =>
      promisify(execFile)(process.execPath, [SCRIPT, command], { env })
    try {
      await cluster('start')
      const [worker, ...others] = workersOf(data)
      assert.ok(worker)
      assert.deepEqual(others, [])
      process.kill(worker, 'SIGKILL')
      await cluster('reload')
      const after = workersOf(data)
      assert.equal(after.length, 1)
      assert.ok(!after.includes(worker))
    } finally {
      await cluster('stop')
    }
    assert.deepEqual(workersOf(data), [])
  }
)

test(
  'what would keep new workers from beginning is said before old ones are told to end',
  { skip: process.platform === 'linux' ? false : 'processes are listed on Linux alone' },
  async (t) => {
    const folder = scratchFolder(t, 'pm2')
    const data = join(folder, 'data')
    // A system's own Node that is older than this program's.
    const bin = join(folder, 'bin')
    mkdirSync(bin)
    writeFileSync(join(bin, 'node'), '#!/bin/sh\nexit 9\n', { mode: 0o755 })
    const listen = Object.fromEntries(
      ['IMAP', 'IMAPS', 'LMTP', 'ADMIN'].map((name) => [`LETTERLOCK_${name}_LISTEN`, '127.0.0.1:0'])
    )
    const env = {
      ...ENVIRONMENT,
      ...listen,
      PATH: `${bin}:${process.env['PATH']}`,
      LETTERLOCK_DATA: data,
      LETTERLOCK_CLUSTER_WORKERS: '1'
    }
    const cluster = (/** @type {string} */ command, changed = {}) =>
      promisify(execFile)(process.execPath, [SCRIPT, command], { env: { ...env, ...changed } })
    try {
      await cluster('start')
      const before = workersOf(data)
      assert.equal(before.length, 1)
      const missing = join(folder, 'nowhere.pem')
      const changed = { LETTERLOCK_TLS_CERTIFICATE: missing, LETTERLOCK_TLS_KEY: missing }
      await assert.rejects(cluster('reload', changed), (/** @type {any} */ error) => {
        assert.equal(error.code, 1)
        assert.match(error.stderr, /^letterlock: /)
        assert.match(error.stderr, /nowhere\.pem/)
        return true
      })
      assert.deepEqual(workersOf(data), before)
    } finally {
      await cluster('stop')
    }
  }
)
