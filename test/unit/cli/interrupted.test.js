import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeScratchFolder } from '../../../src/export/scratch-folder.js'
import {
  createAccounts,
  ENVIRONMENT,
  letterlock,
  MAIN,
  scratchFolder
} from '../../helpers/process.js'

const ANN = 'ann@example.org'

/**
 * Runs a command and interrupts it as soon as something lies in a folder.
 *
 * @param {string[]} args
 * @param {string} folder
 * @returns {Promise<string | number | null>} how it ended
 */
async function interruptedWhenIn(args, folder) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['pipe', 'ignore', 'ignore'],
    env: ENVIRONMENT
  })
  const closed = once(child, 'close')
  child.stdin.end('pass\n')
  while (child.exitCode === null && readdirSync(folder).length === 0) await sleep(1)
  child.kill('SIGINT')
  const [code, signal] = await closed
  return signal ?? code
}

/**
 * Runs a command until it says that it is ready, and some moments more, as on a terminal that is closed then.
 *
 * @param {string[]} args
 */
async function hungUpWhenReady(args) {
  const child = spawn(process.execPath, [MAIN, ...args], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: ENVIRONMENT
  })
  const closed = once(child, 'close')
  child.stdin.end('pass\n')
  let said = ''
  for await (const chunk of child.stdout) {
    said += chunk
    if (said.endsWith('ready\n')) setTimeout(() => child.kill('SIGHUP'), 50)
  }
  await closed
}

test('an export to one file that is interrupted leaves nothing behind', async (t) => {
  const folder = scratchFolder(t, 'interrupted')
  const [data, out, scratch] = ['data', 'out', 'scratch'].map((name) => join(folder, name))
  for (const path of [data, out, scratch]) mkdirSync(String(path))
  await createAccounts(String(data), [ANN])
  const file = join(String(out), 'ann.letterlock')
  const args = ['export', '--account', ANN, '--password-stdin', '--data', String(data), '--file']
  assert.equal(await interruptedWhenIn([...args, file], String(out)), 'SIGINT')
  assert.deepEqual(readdirSync(String(out)), [])

  const whole = join(folder, 'ann.letterlock')
  assert.equal((await letterlock([...args, whole], { input: 'pass\n' })).code, 0)
  const open = ['open', whole, '--scratch', String(scratch), '--password-stdin']
  await interruptedWhenIn(open, String(scratch))
  assert.deepEqual(readdirSync(String(scratch)), [])
  await hungUpWhenReady(open)
  assert.deepEqual(readdirSync(String(scratch)), [])
})

test('whoever removes a copy at a signal knows of it before it is there', (t) => {
  const prefix = join(scratchFolder(t, 'copies'), 'copy-')
  /** @type {[string, boolean][]} */
  const told = []
  const made = makeScratchFolder(prefix, (folder) => told.push([folder, existsSync(folder)]))
  assert.deepEqual(told, [[made, false]])
  assert.equal(statSync(made).mode & 0o777, 0o700)
})
