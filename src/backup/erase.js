/**
 * Deleted accounts leave the backups: their keys are removed from every generation, and what is left of them there is
 * noise. Only an account whose deletion stands in this host's audit log is erased, so that an empty directory, or a
 * restored older one, erases nobody.
 */

const DAY_MS = 24 * 60 * 60 * 1000

/**
 * @param {object} input
 * @param {import('./targets/target.js').BackupTarget} input.target
 * @param {import('../accounts/directory-port.js').DirectoryPort} input.directory
 * @param {import('../../config/load.js').Config} input.config
 * @param {import('../support/clock.js').Clock} input.clock
 * @param {import('../telemetry/logger.js').Logger} input.logger
 * @returns {Promise<number>} accounts whose keys were there and are gone
 */
export async function eraseDeletedAccounts({ target, directory, config, clock, logger }) {
  const beforeMs = clock.nowMs() - config.backup.eraseDeletedAfterDays * DAY_MS
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
