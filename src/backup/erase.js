/**
 * Deleted accounts leave the backups: their keys are removed from every generation, and what is left of them there is
 * noise. Only an account whose deletion stands in this host's audit log is erased, so that an empty directory, or a
 * restored older one, erases nobody. A clock that is years ahead for a night must not do so either: what is erased is gone.
 */
import { inOrder } from './generation-order.js'
import { generationTimeMs } from './repository.js'
import { overdueAt } from './schedule.js'

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * @param {object} input
 * @param {import('./targets/target.js').BackupTarget} input.target
 * @param {import('./repository.js').Repository} input.repository - in that target
 * @param {import('../accounts/directory-port.js').DirectoryPort} input.directory
 * @param {import('../../config/load.js').Config} input.config
 * @param {import('../support/clock.js').Clock} input.clock
 * @param {import('../telemetry/logger.js').Logger} input.logger
 * @returns {Promise<number>} accounts whose keys were there and are gone
 */
export async function eraseDeletedAccounts({
  target,
  repository,
  directory,
  config,
  clock,
  logger
}) {
  const nowMs = await believedTime({ repository, config, clock })
  const beforeMs = nowMs - config.backup.eraseDeletedAfterDays * DAY_MS
  /** @type {Set<string>} */
  const deleted = new Set()
  for (const { accountId, atMs } of await directory.listDeletions()) {
    if (atMs > beforeMs || (await directory.findAccount(accountId))) continue
    deleted.add(accountId)
  }
  if (deleted.size === 0) return 0
  /** @type {string[]} */
  const objects = []
  const erased = new Set()
  for await (const { name } of target.list('keys/')) {
    const accountId = name.split('/')[1] ?? ''
    if (!deleted.has(accountId)) continue
    objects.push(name)
    erased.add(accountId)
  }
  await target.remove(objects)
  if (erased.size > 0) logger.info({ accounts: erased.size }, 'erased from all backups')
  return erased.size
}

/**
 * @param {Pick<Parameters<typeof eraseDeletedAccounts>[0], 'repository' | 'config' | 'clock'>} input
 * @returns {Promise<number>} now, ms, but at most a day after this run was due by the last one. A host that made none for
 *   longer was off, or its clock is ahead: it erases at the next run whom it does not erase now
 */
async function believedTime({ repository, config, clock }) {
  const nowMs = clock.nowMs()
  const last = inOrder(await repository.listGenerations(), nowMs).at(-1)
  if (last === undefined) return nowMs
  return Math.min(nowMs, overdueAt(generationTimeMs(last), config.backup) + DAY_MS)
}
