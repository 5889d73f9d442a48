/**
 * Mailboxes that are opened as a login does, and restored from the backup of a host that a test has made.
 */
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { loadConfig } from '../../config/load.js'
import { openStore } from '../../src/accounts/open-store.js'
import { chooseGeneration, requireEntry } from '../../src/backup/choose.js'
import { materialize } from '../../src/backup/materialize.js'
import { Repository } from '../../src/backup/repository.js'
import { restoreAccount } from '../../src/backup/restore-account.js'
import { restoreHost } from '../../src/backup/restore-host.js'
import { RecoveryKey } from '../../src/backup/sealed.js'
import { readSnapshot } from '../../src/backup/snapshot-store.js'
import { scratchFolder } from './account-folder.js'
import { drainInto, logIn } from './accounts.js'
import { writeSpoolFile } from './spool.js'

export const ANNA = 'anna@example.org'
export const PASSWORD = 'secret of the user'

/** @typedef {Awaited<ReturnType<typeof import('./backup.js').openBackupHost>>} Host */

/**
 * Opens a mailbox as a login does.
 *
 * @template T
 * @param {Host['services']} services
 * @param {string} username
 * @param {(store: import('../../src/store/account-store.js').AccountStore) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withLogin(services, username, work) {
  const { account, masterKey } = await logIn(services, PASSWORD, { username })
  try {
    const store = await openStore({
      services,
      account,
      masterKey,
      onAlert: ({ code }) => assert.fail(code)
    })
    try {
      return await work(store)
    } finally {
      await store.close()
    }
  } finally {
    masterKey.dispose()
  }
}

/**
 * @param {Host} host
 * @param {import('../../src/accounts/directory-port.js').Account} account
 * @param {string} [name] - of the generation
 */
export async function restore(host, account, name) {
  return await restoreAccount({
    directory: host.services.directory,
    target: host.target,
    generation: await chooseGeneration(host.repository, { nowMs: host.clock.nowMs(), name }),
    account,
    data: host.data,
    clock: host.clock
  })
}

/**
 * A restore during whose `beginRestore` something else happens.
 *
 * @param {Host} host
 * @param {import('../../src/accounts/directory-port.js').Account} account
 * @param {Host['services']['directory']['beginRestore']} beginRestore
 */
export async function restoreAmid(host, account, beginRestore) {
  const directory = { ...host.services.directory, beginRestore }
  return await restore({ ...host, services: { ...host.services, directory } }, account)
}

/**
 * @param {import('../../src/accounts/directory-port.js').Account} account
 * @param {string} text
 */
export const deliver = (account, text) =>
  writeSpoolFile({
    spoolFolder: join(account.folder, 'spool'),
    publicKey: account.sealPublicKey,
    envelope: { recipient: account.address, sender: 'x@example.net', receivedAtMs: 1 },
    message: [Buffer.from(`Subject: ${text}\r\n\r\n${text}\r\n`)]
  })

/**
 * @param {Host['services']} services
 * @param {import('../../src/accounts/directory-port.js').Account} account
 */
export async function drain(services, account) {
  const { masterKey } = await logIn(services, PASSWORD, { username: account.address })
  try {
    return await withLogin(services, account.address, (store) =>
      drainInto(services, account, masterKey, store)
    )
  } finally {
    masterKey.dispose()
  }
}

/**
 * A restore whose process has died before anybody closed the mailbox.
 *
 * @param {Host} host
 * @param {import('../../src/accounts/directory-port.js').Account} account
 * @param {string} name - of the generation
 * @returns {Promise<string>} the staged folder
 */
export async function askForRestore(host, account, name) {
  const entry = requireEntry(await host.repository.readGeneration(name), account.id)
  const snapshot = await readSnapshot(host.target, entry.snapshot)
  const folder = join(account.folder, 'restore-dead')
  await materialize({ target: host.target, snapshot, folder })
  await host.services.directory.beginRestore({
    accountId: account.id,
    generation: name,
    state: 'asked',
    staged: 'restore-dead',
    replaced: 'replaced-dead',
    cipher: null,
    requestedAtMs: host.clock.nowMs()
  })
  return folder
}

/**
 * @param {import('node:test').TestContext} t
 * @param {Host} host - the lost one
 * @returns {Promise<{ settings: { data: string } & Record<string, unknown>,
 *   restore: (name: string, target?: import('../../src/backup/targets/target.js').BackupTarget) => ReturnType<typeof restoreHost> }>}
 *   an empty data folder with its settings, and what brings the host back there
 */
export async function emptyHost(t, host) {
  const settings = {
    data: join(await scratchFolder(t), 'new'),
    defaultDomain: 'example.org',
    'backup.folder': host.folder,
    'auth.argon2.memoryKiB': 19 * 1024
  }
  /**
   * @param {string} name - of the generation
   * @param {import('../../src/backup/targets/target.js').BackupTarget} [target]
   */
  const restore = async (name, target = host.target) => {
    const repository = new Repository(target)
    return await restoreHost({
      config: loadConfig({ settings, environment: {} }),
      repository,
      generation: await repository.readGeneration(name),
      recoveryKey: await RecoveryKey.parse(host.recoveryKey),
      clock: host.clock,
      logger: host.services.logger
    })
  }
  return { settings, restore }
}
