/**
 * From an account and its master key to its open store: the one place that knows which settings a store
 * gets, and how usage comes back to the directory.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { deriveDatabaseKey } from '../crypto/key-derivation.js'
import { MailError } from '../errors.js'
import { openAccountStore } from '../store/account-store.js'
import { unlessOvertaken } from './damage.js'
import { settleLift, settleSwitchOrPutOff } from './restored.js'

/**
 * @typedef {import('../store/account-store.js').AccountStore} AccountStore
 * @typedef {import('./directory-port.js').Account} Account
 * @typedef {import('./services.js').AccountServices} AccountServices
 */

/**
 * @param {object} input
 * @param {Pick<AccountServices, 'config' | 'clock' | 'logger' | 'directory'>} input.services
 * @param {Account} input.account
 * @param {import('../crypto/secret-buffer.js').SecretBuffer} input.masterKey - stays the caller's
 * @param {boolean} [input.isReadOnly] - default false
 * @param {(alert: import('../store/account-database.js').Alert) => void} input.onAlert - what an operator must look at
 * @param {Pick<import('../store/account-store.js').StoreOptions, 'checkpointer' | 'children' | 'cachePool' | 'chunkCache' | 'idleViews' | 'scanPlaces' | 'openFiles'>} [input.shared] -
 *   what the mailboxes of a process share
 * @returns {Promise<AccountStore>}
 * @throws {MailError} KEY_REJECTED, ACCOUNT_DAMAGED, also where the file is gone, ACCOUNT_NOT_FOUND where the account has been
 *   deleted since it was looked up, FILE_TOO_NEW, BUSY, also where its keys have been changed since then, DISK_FULL
 */
export async function openStore({
  services,
  account,
  masterKey,
  isReadOnly = false,
  onAlert,
  shared = {}
}) {
  const { config, clock, logger, directory } = services
  const { secureDelete, ...storage } = config.storage
  const tempFolder = join(config.data, 'tmp')
  await mkdir(tempFolder, { recursive: true, mode: 0o700 })
  const pending = await settleSwitchOrPutOff({ directory, account })
  const { cipher } = (pending && (await directory.findAccount(account.id))) ?? account
  const key = deriveDatabaseKey(masterKey.bytes)
  try {
    const store = await openAccountStore({
      folder: account.folder,
      key,
      isReadOnly,
      cipher,
      config: {
        ...storage,
        secureDelete: secureDelete === 'fast' ? 'FAST' : 'ON',
        tempFolder,
        maxMessageBytes: config.messages.maxBytes,
        quotaBytes: account.quotaBytes || null,
        quotaMessages: account.quotaMessages || null
      },
      clock,
      logger,
      onUsage: (usage) => directory.recordUsage(account.id, { ...usage, folder: account.folder }),
      onAlert,
      ...shared
    }).catch(async (error) => {
      throw await unlessOvertaken(directory, account, error)
    })
    try {
      if (!isReadOnly) {
        const pendingNow = await directory.findRestore(account.id)
        await settleLift({ directory, store, pending: pendingNow })
      }
      // AES-256-CBC is never recorded: such a file is converted as soon as it is closed (src/maintenance).
      if (cipher !== store.cipher && store.cipher !== 'aes256cbc') {
        const { folder } = account
        await directory
          .recordCipher(account.id, { cipher: store.cipher, folder })
          .catch(unlessFault)
      }
      return store
    } catch (error) {
      await store.close()
      throw error
    }
  } finally {
    key.fill(0)
  }
}

/**
 * A cipher that could not be recorded is no reason to fail: the next login finds it out and records it.
 *
 * @param {unknown} error
 */
function unlessFault(error) {
  if (!(error instanceof MailError)) throw error
}
