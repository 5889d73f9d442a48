/**
 * A mailbox that was brought from elsewhere in AES-256-CBC, which does not authenticate its pages, gets the cipher of
 * the configuration. It needs the file alone, so it is done when the mailbox has just been closed; a login kills it, and
 * it is tried again the next time.
 */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import { MailError } from '../errors.js'
import { runFileJob } from '../store/file-work.js'
import { NEVER_RUN, isDue, nextState } from './job.js'
import { whatIsMissing } from './resources.js'

/**
 * @typedef {Pick<import('../accounts/services.js').AccountServices, 'directory' | 'clock' | 'config' | 'logger'>} Services
 * @typedef {import('../accounts/directory-port.js').Account} Account
 * @typedef {import('./resources.js').Resources} Resources
 * @typedef {{ result: 'done' | 'skipped' | 'stopped' | 'failed', note: string | null }} End
 */

const JOB = { name: 'cipher', intervalMs: () => 0 }

/** What passes by itself: somebody has the mailbox open again, or the process ends. */
const PASSING_CODES = new Set(['BUSY', 'SHUTTING_DOWN'])

/**
 * @param {object} input
 * @param {Services} input.services
 * @param {Account} input.account
 * @param {import('../store/account-store.js').AccountStore} input.store - still open
 * @param {Resources} input.resources
 * @returns {Promise<((signal: AbortSignal) => Promise<void>) | null>} to be called once the store is closed; null where
 *   there is nothing to do
 */
export async function planConversion({ services, account, store, resources }) {
  if (store.cipher !== 'aes256cbc' || store.isReadOnly) return null
  const { directory, clock, config } = services
  const { jobs, requestedAtMs } = await directory.findMaintenance(account.id)
  const state = jobs.get(JOB.name) ?? NEVER_RUN
  const facts = { state, account, settings: config.maintenance, nowMs: clock.nowMs() }
  const job = { ...JOB, run: async () => ({ result: /** @type {const} */ ('idle') }) }
  if (!isDue(job, { ...facts, isRequested: requestedAtMs !== null })) return null
  const { folder } = store
  const key = store.upkeep.copyKey()
  return async (signal) => {
    const atMs = clock.nowMs()
    const startedMs = performance.now()
    const before = { fileBytes: fileBytes(folder) }
    const end = await convert({ services, account, folder, key, resources, signal })
    key.fill(0)
    const { result, note } = end
    const after = { fileBytes: fileBytes(folder) }
    const tookMs = performance.now() - startedMs
    directory.recordMaintenance({
      accountId: account.id,
      job: JOB.name,
      state: nextState(state, { result, code: note, nowMs: clock.nowMs() }),
      run: { atMs, why: 'AES-256-CBC', result, note, before, after, tookMs }
    })
  }
}

/**
 * @param {object} input
 * @param {Services} input.services
 * @param {Account} input.account
 * @param {string} input.folder
 * @param {Uint8Array} input.key
 * @param {Resources} input.resources
 * @param {AbortSignal} input.signal
 * @returns {Promise<End>}
 */
async function convert({ services, account, folder, key, resources, signal }) {
  const { directory, config, logger } = services
  const bytes = fileBytes(folder)
  try {
    // The ciphers differ in what they keep on each page, so SQLite makes the file anew in memory, and a copy is kept.
    const note = await whatIsMissing(resources, {
      folder,
      memoryBytes: bytes,
      diskBytes: 2 * bytes
    })
    if (note !== null) return { result: 'skipped', note }
    const nextCipher = config.storage.cipher
    await runFileJob(
      { kind: 'convert', folder, cipher: null, nextCipher, timeoutMs: 0 },
      { key, signal }
    )
    await directory.updateAccount(account.id, { cipher: nextCipher })
    return { result: 'done', note: null }
  } catch (err) {
    const note = err instanceof MailError ? err.code : 'UNEXPECTED'
    if (PASSING_CODES.has(note)) return { result: 'stopped', note }
    logger.error({ accountId: account.id, err }, 'a cipher was not converted')
    return { result: 'failed', note }
  }
}

/**
 * @param {string} folder - the account's
 * @returns {number}
 */
const fileBytes = (folder) =>
  statSync(join(folder, 'mail.db'), { throwIfNoEntry: false })?.size ?? 0
