/**
 * A data folder with backups that are set up, for tests that run the program.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { createAccounts, letterlock, scratchFolder } from './process.js'
import { WireClient } from './wire-client.js'

/** Long, because tests look for it on the disk: a short word stands in random bytes now and then. */
export const PASSWORD = 'ocelotvermilion'
export const ANNA = 'anna@example.org'
export const BEN = 'ben@example.org'

/**
 * A server with two accounts, and commands about its backups.
 *
 * @param {import('node:test').TestContext} t
 * @param {Record<string, string>} [environment]
 */
export async function backupServer(t, environment = {}) {
  const root = scratchFolder(t, 'backup')
  const data = join(root, 'data')
  const target = join(root, 'target')
  await createAccounts(data, [ANNA, BEN], PASSWORD)
  const env = { LETTERLOCK_BACKUP_FOLDER: target, ...environment }
  const backup = (/** @type {string[]} */ args, input = '', folder = data) =>
    letterlock(['backup', ...args, '--data', folder], { input, environment: env })
  const init = await backup(['init'])
  assert.equal(init.code, 0, init.stderr)
  const recoveryKey = /^recovery key: (AGE-SECRET-KEY-PQ-1\w+)$/m.exec(init.stdout)?.[1] ?? ''
  assert.notEqual(recoveryKey, '')
  return { root, data, target, backup, recoveryKey, env }
}

/**
 * @param {number} port
 * @param {string} [user]
 */
export async function logIn(port, user = ANNA) {
  const client = await WireClient.connect(port)
  await client.login(user, PASSWORD)
  return client
}

/**
 * @param {WireClient} client
 * @param {string} [mailbox]
 * @returns {Promise<number>} messages in it
 */
export async function countOf(client, mailbox = 'INBOX') {
  const answer = await client.command(`STATUS "${mailbox}" (MESSAGES)`)
  return Number(/MESSAGES (\d+)/.exec(answer)?.[1])
}
