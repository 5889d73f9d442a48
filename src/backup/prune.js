/**
 * Lets go of what is no longer kept: the manifests of old generations first, then every object that no manifest needs
 * (mark and sweep). Where anything that is to stay cannot be read, or the manifests are not where they were, nothing is swept.
 */
import { join } from 'node:path'
import { auditLimitsOf } from '../accounts/audit-limits.js'
import { openDirectory } from '../accounts/directory.js'
import { requireDirectoryOfMailboxes } from '../accounts/stranded-mailboxes.js'
import { toMailError } from '../database/sqlite-error.js'
import { MailError, isMailError } from '../errors.js'
import { formatBytes } from '../support/format.js'
import { applyRetention } from './retention.js'
import { requireMadeHere } from './host-state.js'
import { lastRunIn } from './last-run.js'
import { withResult } from './last-results.js'
import { Marks } from './marks.js'
import { repack } from './repack.js'
import { PREFIXES, Repository, packOfObject } from './repository.js'
import { withBackupLock } from './scratch.js'

/**
 * @typedef {object} PruneSummary
 * @property {string[]} kept - names of generations
 * @property {string[]} dropped
 * @property {number} objects - removed
 * @property {number} freedBytes
 * @property {number} repackedBytes - written anew, so that packs with little in them could go
 */

/** A pack of which less than this share is needed is written anew. */
const THIN_SHARE = 0.5

/** So many of this host's last runs are looked up by name: a list of objects may not have them yet. */
const LAST_RUNS = 3

/** Packs of fewer bytes are not written anew: they are not worth another request. */
const MIN_THIN_BYTES = 64 * 1024

/**
 * @param {object} options
 * @param {import('../../config/load.js').Config} options.config
 * @param {import('./targets/target.js').BackupTarget} options.target
 * @param {import('../support/clock.js').Clock} options.clock
 * @param {import('../telemetry/logger.js').Logger} options.logger
 * @param {boolean} [options.isDryRun] - say what would go, remove nothing
 * @returns {Promise<PruneSummary>}
 * @throws {MailError} BACKUP_NOT_READY, BACKUP_RUNNING, BACKUP_DAMAGED, BACKUP_UNREACHABLE
 */
export async function pruneBackups({ config, target, clock, logger, isDryRun = false }) {
  const repository = new Repository(target)
  await requireMadeHere(config.data, repository)
  return await withBackupLock(config.data, (scratchFolder) => {
    const work = () => pruneAlone({ repository, config, clock, logger, isDryRun, scratchFolder })
    return isDryRun ? work() : withResult('prune', { data: config.data, target, logger }, work)
  })
}

/**
 * @param {Omit<Parameters<typeof pruneBackups>[0], 'target'> & { repository: Repository, scratchFolder: string }} input
 * @returns {Promise<PruneSummary>}
 */
async function pruneAlone({ repository, config, clock, logger, isDryRun = false, scratchFolder }) {
  const names = await listAll(repository, { config, clock, logger })
  if (names.length === 0) await requireNothingOfBackups(repository)
  const { keep, drop } = applyRetention(names, config.backup, clock.nowMs())
  let marks = await markAll(repository, keep)
  /** @type {PruneSummary} */
  const summary = { kept: keep, dropped: drop, objects: 0, freedBytes: 0, repackedBytes: 0 }
  if (!isDryRun) {
    await repository.removeGenerations(drop)
    const thin = await thinPacks(repository, marks)
    if (thin.size > 0) {
      const moved = { repository, marks, thin, generations: keep, scratchFolder }
      summary.repackedBytes = await repackIfPossible(moved, logger)
      // It names places where units lay before.
      if (summary.repackedBytes > 0) await repository.removePartial()
      // Where that failed in the middle, too: some manifests name the new packs by then.
      marks = await markAll(repository, keep)
    }
  }
  // Without any backup, the objects may be of a first run that was not finished: the next one goes on with them.
  if (names.length > 0)
    await sweep({
      repository,
      marks,
      isDryRun,
      summary,
      // Another host that has taken over meanwhile may have stored something since.
      beforeRemoval: () => requireMadeHere(config.data, repository)
    })
  logger.info({ ...summary, kept: keep.length, dropped: drop.length, isDryRun }, 'backups pruned')
  return summary
}

/**
 * A damaged unit of an older backup must not keep the place growing until that backup goes, which may be a year; nor must a full
 * disk, which only the sweep makes room on.
 *
 * @param {Parameters<typeof repack>[0]} moved
 * @param {import('../telemetry/logger.js').Logger} logger
 * @returns {Promise<number>} bytes that were written anew
 */
async function repackIfPossible(moved, logger) {
  try {
    return await repack(moved)
  } catch (err) {
    const isFull = isMailError(toMailError(err), 'DISK_FULL')
    if (!isFull && !isMailError(err, 'BACKUP_DAMAGED')) throw err
    const reason = isFull ? 'there is no room' : 'one is damaged'
    logger.error({ err }, `packs of which little is needed stay as they are, because ${reason}`)
    return 0
  }
}

/**
 * Some object storage lists what was stored a moment ago only after a while. The backup of this night, made just before,
 * would be swept for not being in the list.
 *
 * @param {Repository} repository
 * @param {Pick<Parameters<typeof pruneBackups>[0], 'config' | 'clock' | 'logger'>} parts
 * @returns {Promise<string[]>} names of generations, those of this host's last runs too where they are not listed
 * @throws {MailError} BACKUP_DAMAGED where the last of these runs is lost; DIRECTORY_MISSING
 */
async function listAll(repository, { config, clock, logger }) {
  await requireDirectoryOfMailboxes(config.data)
  const names = await repository.listGenerations()
  const path = join(config.data, 'directory.db')
  const directory = openDirectory({ path, clock, logger, audit: auditLimitsOf(config) })
  try {
    const runs = await directory.pageAudit({ action: 'backup', limit: LAST_RUNS })
    for (const { detail } of runs) {
      const name = String(detail?.['generation'])
      if (!names.includes(name) && (await isThere(repository, name))) names.push(name)
    }
    // Only the last run is required: earlier ones may have been pruned.
    const { label } = repository.target
    requireRun(names, lastRunIn(runs, { label, nowMs: clock.nowMs() }) ?? '')
  } finally {
    await directory.close()
  }
  return names
}

/**
 * @param {string[]} names - of generations
 * @param {string} last - the name of this host's last run; '' where it knows of none
 * @throws {MailError} BACKUP_DAMAGED where neither `last` nor a later one is there: what has removed it may have removed others
 */
function requireRun(names, last) {
  if (names.some((name) => name >= last) || last === '') return
  throw new MailError('BACKUP_DAMAGED', {
    detail: `generations/${last}.json is missing: nothing is removed before it is back, or another backup is made`
  })
}

/**
 * @param {Repository} repository - without any generation
 * @throws {MailError} BACKUP_DAMAGED where it has packs all the same, and not of a run that is to go on
 */
async function requireNothingOfBackups(repository) {
  if ((await repository.readPartial()) !== null) return
  let bytes = 0
  for await (const { size } of repository.target.list(PREFIXES.packs)) bytes += size
  if (bytes === 0) return
  throw new MailError('BACKUP_DAMAGED', {
    detail: `${formatBytes(bytes)} of mailboxes are there, and no backup in generations/: nothing is removed before they are back, or a backup is made`
  })
}

/**
 * @param {Repository} repository
 * @param {string} name - of a generation
 * @returns {Promise<boolean>}
 */
async function isThere(repository, name) {
  try {
    return (await repository.readGeneration(name)).name === name
  } catch (error) {
    if (isMailError(error, 'BACKUP_MISSING')) return false
    throw error
  }
}

/**
 * @param {Repository} repository
 * @param {string[]} names - of generations
 * @returns {Promise<Marks>}
 */
async function markAll(repository, names) {
  const marks = new Marks()
  for (const name of names) {
    const { directory, pepper, accounts } = await repository.readGeneration(name)
    marks.objects.add(directory).add(pepper)
    marks.addEntries(accounts)
  }
  const partial = await repository.readPartial()
  if (partial) marks.addEntries(partial.accounts)
  await marks.countUnits(repository)
  return marks
}

/**
 * @param {Repository} repository
 * @param {Marks} marks
 * @returns {Promise<Set<string>>}
 */
async function thinPacks(repository, marks) {
  /** @type {Set<string>} */
  const thin = new Set()
  for await (const { name, size } of repository.target.list(PREFIXES.packs)) {
    const pack = packOfObject(name)
    const needed = pack === null ? 0 : (marks.packs.get(pack) ?? 0)
    if (pack !== null && needed > 0 && size >= MIN_THIN_BYTES && needed < size * THIN_SHARE)
      thin.add(pack)
  }
  return thin
}

/**
 * @param {object} input
 * @param {Repository} input.repository
 * @param {Marks} input.marks
 * @param {boolean} input.isDryRun
 * @param {PruneSummary} input.summary - filled in
 * @param {() => Promise<unknown>} input.beforeRemoval
 */
async function sweep({ repository, marks, isDryRun, summary, beforeRemoval }) {
  const { target } = repository
  /** @type {string[]} */
  const gone = []
  for (const prefix of Object.values(PREFIXES)) {
    for await (const { name, size } of target.list(prefix)) {
      const pack = packOfObject(name)
      if (pack === null ? marks.objects.has(name) : marks.packs.has(pack)) continue
      gone.push(name)
      summary.objects += 1
      summary.freedBytes += size
    }
  }
  if (isDryRun) return
  await beforeRemoval()
  await target.remove(gone)
}
