/**
 * A backup that was never restored is a hope: each night some accounts, chosen at random, are restored into a scratch
 * folder, and what can be checked without keys is checked.
 */
import { randomInt } from 'node:crypto'
import { rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { MailError, isMailError } from '../errors.js'
import { requireRoom } from '../support/room.js'
import { chooseGeneration } from './choose.js'
import { requireTarget } from './host-state.js'
import { changeLastResults, withResult } from './last-results.js'
import { materialize } from './materialize.js'
import { Repository } from './repository.js'
import { withBackupLock } from './scratch.js'
import { readSnapshot } from './snapshot-store.js'

/**
 * @typedef {object} RehearsalSummary
 * @property {string} generation
 * @property {number} accounts - restored and found good
 * @property {number} bytes
 * @property {{ id: string, code: string }[]} failed
 */

/**
 * @param {object} options
 * @param {import('../../config/load.js').Config} options.config
 * @param {import('./targets/target.js').BackupTarget} options.target
 * @param {import('../support/clock.js').Clock} options.clock
 * @param {import('../telemetry/logger.js').Logger} options.logger
 * @param {number} [options.accounts] - how many; default: the configuration's
 * @returns {Promise<RehearsalSummary>}
 * @throws {MailError} BACKUP_NOT_READY, BACKUP_RUNNING, BACKUP_MISSING, BACKUP_UNREACHABLE, DISK_FULL,
 *   BACKUP_DAMAGED where directory or pepper are, SCRATCH_FULL where no account has room there
 */
export async function rehearseRestore(options) {
  const { config, target, logger } = options
  const { data } = config
  await requireTarget(data, new Repository(target))
  return await withBackupLock(data, (scratchFolder) =>
    withResult('rehearsal', { data, target, logger }, () => rehearseAlone(options, scratchFolder))
  )
}

/**
 * @param {Parameters<typeof rehearseRestore>[0]} options
 * @param {string} scratchFolder
 * @returns {Promise<RehearsalSummary>}
 */
async function rehearseAlone({ config, target, clock, logger, accounts }, scratchFolder) {
  const repository = new Repository(target)
  const generation = await chooseGeneration(repository, { nowMs: clock.nowMs() })
  const wanted = accounts ?? config.backup.rehearsalAccounts
  /** @type {RehearsalSummary} */
  const summary = { generation: generation.name, accounts: 0, bytes: 0, failed: [] }
  // Without these two nobody would get in again, whatever there is of the mailboxes.
  for (const object of [generation.directory, generation.pepper])
    await requireSealed(target, object)
  /** @type {Set<string>} ids */
  const good = new Set()
  const folder = join(scratchFolder, 'rehearsal')
  /** @type {MailError | null} */
  let tooLarge = null
  for (const entry of shuffled(generation.accounts)) {
    if (summary.accounts + summary.failed.length >= wanted) break
    try {
      await requireRoom(scratchFolder, entry.bytes)
      await requireSealed(target, entry.keys)
      const snapshot = await readSnapshot(target, entry.snapshot)
      await materialize({ target, snapshot, folder })
      for (const { path, size } of snapshot.files) {
        if (size > 0 && (await stat(join(folder, path))).size !== size)
          throw new MailError('BACKUP_DAMAGED', { detail: 'a file of another size' })
      }
      good.add(entry.id)
      summary.accounts += 1
      summary.bytes += entry.bytes
    } catch (err) {
      if (isMailError(err, 'SCRATCH_FULL')) {
        logger.warn({ accountId: entry.id }, 'an account is too large to be rehearsed here')
        tooLarge = err
        continue
      }
      if (!isMailError(err, 'BACKUP_DAMAGED')) throw err
      logger.error({ err, accountId: entry.id }, 'an account could not be restored in a rehearsal')
      summary.failed.push({ id: entry.id, code: err.code })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }
  if (tooLarge && summary.accounts + summary.failed.length === 0) throw tooLarge
  const { failed } = summary
  const isOpen = (/** @type {string} */ id) =>
    !good.has(id) &&
    !failed.some((failure) => failure.id === id) &&
    generation.accounts.some((entry) => entry.id === id)
  await changeLastResults({ data: config.data, target }, ({ damaged }) => ({
    damaged: [...damaged.filter(({ id }) => isOpen(id)), ...failed]
  }))
  logger.info({ ...summary, failed: summary.failed.length }, 'restore rehearsed')
  return summary
}

/**
 * @param {import('./targets/target.js').BackupTarget} target
 * @param {string} object - which the recovery key alone opens
 * @throws {MailError} BACKUP_DAMAGED
 */
async function requireSealed(target, object) {
  if (!(await target.size(object)))
    throw new MailError('BACKUP_DAMAGED', { detail: `${object} is missing` })
}

/**
 * @template T
 * @param {readonly T[]} all
 * @yields {T} each of them, in any order with the same chance
 */
function* shuffled(all) {
  const rest = [...all]
  for (let left = rest.length; left > 0; left--) {
    const at = randomInt(left)
    yield /** @type {T} */ (rest[at])
    rest[at] = /** @type {T} */ (rest[left - 1])
  }
}
