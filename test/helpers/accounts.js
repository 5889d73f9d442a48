/**
 * The real directory, keys and mailboxes in a folder of their own, with the cheapest derivation that the
 * configuration permits.
 */
import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import Database from 'better-sqlite3-multiple-ciphers'
import { loadConfig } from '../../config/load.js'
import { createAppPassword } from '../../src/accounts/app-passwords.js'
import { openAccountServices } from '../../src/accounts/services.js'
import { provisionAccount } from '../../src/accounts/provision.js'
import { closeSealIdentities, openSealIdentities } from '../../src/accounts/seal-identity.js'
import { deriveDatabaseKey } from '../../src/crypto/key-derivation.js'
import { drainSpool } from '../../src/delivery/drain.js'
import { isMailError } from '../../src/errors.js'
import { openAccountStore } from '../../src/store/account-store.js'
import { recordingLogger } from './log-lines.js'
import { ManualClock } from './manual-clock.js'

/**
 * @typedef {import('../../src/accounts/services.js').AccountServices} AccountServices
 * @typedef {import('../../src/accounts/directory-port.js').Account} Account
 */

/**
 * @param {import('node:test').TestContext} t - all is closed and removed after it
 * @param {Record<string, unknown>} [settings] - dotted names as in config/default.js
 */
export async function openTestAccounts(t, settings = {}) {
  const data = await mkdtemp(join(tmpdir(), 'letterlock-accounts-'))
  const clock = new ManualClock()
  const { logger, lines } = recordingLogger()
  /** @type {AccountServices[]} */
  const opened = []
  const open = async (/** @type {Record<string, unknown>} */ change = {}) => {
    const config = loadConfig({
      settings: {
        data,
        defaultDomain: 'example.org',
        'auth.argon2.memoryKiB': 19 * 1024,
        ...settings,
        ...change
      },
      environment: {}
    })
    const services = await openAccountServices({ config, clock, logger })
    opened.push(services)
    return services
  }
  t.after(async () => {
    for (const services of opened) await services.close().catch(() => {})
    await rm(data, { recursive: true, force: true })
  })
  return { services: await open(), open, data, clock, lines }
}

/**
 * @param {AccountServices} services
 * @param {string} [address]
 * @param {string} [password]
 */
export async function makeAccount(services, address = 'anna@example.org', password = 'old secret') {
  const { account, recoveryCode, masterKey } = await provisionAccount({
    services,
    address,
    password: Buffer.from(password)
  })
  masterKey.dispose()
  return { account, recoveryCode, password }
}

/**
 * @param {AccountServices} services
 * @param {string} password
 * @param {Partial<Omit<import('../../src/accounts/unlock.js').LoginAttempt, 'password'>>} [options]
 */
export function logIn(services, password, options = {}) {
  const attempt = { username: 'anna', remoteAddress: null, ...options }
  return services.unlocker.unlock({ ...attempt, password: Buffer.from(password) })
}

/**
 * Opens the mailbox, runs `work`, and closes it.
 *
 * @template T
 * @param {AccountServices} services
 * @param {Account} account
 * @param {import('../../src/crypto/secret-buffer.js').SecretBuffer} masterKey
 * @param {(store: import('../../src/store/account-store.js').AccountStore) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withStore(services, account, masterKey, work) {
  const key = deriveDatabaseKey(masterKey.bytes)
  const store = await openAccountStore({
    folder: account.folder,
    key,
    cipher: account.cipher,
    config: {},
    clock: services.clock,
    logger: services.logger
  })
  try {
    return await work(store)
  } finally {
    await store.close()
  }
}

/**
 * Keeps the queue of derivations busy, so that further ones wait.
 *
 * @param {import('../../src/accounts/argon2-queue.js').Argon2Queue} argon2 - with one derivation at once
 * @returns {{ untilJoined: (count: number) => Promise<void>, end: () => Promise<number>}} `untilJoined`: resolves once so many
 *   derivations were asked for besides; `end`: gives how many of these were made
 */
export function keepBusy(argon2) {
  const before = argon2.figures.derivations
  const own = Array.from({ length: 5 }, () =>
    argon2.stretch({ password: Buffer.from('x'), salt: Buffer.alloc(16), standing: 'known' })
  )
  return {
    untilJoined: async (count) => {
      const joined = () => {
        const { derivations, waiting } = argon2.figures
        return derivations - before + waiting - own.length
      }
      while (joined() < count) await nextTurn()
    },
    end: async () => {
      for (const secret of await Promise.all(own)) secret.dispose()
      return argon2.figures.derivations - before - own.length
    }
  }
}

/**
 * Takes in the mail that waits in the spool, as the owner's process does after a login.
 *
 * @param {AccountServices} services
 * @param {Account} account
 * @param {import('../../src/crypto/secret-buffer.js').SecretBuffer} masterKey
 * @param {import('../../src/store/account-store.js').AccountStore} store - the account's, open
 */
export async function drainInto({ directory, logger }, account, masterKey, store) {
  const identities = await openSealIdentities({ directory, accountId: account.id, masterKey })
  try {
    return await drainSpool({
      spoolFolder: join(account.folder, 'spool'),
      identities,
      store,
      logger
    })
  } finally {
    closeSealIdentities(identities)
  }
}

/**
 * Changes the directory like somebody who can write to the file.
 *
 * @param {string} data
 * @param {string} sql
 * @param {unknown[]} [values]
 */
export function tamper(data, sql, values = []) {
  const db = new Database(join(data, 'directory.db'), { timeout: 5000 })
  try {
    db.pragma('ignore_check_constraints = ON')
    db.prepare(sql).run(...values)
  } finally {
    db.close()
  }
}

/**
 * @param {Promise<unknown>} attempt
 * @param {import('../../src/errors.js').ErrorCode} [code]
 */
export async function assertRefused(attempt, code = 'AUTHENTICATION_FAILED') {
  await assert.rejects(attempt, (error) => {
    assert.ok(isMailError(error, code), `${error}`)
    return true
  })
}

/**
 * @param {AccountServices} services
 * @param {import('../../src/accounts/directory-port.js').Account} account
 * @param {Partial<Parameters<typeof createAppPassword>[0]>} [options]
 */
export function makeAppPassword(services, account, options) {
  const secret = Buffer.from('old secret')
  return createAppPassword({ services, account, secret, label: 'phone', ...options })
}
