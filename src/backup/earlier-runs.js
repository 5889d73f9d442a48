/**
 * What a run finds of those before it, and need not store again: the last backup, and how far one came that was killed.
 */
import { isMailError } from '../errors.js'
import { inOrder } from './generation-order.js'
import { readLastResults } from './last-results.js'

/**
 * @typedef {import('./repository.js').AccountEntry} AccountEntry
 * @typedef {import('./repository.js').Generation} Generation
 * @typedef {import('./repository.js').Repository} Repository
 *
 * @typedef {object} EarlierRuns - by account
 * @property {Map<string, AccountEntry>} previous - of the last backup
 * @property {Map<string, AccountEntry>} partial - of a later run that was not finished
 * @property {Set<string>} damaged - ids of accounts that a rehearsal could not restore: nothing of theirs may be shared
 *
 * @typedef {object} EarlierRunsInput
 * @property {import('../../config/load.js').Config} config
 * @property {Repository} repository
 * @property {import('../support/clock.js').Clock} clock
 * @property {import('../telemetry/logger.js').Logger} logger
 */

/**
 * @param {EarlierRunsInput} input
 * @returns {Promise<EarlierRuns>}
 * @throws {import('../errors.js').MailError} BACKUP_UNREACHABLE, FILE_TOO_NEW
 */
export async function readEarlierRuns(input) {
  const { config, repository, logger } = input
  const generation = await readLast(input)
  const partial = await unlessDamaged(logger, () => repository.readPartial())
  const isLater = partial !== null && partial.startedAtMs > (generation?.startedAtMs ?? 0)
  const { damaged } = await readLastResults({ data: config.data, target: repository.target })
  return {
    damaged: new Set(damaged.map(({ id }) => id)),
    previous: byAccount(generation?.accounts ?? []),
    partial: byAccount(isLater ? partial.accounts : [])
  }
}

/**
 * @param {AccountEntry[]} entries
 * @returns {Map<string, AccountEntry>}
 */
const byAccount = (entries) => new Map(entries.map((entry) => [entry.id, entry]))

/**
 * @param {EarlierRunsInput} input
 * @returns {Promise<Generation | null>} the last one that can be read
 */
async function readLast({ repository, clock, logger }) {
  const names = inOrder(await repository.listGenerations(), clock.nowMs())
  for (const name of names.reverse()) {
    const generation = await unlessDamaged(logger, () => repository.readGeneration(name))
    if (generation) return generation
  }
  return null
}

/**
 * A manifest that is damaged must not be the end of all backups: without it there is only more work.
 *
 * @template T
 * @param {import('../telemetry/logger.js').Logger} logger
 * @param {() => Promise<T | null>} read
 * @returns {Promise<T | null>}
 */
async function unlessDamaged(logger, read) {
  try {
    return await read()
  } catch (err) {
    if (!isMailError(err, 'BACKUP_DAMAGED')) throw err
    logger.error({ err }, 'a manifest is damaged; the backup goes on without it')
    return null
  }
}
