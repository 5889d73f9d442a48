/**
 * Looks after one mailbox now, with its key in hand: `letterlock maintain ACCOUNT`.
 */
import { statSync } from 'node:fs'
import { MailError, isMailError } from '../errors.js'
import { unlessOvertaken } from '../accounts/damage.js'
import { openStore } from '../accounts/open-store.js'
import { deriveDatabaseKey } from '../crypto/key-derivation.js'
import { mailFile } from '../database/database-files.js'
import { lockExclusive } from '../database/lock.js'
import { runFileJob } from '../store/file-work.js'
import { planAlone } from './alone.js'
import { NEVER_RUN } from './job.js'
import { JOBS } from './jobs.js'
import { runJobs } from './run-jobs.js'

/**
 * @typedef {import('../accounts/services.js').AccountServices} AccountServices
 * @typedef {import('../accounts/directory-port.js').Account} Account
 * @typedef {import('../accounts/directory-port.js').MaintenanceRun} MaintenanceRun
 */

/** Compaction waits at most so many ms for the last opener to go: a session that lingers would do so for a minute. */
const COMPACT_WAIT_MS = 5_000

/**
 * @param {object} request
 * @param {AccountServices} request.services
 * @param {Account} request.account
 * @param {import('../crypto/secret-buffer.js').SecretBuffer} request.masterKey - stays the caller's
 * @param {import('./resources.js').Resources} request.resources
 * @param {boolean} request.isCompacted - write the whole file anew at the end, whatever its size; needs it alone
 * @param {boolean} [request.isReindexed] - make the search index anew; default false
 * @param {(run: MaintenanceRun) => void} request.onRun - called for each job that had something to do
 * @returns {Promise<void>}
 * @throws {MailError} what opening throws; BUSY where compaction did not get the mailbox alone; DISK_FULL,
 *   ACCOUNT_DAMAGED; BUSY or ACCOUNT_NOT_FOUND where it gets other keys, or is deleted, meanwhile
 */
export async function maintainAccount(request) {
  const { services, account } = request
  try {
    await maintain(request)
  } catch (error) {
    throw await unlessOvertaken(services.directory, account, error)
  }
}

/** @param {Parameters<typeof maintainAccount>[0]} request */
async function maintain(request) {
  const { services, account, masterKey, resources, onRun } = request
  const { logger } = services
  // VACUUM gives way to writers of its own process alone: beside a server it would keep the user waiting.
  const isAlone = await isClosed(account.folder)
  const jobs = isAlone ? JOBS : JOBS.filter(({ name }) => name !== 'vacuum')
  const store = await openStore({
    services,
    account,
    masterKey,
    onAlert: (alert) => logger.error({ accountId: account.id, ...alert }, 'mailbox alert')
  })
  /** @type {((signal: AbortSignal) => Promise<void>) | null} */
  let workAlone = null
  const { signal } = new AbortController()
  try {
    // Nobody still reads the long messages that were being read when the mailbox was last open.
    if (isAlone) await store.upkeep.forgetReaders()
    if (request.isReindexed) await store.upkeep.emptyIndex()
    await runJobs({ services, account, store, resources, signal, isForced: true, jobs, onRun })
    workAlone = await planAlone({ services, account, store, resources, onRun, isForced: true })
  } finally {
    // Also where the store does not close well: the work has a copy of the key, and zeroes it at its end.
    await store.close().finally(() => workAlone?.(signal))
  }
  if (request.isCompacted) onRun(await compact(request))
}

/**
 * @param {string} folder - an account's
 * @returns {Promise<boolean>} whether nobody has the mailbox open
 */
async function isClosed(folder) {
  try {
    const lock = await lockExclusive(folder, { timeoutMs: 0 })
    lock.release()
    return true
  } catch (error) {
    if (isMailError(error, 'BUSY')) return false
    throw error
  }
}

/**
 * @param {Pick<Parameters<typeof maintainAccount>[0], 'services' | 'account' | 'masterKey' | 'resources'>} request
 * @returns {Promise<MaintenanceRun>}
 */
async function compact({ services, account, masterKey, resources }) {
  const { directory, clock } = services
  const { folder } = account
  const bytes = statSync(mailFile(folder)).size
  if ((await resources.freeDiskBytes(folder)) < bytes)
    throw new MailError('DISK_FULL', { detail: 'compaction needs the room of the file once more' })
  const atMs = clock.nowMs()
  const startedMs = performance.now()
  const { cipher } = (await directory.findAccount(account.id)) ?? account
  const key = deriveDatabaseKey(masterKey.bytes)
  try {
    const job = /** @type {const} */ ({ kind: 'compact', folder, timeoutMs: COMPACT_WAIT_MS })
    const value = await runFileJob({ ...job, cipher }, { key })
    const { bytesBefore, bytesAfter } = /** @type {import('../store/file-work.js').Compaction} */ (
      value
    )
    const run = {
      atMs,
      why: 'asked for',
      result: /** @type {const} */ ('done'),
      note: null,
      before: { fileBytes: bytesBefore },
      after: { fileBytes: bytesAfter },
      tookMs: performance.now() - startedMs
    }
    const state = { ...NEVER_RUN, doneAtMs: clock.nowMs() }
    const space = { fileBytes: bytesAfter, freeBytes: 0 }
    directory.recordMaintenance({ accountId: account.id, job: 'compact', state, run })
    directory.recordMaintenance({ accountId: account.id, atMs: clock.nowMs(), space })
    return { accountId: account.id, job: 'compact', ...run }
  } finally {
    key.fill(0)
  }
}
