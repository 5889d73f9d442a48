/**
 * How much does the second backup of a large mailbox move, and how long is it in the user's way?
 */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { command } from '../lib/letterlock-server.js'
import { now, require, requireEqual } from '../lib/question.js'
import { untilQuiet } from '../imap/set-up.js'
import { bytesOf, fillInbox, largestMailbox, startServer } from '../maintenance/one-server.js'

/** Bytes of mail for each of the messages that the run is asked for: 100,000 make 1 GB. */
const BYTES_PER_MESSAGE = 10_000

/** Messages that come between the second backup and the third. */
const NEW_MESSAGES = 100

/** The search index begins behind the mail, milliseconds. */
const INDEX_DELAY_MS = 2000

/** @type {import('../lib/question.js').Question} */
export const question = {
  id: 'incremental',
  title: 'Backups of a large mailbox that is in use',
  notes:
    'An INBOX with 10 kB for each of the messages asked for (100,000: 1 GB), logged in throughout, so that each backup freezes and reads all of it. `letterlock backup run` into a folder: a first time, a second time without a change, a third time after 100 more messages that are in the search index. Parts are bytes that the target folder grew by, manifests included, of those of the first backup. Every 20 ms a NOOP of the same user. Checked: `backup verify` after the last one.',
  warmUp: 'the search index is complete, the server idle; nothing of the mailbox is in the target',
  lines: [
    { id: 'first', label: 'first backup', unit: 'ms', better: 'lower' },
    { id: 'second', label: 'second backup, nothing changed', unit: 'ms', better: 'lower' },
    { id: 'unchanged', label: 'moved by the second, part', unit: 'ratio', better: 'lower' },
    { id: 'third', label: 'third backup, 100 new messages', unit: 'ms', better: 'lower' },
    { id: 'changed', label: 'moved by the third, part', unit: 'ratio', better: 'lower' },
    { id: 'noop', label: 'NOOP meanwhile', unit: 'ms', better: 'lower' }
  ],
  contenders: () => [{ id: 'letterlock', label: 'Letterlock', isPeer: true, settings: {} }],
  rounds: () => 1,
  async measure(run) {
    const bytes = run.options.messages * BYTES_PER_MESSAGE
    const { data, server, logIn } = await startServer(run, { users: 1, settings: {} })
    const target = join(run.folder, 'target')
    const backup = (/** @type {string} */ name, /** @type {string[]} */ ...args) =>
      command(['backup', name, '--data', data, ...args], '', { LETTERLOCK_BACKUP_FOLDER: target })
    try {
      await backup('init')
      const client = await logIn('u1')
      const sent = await fillInbox(client, { seed: run.options.seed, bytes }, (done) =>
        run.progress(done, bytes)
      )
      await client.run('SELECT INBOX')
      await untilQuiet(server.pid)
      const observer = await logIn('u1')
      const knock = { isOver: false }
      /** @type {number[]} */
      const noops = []
      const timedBackup = async () => {
        const before = folderBytes(target)
        const start = now()
        knock.isOver = false
        const knocking = (async () => {
          while (!knock.isOver) {
            noops.push((await observer.run('NOOP')).ms)
            await sleep(20)
          }
        })()
        await backup('run')
        const ms = now() - start
        knock.isOver = true
        await knocking
        return { ms, grown: folderBytes(target) - before }
      }
      const first = await timedBackup()
      const fileBytes = bytesOf(largestMailbox(data))
      require(first.grown > fileBytes / 2, 'the first backup is too small')
      const second = await timedBackup()
      for (let i = 0; i < NEW_MESSAGES; i++)
        await fillInbox(client, { seed: run.options.seed, bytes: 1, from: sent + i })
      // The index waits for a moment without mail.
      await sleep(INDEX_DELAY_MS)
      await untilQuiet(server.pid)
      const third = await timedBackup()
      requireEqual(/^ok$/m.test(await backup('verify')), true, 'the backup verifies')
      return {
        samples: {
          first: [first.ms],
          second: [second.ms],
          unchanged: [second.grown / first.grown],
          third: [third.ms],
          changed: [third.grown / first.grown],
          noop: noops
        },
        facts: {
          messages: sent,
          file: `${megabytes(fileBytes)} MB`,
          'moved by the first': `${megabytes(first.grown)} MB`,
          'by the second': `${megabytes(second.grown)} MB`,
          'by the third': `${megabytes(third.grown)} MB`
        }
      }
    } finally {
      await server.stop()
    }
  }
}

/** @param {number} bytes */
const megabytes = (bytes) => (bytes / 1e6).toFixed(bytes < 1e8 ? 3 : 0)

/**
 * @param {string} folder
 * @returns {number} bytes of all files below it
 */
const folderBytes = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0)
