/**
 * What the tests of backups share: a host with accounts, set up for backups into a folder.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { initBackups } from '../../src/backup/init.js'
import { Repository } from '../../src/backup/repository.js'
import { runBackup } from '../../src/backup/run.js'
import { openFolderTarget } from '../../src/backup/targets/folder.js'
import { verifyBackups } from '../../src/backup/verify.js'
import { makeAccount, logIn, openTestAccounts, withStore } from './accounts.js'
import { appendOne, makeMessage } from './account-folder.js'

/**
 * @param {import('node:test').TestContext} t - all is closed and removed after it
 * @param {Record<string, unknown>} [settings] - dotted names as in config/default.js
 */
export async function openBackupHost(t, settings = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'letterlock-target-'))
  t.after(() => rm(folder, { recursive: true, force: true }))
  const host = await openTestAccounts(t, { 'backup.folder': folder, ...settings })
  const { services, clock } = host
  const { config, logger } = services
  const target = openFolderTarget(folder)
  const repository = new Repository(target)
  let recoveryKey = ''
  await initBackups({
    data: config.data,
    repository,
    clock,
    showKey: (key) => {
      recoveryKey = key
    }
  })
  return {
    ...host,
    folder,
    config,
    target,
    repository,
    recoveryKey,
    /** A backup, an hour after the one before. */
    backUp: async () => {
      clock.advance(60 * 60 * 1000)
      return await runBackup({ config, target, clock, logger })
    },
    /**
     * @param {string} address
     * @param {number} [messages]
     * @param {number} [sizeBytes] - of each
     */
    addAccount: async (address, messages = 0, sizeBytes = 2000) => {
      const made = await makeAccount(services, address, 'secret of the user')
      await fill(services, address, messages, sizeBytes)
      return made.account
    },
    /**
     * @param {string} address
     * @param {number} messages
     * @param {number} [sizeBytes]
     */
    addMessages: (address, messages, sizeBytes = 2000) =>
      fill(services, address, messages, sizeBytes),
    /**
     * @param {string} address
     * @param {import('../../src/accounts/services.js').AccountServices} [of]
     * @returns {Promise<{ count: number, uidNext: number, uidValidity: number, highestModSeq: number }>}
     */
    inboxOf: async (address, of = services) => {
      const { account, masterKey } = await logIn(of, 'secret of the user', { username: address })
      try {
        return await withStore(of, account, masterKey, async (store) => {
          const { messageCount, uidNext, uidValidity, highestModSeq } =
            await store.mailboxStatus('INBOX')
          return { count: messageCount, uidNext, uidValidity, highestModSeq }
        })
      } finally {
        masterKey.dispose()
      }
    }
  }
}

/**
 * @param {import('../../src/accounts/services.js').AccountServices} services
 * @param {string} address
 * @param {number} messages
 * @param {number} sizeBytes
 */
async function fill(services, address, messages, sizeBytes) {
  if (messages === 0) return
  const { account, masterKey } = await logIn(services, 'secret of the user', { username: address })
  try {
    await withStore(services, account, masterKey, async (store) => {
      for (let i = 0; i < messages; i++)
        await appendOne(store, 'INBOX', makeMessage(`${address} ${Math.random()}`, sizeBytes))
    })
  } finally {
    masterKey.dispose()
  }
}

/**
 * @param {{ repository: Repository }} host
 * @param {{ isQuick?: boolean }} [options]
 * @returns {ReturnType<typeof verifyBackups>} of every generation that there is
 */
export async function verifyAll({ repository }, options = {}) {
  const generations = await repository.listGenerations()
  return await verifyBackups({ repository, generations, ...options })
}
