/**
 * `letterlock repair`: every readable message of a damaged mailbox in a new file, and the old one kept aside.
 */
import { join } from 'node:path'
import { deriveDatabaseKey } from '../crypto/key-derivation.js'
import { repairMailFile } from '../store/salvage/repair-file.js'
import { NEVER_RUN } from './job.js'

/** How long it waits for the last opener to go, ms. */
const LOCK_WAIT_MS = 5_000

/**
 * @param {object} request
 * @param {Pick<import('../accounts/services.js').AccountServices, 'directory' | 'clock' | 'config'>} request.services
 * @param {import('../accounts/directory-port.js').Account} request.account
 * @param {import('../crypto/secret-buffer.js').SecretBuffer} request.masterKey - stays the caller's
 * @param {(progress: import('../store/salvage/repair-file.js').RepairProgress) => void} [request.onProgress]
 * @returns {Promise<import('../store/salvage/repair-file.js').RepairOutcome>}
 * @throws {import('../errors.js').MailError} BUSY while somebody has the mailbox open, KEY_REJECTED where not even the
 *   first page can be read, DISK_FULL …; the account's file is then as it was
 */
export async function repairAccount({ services, account, masterKey, onProgress }) {
  const { directory, clock, config } = services
  const { storage } = config
  const key = deriveDatabaseKey(masterKey.bytes)
  try {
    const outcome = await repairMailFile(
      {
        folder: account.folder,
        key,
        cipher: account.cipher,
        isReadOnly: false,
        tempStore: storage.tempStore,
        tempFolder: join(config.data, 'tmp'),
        secureDelete: storage.secureDelete === 'fast' ? 'FAST' : 'ON',
        cacheBytes: storage.cacheBytes,
        clock,
        busyTimeoutMs: storage.busyTimeoutMs
      },
      {
        timeoutMs: LOCK_WAIT_MS,
        ...(onProgress && { onProgress })
      }
    )
    const { salvaged, lost, bytes } = outcome.report
    directory.audit({
      action: 'account-repair',
      accountId: account.id,
      detail: { salvaged, lost: lost.length }
    })
    directory.recordMaintenance({ accountId: account.id, isAnew: true })
    // The new file has just been checked in full.
    directory.recordMaintenance({
      accountId: account.id,
      job: 'quick-check',
      state: { ...NEVER_RUN, doneAtMs: clock.nowMs() },
      run: null
    })
    directory.recordUsage(account.id, { bytes, messages: salvaged, folder: account.folder })
    return outcome
  } finally {
    key.fill(0)
  }
}
