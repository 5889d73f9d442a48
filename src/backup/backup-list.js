/**
 * What may be known of backups without any key: which there are, and how their runs went. The names come from the target,
 * the figures from the audit log, where each run leaves them: no manifest is read, which grows with the accounts.
 */
import { inOrder } from './generation-order.js'
import { readHostState, whyNotMade } from './host-state.js'
import { noResults, readLastResults } from './last-results.js'
import { MAX_RUNS, requireNoneLost } from './last-run.js'
import { Repository, generationTimeMs } from './repository.js'
import { overdueAt } from './schedule.js'
import { openTarget } from './targets/open-target.js'
import { MailError } from '../errors.js'

/**
 * @typedef {object} BackupRow
 * @property {string} name
 * @property {number} startedAtMs
 * @property {number | null} accounts - null where this host has no record of the run
 * @property {number | null} failed
 * @property {number | null} newBytes
 * @property {number | null} sharedBytes
 * @property {number | null} storedBytes
 * @property {number | null} durationMs
 *
 * @typedef {object} BackupList
 * @property {boolean} isSetUp - whether `letterlock backup init` has been done
 * @property {BackupRow[]} generations - newest first; at the end those that cannot have been made yet
 * @property {number | null} overdueAtMs - from when on the backup after the newest one is missed; null without any
 * @property {string | null} problem - why they could not be listed, for the operator
 * @property {boolean} isReached - whether their place has answered; if so, `problem` is what it said, or this host's own
 * @property {string | null} notMade - why there will be none of this host, for the operator
 * @property {import('./last-results.js').LastResults} results - of what follows a backup
 *
 * @typedef {object} BackupPort
 * @property {() => Promise<BackupList>} list
 */

/** What is known where there are no backups, or nobody can tell. */
const NOTHING_KNOWN = { generations: [], overdueAtMs: null, notMade: null, results: noResults() }

/**
 * @param {string} problem - for the operator
 * @param {{ isReached?: boolean }} [how]
 * @returns {BackupList} of a place that cannot be read, or says what it should not
 */
export const unreadableBackups = (problem, { isReached = false } = {}) => ({
  isSetUp: true,
  ...NOTHING_KNOWN,
  problem,
  isReached
})

/**
 * @param {object} options
 * @param {import('../../config/load.js').Config} options.config
 * @param {import('../accounts/directory-port.js').DirectoryPort} options.directory
 * @param {import('../support/clock.js').Clock} options.clock
 * @returns {BackupPort}
 */
export function createBackupList({ config, directory, clock }) {
  return {
    async list() {
      try {
        if ((await readHostState(config.data)) === null)
          return { isSetUp: false, ...NOTHING_KNOWN, problem: null, isReached: true }
        const { names, label, setUpMs, notMade, results } = await look(config)
        const runs = await directory.pageAudit({ action: 'backup', limit: MAX_RUNS })
        if (names.length === 0 && notMade === null)
          requireNoneLost(runs, { label, nowMs: clock.nowMs(), setUpMs })
        /** @type {Map<unknown, Record<string, unknown>>} */
        const figures = new Map(runs.map(({ detail = {} }) => [detail['generation'], detail]))
        const generations = inOrder(names, clock.nowMs())
          .toReversed()
          .map((name) => ({
            name,
            startedAtMs: generationTimeMs(name),
            ...figuresOf(figures.get(name))
          }))
        const [newest] = generations
        const overdueAtMs = newest ? overdueAt(newest.startedAtMs, config.backup) : null
        const found = { generations, overdueAtMs, notMade, results }
        return { isSetUp: true, ...found, problem: null, isReached: true }
      } catch (error) {
        if (!(error instanceof MailError)) throw error
        const problem = error.detail ?? error.message
        return unreadableBackups(problem, { isReached: error.code !== 'BACKUP_UNREACHABLE' })
      }
    }
  }
}

/**
 * @param {import('../../config/load.js').Config} config
 * @returns {Promise<{ names: string[], label: string, setUpMs: number } & Pick<BackupList, 'notMade' | 'results'>>} names of the
 *   generations, the oldest first, and the target's; `setUpMs`: when it was set up, told where there are none
 * @throws {MailError} BACKUP_NOT_READY where the target is another than was set up: the folder of a disk that is not
 *   mounted would pass for one without backups yet; BACKUP_UNREACHABLE …
 */
async function look({ data, backup }) {
  const target = await openTarget(backup)
  try {
    const repository = new Repository(target)
    const notMade = await whyNotMade(data, repository)
    const results = await readLastResults({ data, target })
    const names = await repository.listGenerations()
    const marker = names.length === 0 ? await repository.readMarker() : null
    return { names, label: target.label, setUpMs: marker?.createdAtMs ?? 0, notMade, results }
  } finally {
    await target.close()
  }
}

/**
 * @param {Record<string, unknown>} [detail]
 * @returns {Omit<BackupRow, 'name' | 'startedAtMs'>}
 */
function figuresOf(detail = {}) {
  const figure = (/** @type {string} */ name) => {
    const value = detail[name]
    return typeof value === 'number' ? value : null
  }
  return {
    accounts: figure('accounts'),
    failed: figure('failed'),
    newBytes: figure('newBytes'),
    sharedBytes: figure('sharedBytes'),
    storedBytes: figure('storedBytes'),
    durationMs: figure('durationMs')
  }
}
