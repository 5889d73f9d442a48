/**
 * A mailbox that was brought from elsewhere in AES-256-CBC, which does not authenticate its pages, gets the cipher of
 * the configuration. It needs the file alone, so it is done when the mailbox has just been closed; a login kills it, and
 * it is tried again the next time.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { MailError } from '../errors.js'
import { runFileJob } from '../store/file-work.js'

/**
 * @param {object} input
 * @param {Pick<import('../accounts/services.js').AccountServices, 'directory' | 'clock' | 'config' | 'logger'>} input.services
 * @param {import('../accounts/directory-port.js').Account} input.account
 * @param {import('../store/account-store.js').AccountStore} input.store - still open
 * @returns {((signal: AbortSignal) => Promise<void>) | null} to be called once the store is closed; null where there is
 *   nothing to do
 */
export function planConversion({ services, account, store }) {
  if (store.cipher !== 'aes256cbc' || store.isReadOnly) return null
  const { directory, clock, config, logger } = services
  const { folder } = store
  const key = store.upkeep.copyKey()
  return async (signal) => {
    const atMs = clock.nowMs()
    const startedMs = performance.now()
    const before = { fileBytes: fileBytes(folder) }
    /** @type {{ result: 'done' | 'stopped' | 'failed', note: string | null }} */
    let end = { result: 'done', note: null }
    try {
      const nextCipher = config.storage.cipher
      await runFileJob(
        { kind: 'convert', folder, cipher: null, nextCipher, timeoutMs: 0 },
        { key, signal }
      )
      await directory.updateAccount(account.id, { cipher: nextCipher })
    } catch (err) {
      const note = err instanceof MailError ? err.code : 'UNEXPECTED'
      const isPassing = note === 'BUSY' || note === 'SHUTTING_DOWN'
      end = { result: isPassing ? 'stopped' : 'failed', note }
      if (!isPassing) logger.error({ accountId: account.id, err }, 'a cipher was not converted')
    } finally {
      key.fill(0)
    }
    const isFailed = end.result === 'failed'
    const nowMs = clock.nowMs()
    directory.recordMaintenance({
      accountId: account.id,
      job: 'cipher',
      state: {
        doneAtMs: end.result === 'done' ? nowMs : null,
        failures: isFailed ? 1 : 0,
        failedCode: isFailed ? end.note : null,
        nextTryAtMs: null
      },
      run: {
        atMs,
        why: 'AES-256-CBC',
        ...end,
        before,
        after: { fileBytes: fileBytes(folder) },
        tookMs: performance.now() - startedMs
      }
    })
  }
}

/**
 * @param {string} folder - the account's
 * @returns {number}
 */
const fileBytes = (folder) =>
  statSync(join(folder, 'mail.db'), { throwIfNoEntry: false })?.size ?? 0
