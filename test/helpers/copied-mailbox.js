/**
 * A mailbox to be copied for a backup, and processes that have it open meanwhile.
 */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { copyMailbox } from '../../src/backup/copy-mailbox.js'
import { KnownUnits } from '../../src/backup/known-units.js'
import { RateLimit } from '../../src/backup/rate-limit.js'
import { Staging } from '../../src/backup/staging.js'
import { openEncryptedDatabase } from '../../src/database/open.js'
import { createAccountStore } from '../../src/store/account-store.js'
import { systemClock } from '../../src/support/clock.js'
import { appendOne, makeMessage, scratchFolder } from './account-folder.js'

/** A well-behaved owner, and a process that ignores mail.freeze: arguments of `start`. */
export const OWNER = fileURLToPath(new URL('backup-owner.js', import.meta.url))
export const RUDE = fileURLToPath(new URL('rude-writer.js', import.meta.url))

const KEY = Buffer.alloc(32, 7)

/** A test makes so many copies. */
export const ROUNDS = process.env['LETTERLOCK_TEST_TORTURE'] === '1' ? 50 : 4

/**
 * A mailbox that nobody has open. This process never opens it through SQLite again: as a backup, it reads it by `fs`.
 *
 * @param {import('node:test').TestContext} t
 * @param {RateLimit} [limit] - of reading
 */
export async function mailboxToCopy(t, limit = new RateLimit(0)) {
  const root = await scratchFolder(t)
  const folder = join(root, 'account')
  const runFolder = join(root, 'run')
  const scratch = join(root, 'scratch')
  for (const made of [runFolder, scratch]) mkdirSync(made)
  const store = await createAccountStore({ folder, key: KEY, clock: systemClock })
  for (let i = 0; i < 10; i++) await appendOne(store, 'INBOX', makeMessage(`first ${i}`, 100_000))
  await store.close()
  const staging = await Staging.open(join(scratch, 'units'), limit)
  t.after(() => staging.close())

  /** @param {Partial<import('../../src/backup/copy-mailbox.js').CopyOptions>} [options] */
  const copy = async (options = {}) => {
    await staging.rewind()
    return await copyMailbox({
      account: /** @type {any} */ ({ id: 'a', folder }),
      runFolder,
      scratchFolder: scratch,
      staging,
      known: new KnownUnits([]),
      previousStamp: null,
      clock: systemClock,
      onRead: () => {},
      ...options
    })
  }

  /**
   * @param {import('../../src/backup/copy-mailbox.js').MailboxCopy} made
   * @param {string} name
   * @returns {Promise<string>} a folder with the copy in it
   */
  const place = async (made, name) => {
    const target = join(root, name)
    mkdirSync(target)
    for await (const { file, bytes } of staging.units([...made.spool, ...(made.mailbox ?? [])]))
      if (bytes) appendFileSync(join(target, file.path.replaceAll('/', '-')), bytes)
    return target
  }
  return { folder, runFolder, copy, place, staging }
}

/**
 * @param {string} folder
 * @returns {{ integrity: string, messages: number }}
 */
export function look(folder) {
  const { db } = openEncryptedDatabase({
    path: join(folder, 'mail.db'),
    key: KEY,
    cipher: 'chacha20'
  })
  try {
    return {
      integrity: String(db.pragma('integrity_check', { simple: true })),
      messages: Number(db.prepare('SELECT count(*) FROM messages').pluck().get())
    }
  } finally {
    db.close()
  }
}

/**
 * @param {string} helper
 * @param {string[]} args
 */
export async function start(helper, args) {
  const child = spawn(process.execPath, [helper, ...args], { stdio: ['pipe', 'pipe', 'inherit'] })
  let acknowledged = 0
  let isReady = false
  const ready = new Promise((resolve) => {
    child.stdout.on('data', (chunk) => {
      acknowledged += String(chunk)
        .split('\n')
        .filter((line) => line.startsWith('ack')).length
      if (!isReady) resolve(undefined)
      isReady = true
    })
  })
  const closed = once(child, 'close')
  let isKilled = false
  // A test that waits for a line of a dead process would wait for ever.
  const failEnded = () => assert.ok(isKilled, `${helper} has ended by itself`)
  await Promise.race([ready, closed.then(failEnded)])
  return {
    child,
    acknowledged: () => {
      if (child.exitCode !== null || child.signalCode !== null) failEnded()
      return acknowledged
    },
    kill: async () => {
      isKilled = true
      child.kill('SIGKILL')
      await closed
    }
  }
}
